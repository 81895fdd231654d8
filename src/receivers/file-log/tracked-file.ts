import type { FileHandle } from "node:fs/promises";
import type { LogMap } from "#logs/entries";
import type { FileMark, KeptFile } from "./offset-store.js";

/** A stretch of a file whose records are on their way and not safe yet. */
export interface FileSegment {
  readonly file: TrackedFile;
  /** Where whoever reads the file next has to begin while this is not safe. */
  readonly start: FileMark;
}

/**
 * A file that is read: what is known of its content, and how far it is safe.
 *
 * Invariants:
 * - `position` is where the next record begins: all in front of it was cut into records.
 * - Every record in front of `position` is safe, or in a segment of `unsettled`, or in `held`.
 * - So everything in front of `mark` is on disk behind every exporter, or was never wanted.
 */
export class TrackedFile implements KeptFile {
  storeId?: number | undefined;
  path: string;
  dev: number;
  ino: number;
  /** The first bytes of its content, as many as there are, up to fingerprint_size. */
  fingerprint: Buffer;
  position: FileMark;
  /** The earliest record that an operator keeps back. */
  held: FileMark | undefined;
  handle: FileHandle | undefined;
  isGzip = false;
  /** Fields of a log record that tell which file it is from. */
  attributes: Uint8Array = NOTHING;
  /** The same as values. */
  attributeValues: LogMap = {};
  /** The path that they are of. */
  attributesPath = "";
  /** As it was at the last look; 0 and -1 before the first. */
  size = -1;
  mtimeMs = 0;
  /** Its size when it was last read to its end. */
  readSize = -1;
  /** At its end is what is no whole record yet. */
  hasRest = false;
  /** When it was last seen to grow, or to be there, by the monotonic clock. */
  grownAt = 0;
  seenAt = 0;
  /** The number of the look that has seen it where its path says. */
  seenIn = 0;
  /** It is not where it was, and was looked for elsewhere. */
  wasSearched = false;
  /** The rest of it is being read where it was moved or copied to, under a name that no pattern has. */
  isElsewhere = false;
  private readonly unsettled = new Set<FileSegment>();

  constructor(stored: Omit<KeptFile, "storeId">) {
    this.path = stored.path;
    this.dev = stored.dev;
    this.ino = stored.ino;
    this.fingerprint = stored.fingerprint;
    this.position = stored.mark;
  }

  get key(): string {
    return inodeKey(this);
  }

  /** How far it is safe. */
  get mark(): FileMark {
    let first = this.held ?? this.position;
    for (const { start } of this.unsettled) if (start.offset < first.offset) first = start;
    return first;
  }

  get isSettled(): boolean {
    return this.unsettled.size === 0;
  }

  /** The records behind `held`, or else behind `position`, are on their way from now on. */
  beginSegment(): FileSegment {
    const segment = { file: this, start: this.held ?? this.position };
    this.unsettled.add(segment);
    return segment;
  }

  settle(segment: FileSegment): void {
    this.unsettled.delete(segment);
  }

  /** What it was is gone: nothing of it can be read again, whatever becomes of what is on its way. */
  restart(position: FileMark): void {
    this.unsettled.clear();
    this.held = undefined;
    this.position = position;
  }

  async close(): Promise<void> {
    const { handle } = this;
    this.handle = undefined;
    await handle?.close().catch(() => {});
  }
}

const NOTHING = new Uint8Array(0);

export const START: FileMark = { offset: 0, records: 0, isSkipping: false };

/** Names a file on this machine for as long as it exists. */
export function inodeKey({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}
