import type { EntryRef } from "../store.js";
import type { Transaction } from "./transaction.js";

/** One change that a caller wants made to the store. */
export interface StoreChange {
  /** Entries that `apply` looks up. */
  readonly refs: readonly EntryRef[];
  /** Bytes it will write, roughly. */
  readonly bytes: number;
  /** Nobody waits for it: it goes with the next commit, needs no fsync, and is tried again when a commit fails. */
  readonly lazy: boolean;
  /** Whether it needs an fsync; else by durability. */
  readonly sync?: boolean;
  apply(transaction: Transaction): void;
  done(): void;
  fail(error: unknown): void;
}

export interface GroupCommitSettings {
  /** Makes all of them durable in one write; rejects when none was written. Changes it could not apply have been told. */
  readonly commit: (changes: readonly StoreChange[]) => Promise<void>;
  /** How long lazy changes wait for others to be written with, and how long after a failed commit. */
  readonly lazyMs: number;
  readonly retryMs: number;
  /** What is written together, unless a single change is larger. */
  readonly maxBytes?: () => number;
}

/**
 * Writes changes in the order they come, one commit at a time: while one is under way, others gather into the next.
 * That makes fsync affordable, since its cost is shared by all who wait.
 *
 * A commit begins at the end of the turn of the event loop, when everything that was read from sockets in that turn has
 * been added: an idle store's only change is written at once, and a busy one's groups grow with its load. When much has
 * gathered behind a commit, the next one follows without that: the disk is what is waited for then. No timer is involved,
 * so nobody waits for changes that may not come.
 */
export class GroupCommit {
  private readonly settings: GroupCommitSettings;
  private waiting: StoreChange[] = [];
  private running: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(settings: GroupCommitSettings) {
    this.settings = settings;
  }

  add(change: StoreChange): void {
    this.waiting.push(change);
    if (change.lazy) this.startLater(this.settings.lazyMs);
    else this.start();
  }

  /** Resolves when everything that was added has been tried. */
  async flush(): Promise<void> {
    this.start();
    await this.running;
  }

  /** Gives up what could not be written. */
  stop(): void {
    clearTimeout(this.timer);
    this.waiting = [];
  }

  private start(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.running ??= this.run().finally(() => {
      this.running = undefined;
      this.startNext();
    });
  }

  /** Callers that were told of the last commit may have added changes after its loop had ended. */
  private startNext(): void {
    if (this.waiting.some((change) => !change.lazy)) this.start();
    else if (this.waiting.length > 0) this.startLater(this.settings.lazyMs);
  }

  private startLater(ms: number): void {
    if (this.running !== undefined || this.timer !== undefined) return;
    this.timer = setTimeout(() => this.start(), ms).unref();
  }

  private async run(): Promise<void> {
    for (let isFirst = true; this.waiting.length > 0; isFirst = false) {
      if (isFirst || !this.hasMuchToWrite()) await endOfTurn();
      const changes = this.takeNext();
      try {
        await this.settings.commit(changes);
        for (const change of changes) change.done();
      } catch (error) {
        for (const change of changes) if (!change.lazy) change.fail(error);
        if (this.postpone(changes.filter((change) => change.lazy))) return;
      }
    }
  }

  /** Puts lazy changes back in front; true when nothing else waits. */
  private postpone(lazy: readonly StoreChange[]): boolean {
    this.waiting = [...lazy, ...this.waiting];
    if (this.waiting.some((change) => !change.lazy)) return false;
    if (lazy.length > 0) this.timer ??= setTimeout(() => this.start(), this.settings.retryMs).unref();
    return true;
  }

  private hasMuchToWrite(): boolean {
    let bytes = 0;
    return this.waiting.some((change) => {
      bytes += change.bytes;
      return bytes >= MIN_BYTES_TO_HURRY;
    });
  }

  private takeNext(): StoreChange[] {
    let bytes = 0;
    let count = 0;
    const maxBytes = this.settings.maxBytes?.() ?? Number.POSITIVE_INFINITY;
    for (const change of this.waiting) {
      if (count > 0 && (bytes + change.bytes > maxBytes || count >= MAX_COMMIT_CHANGES)) break;
      bytes += change.bytes;
      count++;
    }
    return this.waiting.splice(0, count);
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Writing so much takes longer than what a larger group would save. */
const MIN_BYTES_TO_HURRY = 64 * 1024;
const MAX_COMMIT_CHANGES = 4096;
