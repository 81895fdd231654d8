import type { Clock } from "#contract";
import { backoff, type Delays, type Jitter, pause } from "#resilience";
import { type ArchivedObject, ArchiveError, type ArchiveSource } from "./archive-source.js";
import { type ArchiveSelection, type WalkedObject, type WalkPosition, walkArchive } from "./walk-archive.js";

/** Objects up to this size are fetched before it is their turn. */
const MAX_AHEAD_BYTES = 4 * 1024 * 1024;
const MAX_AHEAD = 4;
/** One to two minutes of failures end a rehydration. It can be resumed. */
const MAX_TRIES = 8;
const BACKOFF = { first: 500, max: 128_000 };

/** An object whose content may have been fetched already. */
export interface FetchedObject extends WalkedObject {
  content(): Promise<AsyncIterable<Uint8Array>>;
}

interface ArchiveTime extends Jitter {
  readonly clock: Clock;
}

/** The objects of an archive, read with retries and a little ahead. */
export class ArchivedObjects {
  readonly source: ArchiveSource;
  private readonly selection: ArchiveSelection;
  private readonly clock: Clock;
  private readonly delays: Delays;
  readonly abort: AbortSignal;

  constructor(source: ArchiveSource, selection: ArchiveSelection, time: ArchiveTime, abort: AbortSignal) {
    this.source = source;
    this.selection = selection;
    this.clock = time.clock;
    this.delays = backoff(BACKOFF, time);
    this.abort = abort;
  }

  /** Yields the objects after a position. The list continues after temporary failures. */
  async *walk(from: WalkPosition): AsyncGenerator<WalkedObject> {
    let reached = from;
    for (let tries = 0; ; ) {
      try {
        for await (const walked of walkArchive(this.source, this.selection, reached, this.abort)) {
          yield walked;
          reached = walked.position;
          tries = 0;
        }
        return;
      } catch (error) {
        await this.waitAfter(error, tries++);
      }
    }
  }

  /** The same, with the content of small objects fetched ahead, if `isWanted` says that it will be read. */
  async *fetched(from: WalkPosition, isWanted: (object: ArchivedObject) => boolean): AsyncGenerator<FetchedObject> {
    const ahead: FetchedObject[] = [];
    for await (const walked of this.walk(from)) {
      const { object } = walked;
      const isEarly = object.size <= MAX_AHEAD_BYTES && isWanted(object);
      ahead.push({ ...walked, content: isEarly ? this.fetch(object) : () => this.source.open(object, this.abort) });
      if (ahead.length > MAX_AHEAD) yield ahead.shift()!;
    }
    yield* ahead;
  }

  /** Throws the error if trying again makes no sense, or was tried too often. Otherwise waits. */
  async waitAfter(error: unknown, tries: number): Promise<void> {
    this.abort.throwIfAborted();
    if (!(error instanceof ArchiveError) || !error.isTransient || tries >= MAX_TRIES) throw error;
    await pause(this.delays(tries + 1), this.clock, this.abort);
    this.abort.throwIfAborted();
  }

  private fetch(object: ArchivedObject): () => Promise<AsyncIterable<Uint8Array>> {
    const open = () => this.source.open(object, this.abort);
    let first: Promise<Uint8Array[] | undefined> | undefined = open().then(allOf);
    first.catch(() => {}); // told when its turn comes
    return async () => {
      const early = await first?.finally(() => {
        first = undefined;
      });
      return early === undefined ? open() : iterate(early);
    };
  }
}

/** Undefined if the object has grown since it was listed, and is too large to be kept in memory. */
async function allOf(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[] | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_AHEAD_BYTES) return undefined;
  }
  return chunks;
}

async function* iterate(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
