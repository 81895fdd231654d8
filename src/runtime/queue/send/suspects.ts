import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Clock, Logger } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import type { Batch } from "#otlp";
import { PRIVATE_FILE_MODE } from "#system";
import type { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import { createQueueItem } from "../entry/queue-item.js";
import type { EntryRef, QueueStore } from "../store/store.js";

/** An entry that was being sent or processed when the worker crashed, and in how many crashes in a row. */
interface Suspect {
  readonly queue: string;
  readonly entry: string;
  readonly crashes: number;
}

interface Turn {
  readonly queue: string;
  readonly entry: string;
  readonly work: (done: () => void) => void;
}

interface SuspectsSettings {
  /** The file that names the entry whose turn it is. */
  readonly path: string;
  /** Whether the worker has crashed several times in a row. */
  readonly isCareful: boolean;
  readonly logger: Logger;
}

/** An entry is set aside if the worker crashed during it this often in a row. */
const MAX_CRASHES = 2;
/** Entries are sent in order, so the one that kills the worker is among the first of a queue. */
const MAX_WATCHED = 10_000;

/**
 * Finds the entry that kills the worker, for example by a native crash or an endless loop in a plugin. In a worker that
 * has crashed several times in a row, the entries that were there at the start are sent and processed one at a time,
 * over all queues and journals, and a file names the one whose turn it is. If the worker crashes again, the file is
 * still there at the next start.
 */
export class Suspects {
  private readonly settings: SuspectsSettings;
  /** The entry of the last crash, until it has had its turn again. */
  private last: Suspect | undefined;
  /** By queue: how many entries are still to be watched, and those that had their turn. */
  private readonly watched = new Map<string, { left: number; readonly seen: Set<string> }>();
  private readonly waiting: Turn[] = [];
  private isBusy = false;

  constructor(settings: SuspectsSettings) {
    this.settings = settings;
    this.last = readSuspect(settings.path);
    if (!settings.isCareful && !this.isCrashLoop) this.forget();
  }

  /** The entry of this queue that must be set aside, if there is one. */
  crashLoopOf(queue: string): Suspect | undefined {
    return this.isCrashLoop && this.last!.queue === queue ? this.last : undefined;
  }

  /** To be called when the entry of a crash loop has been set aside. */
  forget(): void {
    this.last = undefined;
    rmSync(this.settings.path, { force: true });
  }

  /** To be called with the number of entries of a queue that has been opened. */
  onOpened(queue: string, entries: number): void {
    if (!this.settings.isCareful || entries === 0 || this.watched.has(queue)) return;
    this.watched.set(queue, { left: Math.min(entries, MAX_WATCHED), seen: new Set() });
  }

  isWatching(queue: string): boolean {
    return this.watched.has(queue);
  }

  /** Calls `work` when it is this entry's turn, which lasts until `done` is called. */
  run(queue: string, entry: string, work: Turn["work"]): void {
    const watched = this.watched.get(queue);
    if (watched === undefined || watched.seen.has(entry)) return work(() => {});
    watched.seen.add(entry);
    watched.left -= 1;
    if (watched.left === 0) this.watched.delete(queue);
    this.waiting.push({ queue, entry, work });
    this.next();
  }

  private get isCrashLoop(): boolean {
    return this.last !== undefined && this.last.crashes >= MAX_CRASHES;
  }

  private next(): void {
    const turn = this.isBusy ? undefined : this.waiting.shift();
    if (turn === undefined) return;
    const { queue, entry } = turn;
    const isAgain = this.last?.queue === queue && this.last.entry === entry;
    this.isBusy = true;
    this.mark({ queue, entry, crashes: isAgain ? this.last!.crashes + 1 : 1 });
    let isDone = false;
    turn.work(() => {
      if (isDone) return;
      isDone = true;
      setImmediate(() => this.end(isAgain));
    });
  }

  private end(wasLast: boolean): void {
    if (wasLast) this.last = undefined;
    rmSync(this.settings.path, { force: true });
    this.isBusy = false;
    this.next();
  }

  /** The process may die in the next call, so the file is written synchronously. */
  private mark(suspect: Suspect): void {
    const { path, logger } = this.settings;
    try {
      writeFileSync(path, JSON.stringify(suspect), { mode: PRIVATE_FILE_MODE });
    } catch (error) {
      logger.warn({ err: error }, "the next entry cannot be recorded, so a crash loop may not be detected");
    }
  }
}

function readSuspect(path: string): Suspect | undefined {
  try {
    const { queue, entry, crashes } = JSON.parse(readFileSync(path, "utf8")) as Partial<Suspect>;
    if (typeof queue !== "string" || typeof entry !== "string" || typeof crashes !== "number") return undefined;
    return { queue, entry, crashes };
  } catch {
    return undefined;
  }
}

interface CrashLoopServices {
  readonly id: string;
  readonly suspects?: Suspects | undefined;
  readonly store: QueueStore;
  readonly deadLetters: DeadLetterWriter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Makes the entry that kills the worker a dead letter. To be called when the store has been opened and nothing has been
 * sent. `remaining` returns the records of the entry that are still owed.
 */
export async function setAsideCrashLoop(
  { id, suspects, store, deadLetters, clock, logger }: CrashLoopServices,
  remaining?: (ref: EntryRef, batch: Batch) => Batch,
): Promise<void> {
  const suspect = suspects?.crashLoopOf(id);
  if (suspect !== undefined) {
    const { entry, crashes } = suspect;
    const stored = await store.find(entry);
    if (stored?.entry.state === "pending") {
      const item = createQueueItem(stored, clock.now(), clock.monotonic(), 0);
      const cause = { reason: "crash_loop", category: "component_failure", error: crashLoopError(suspect) } as const;
      const written = await deadLetters.write(item, cause, remaining && ((batch) => remaining(item.ref, batch)));
      if (written === "unwritten") return;
      const { pipeline, items } = stored.entry;
      logger.error({ queue: id, entry, pipeline, items, crashes }, `crash loop: ${crashLoopError(suspect).message}`);
    }
    suspects!.forget();
  }
  suspects?.onOpened(id, store.stats.pending.entries);
}

function crashLoopError({ queue, entry, crashes }: Suspect): AttemptError {
  const message = `the worker crashed ${crashes} times in a row while entry ${entry} of ${queue} was sent or processed; it was set aside`;
  return { kind: "permanent", class: ERROR_CODES.SLUICE_CRASH_LOOP, message, code: ERROR_CODES.SLUICE_CRASH_LOOP };
}
