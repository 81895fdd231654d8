import type { FileHandle } from "node:fs/promises";
import type { LogMap } from "#logs/entries";
import type { FileMark, KeptFile } from "./offset-store.js";

/** A range of a file whose records have been handed in and are not safe yet. */
export interface FileSegment {
  readonly file: TrackedFile;
  /** Where reading must start again if this segment does not become safe. */
  readonly start: FileMark;
}

/**
 * A file being read: its identity and how far its records are safe.
 *
 * Invariants:
 * - `position` is where the next record starts: everything before it was cut into records.
 * - Every record before `position` is safe, or in a segment of `unsettled`, or in `held`.
 * - So everything before `mark` is on disk at every exporter, or was never wanted.
 */
export class TrackedFile implements KeptFile {
  storeId?: number | undefined;
  path: string;
  dev: number;
  ino: number;
  /** The first bytes of the content, up to fingerprint_size. */
  fingerprint: Buffer;
  position: FileMark;
  /** The earliest record that an operator holds. */
  held: FileMark | undefined;
  handle: FileHandle | undefined;
  isGzip = false;
  /** Encoded log record fields that describe this file. */
  attributes: Uint8Array = NOTHING;
  /** The same attributes as values. */
  attributeValues: LogMap = {};
  /** The attributes that the header of the file gives; undefined before it was read. */
  header: LogMap | undefined;
  /** The header that the attributes were made with. */
  describedHeader: LogMap | undefined;
  /** The path that the attributes were made for. */
  attributesPath = "";
  /** Size and modification time at the last look; -1 and 0 before the first. */
  size = -1;
  mtimeMs = 0;
  /** The size when the file was last read to its end. */
  readSize = -1;
  /** Whether the file ends in an incomplete record. */
  hasPartialRecord = false;
  /** When the file last grew or appeared, by the monotonic clock. */
  lastGrowthAt = 0;
  seenAt = 0;
  /** The number of the last look that saw the file at its path. */
  lastSeenRound = 0;
  /** Whether the file is missing from its path and has already been searched for. */
  wasSearched = false;
  /** Whether the rest of the file is read at a place that no pattern matches, where it was moved or copied to. */
  isFollowed = false;
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

  /** How far the file is safe. */
  get mark(): FileMark {
    let first = this.held ?? this.position;
    for (const { start } of this.unsettled) if (start.offset < first.offset) first = start;
    return first;
  }

  /** Whether the file was read to its end and all of its records are safe. */
  get isFinished(): boolean {
    const isRead = this.readSize === this.size && !this.hasPartialRecord;
    return isRead && this.held === undefined && this.isSettled && (this.isGzip || this.position.offset >= this.size);
  }

  get isSettled(): boolean {
    return this.unsettled.size === 0;
  }

  /** Starts a segment: the records from `held`, or else from `position`, belong to the next batch. */
  beginSegment(): FileSegment {
    const segment = { file: this, start: this.held ?? this.position };
    this.unsettled.add(segment);
    return segment;
  }

  settle(segment: FileSegment): void {
    this.unsettled.delete(segment);
  }

  /** The old content is gone and cannot be read again, whatever the outcome of the records in flight. */
  restart(position: FileMark): void {
    this.header = undefined;
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

/** Identifies a file on this machine for as long as the file exists. */
export function inodeKey({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}
