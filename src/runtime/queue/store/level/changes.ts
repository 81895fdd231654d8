import type { Entry } from "#contract/operations";
import { adjustAmount, type EntryInfo, hasState } from "../format/entry.js";
import { type Amount, type EntryRef, ZERO_AMOUNT } from "../store.js";
import type { Transaction } from "./transaction.js";

/** One change to the store, requested by a caller. */
export interface StoreChange {
  /** Entries that `apply` looks up. */
  readonly refs: readonly EntryRef[];
  /** Approximate number of bytes to write. */
  readonly bytes: number;
  /**
   * Whether no caller waits for the change. It is written with the next commit, needs no fsync, and is retried if a
   * commit fails.
   */
  readonly lazy: boolean;
  /** Whether the change needs an fsync; if left out, durability decides. */
  readonly sync?: boolean;
  apply(transaction: Transaction): void;
  done(): void;
  fail(error: unknown): void;
}

interface GroupCommitSettings {
  /**
   * Makes all changes durable in one write. Rejects if nothing was written. Changes that could not be applied have been
   * failed already.
   */
  readonly commit: (changes: readonly StoreChange[]) => Promise<void>;
  /** How long lazy changes wait for others to be written with. After a failed commit they wait `retryMs`. */
  readonly lazyMs: number;
  readonly retryMs: number;
  /** Maximum size of a commit, unless a single change is larger. */
  readonly maxBytes?: () => number;
}

/**
 * Writes changes in order, one commit at a time. Changes that come while a commit is under way are gathered into the
 * next. That makes fsync affordable, since all waiting callers share its cost.
 *
 * A commit begins at the end of an event loop turn, when everything read from sockets in that turn has been added. So
 * an idle store writes a single change at once, and the groups of a busy store grow with its load. If much has gathered
 * behind a commit, the next one follows immediately, because then the disk is the bottleneck. No timer is involved, so
 * no caller waits for changes that may not come.
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

  /** Resolves when a write was tried for everything that was added. */
  async flush(): Promise<void> {
    this.start();
    await this.running;
  }

  /** Drops changes that could not be written. */
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

  /** Callers notified by the last commit may have added changes after its loop ended. */
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

  /** Puts lazy changes back to the front. Returns true if nothing else waits. */
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
      return bytes >= MIN_BYTES_TO_COMMIT_NOW;
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

/** Writing this many bytes takes longer than a larger group would save. */
const MIN_BYTES_TO_COMMIT_NOW = 64 * 1024;
const MAX_COMMIT_CHANGES = 4096;

interface LazyChangesSettings {
  readonly add: (change: StoreChange) => void;
}

/**
 * An update that is not written yet. `entry` is undefined if the update is pointless: the entry was acknowledged, or has
 * another state.
 */
interface UnwrittenUpdate {
  entry: Entry | undefined;
  /** Whether a later update may still take its place among the changes that wait. */
  isOpen: boolean;
}

/**
 * Acknowledgements and updates. No caller waits for them, so they are written with the next commit. Until then this
 * class knows what the store does not reflect yet.
 *
 * They are written in the order of the calls, like all changes; see `LevelStore`. An update replaces the one before it
 * only while that one waits, is the last change of its entry, and is for the same state. Otherwise it is added behind
 * the others.
 */
export class LazyChanges {
  private readonly settings: LazyChangesSettings;
  /**
   * Acknowledged entries that are not removed yet. The info is undefined if the store no longer counts the entry or
   * nothing is known.
   */
  private readonly unwrittenAcks = new Map<EntryRef, EntryInfo | undefined>();
  private ackedAmount = ZERO_AMOUNT;
  /** The last update of each entry. */
  private readonly unwrittenUpdates = new Map<EntryRef, UnwrittenUpdate>();

  constructor(settings: LazyChangesSettings) {
    this.settings = settings;
  }

  get hasUnwrittenAcks(): boolean {
    return this.unwrittenAcks.size > 0;
  }

  /** Amount of acknowledged entries that the store still counts. */
  get ackedButCounted(): Amount {
    return this.ackedAmount;
  }

  isAcked(ref: EntryRef): boolean {
    return this.unwrittenAcks.has(ref);
  }

  /** The last update of the entry, if it is not written yet. */
  unwrittenUpdate(ref: EntryRef): Entry | undefined {
    return this.unwrittenUpdates.get(ref)?.entry;
  }

  /** `info` is the known info of a pending entry. */
  ack(ref: EntryRef, info: EntryInfo | undefined): void {
    if (this.unwrittenAcks.has(ref)) return;
    this.unwrittenAcks.set(ref, info);
    if (info !== undefined) this.ackedAmount = adjustAmount(this.ackedAmount, info, 1);
    this.forgetUpdate(ref);
    const done = () => {
      this.onUncounted(ref);
      this.unwrittenAcks.delete(ref);
    };
    this.settings.add({ refs: [ref], bytes: 100, lazy: true, apply: (t) => t.remove(ref), done, fail: done });
  }

  /** To be called when the store no longer counts this entry. */
  onUncounted(ref: EntryRef): void {
    const info = this.unwrittenAcks.get(ref);
    if (info === undefined) return;
    this.ackedAmount = adjustAmount(this.ackedAmount, info, -1);
    this.unwrittenAcks.set(ref, undefined);
  }

  /** If an entry is updated several times before a commit, only the last update is written. */
  update(ref: EntryRef, entry: Entry): void {
    if (this.unwrittenAcks.has(ref)) return;
    const last = this.unwrittenUpdates.get(ref);
    if (last?.isOpen && last.entry !== undefined && hasState(last.entry, entry.state)) last.entry = entry;
    else this.addUpdate(ref, { entry, isOpen: true });
  }

  /** To be called when another change of these entries is added, so that later updates are written after it. */
  closeUpdates(refs: readonly EntryRef[]): void {
    if (this.unwrittenUpdates.size === 0) return;
    for (const ref of refs) {
      const update = this.unwrittenUpdates.get(ref);
      if (update !== undefined) update.isOpen = false;
    }
  }

  clear(): void {
    this.unwrittenAcks.clear();
    this.ackedAmount = ZERO_AMOUNT;
    this.unwrittenUpdates.clear();
  }

  private addUpdate(ref: EntryRef, update: UnwrittenUpdate): void {
    this.unwrittenUpdates.set(ref, update);
    const done = () => {
      if (this.unwrittenUpdates.get(ref) === update) this.unwrittenUpdates.delete(ref);
    };
    this.settings.add({
      refs: [ref],
      bytes: 1000,
      lazy: true,
      apply(transaction) {
        update.isOpen = false;
        if (update.entry === undefined) return;
        const isFirst = !transaction.hasChanged(ref);
        // The update was for a state that the entry did not have. If this commit is reported as failed although it was
        // written, a retry would put the update behind a change that was called later.
        if (!transaction.update(ref, update.entry) && isFirst) update.entry = undefined;
      },
      done,
      fail: done,
    });
  }

  private forgetUpdate(ref: EntryRef): void {
    const update = this.unwrittenUpdates.get(ref);
    if (update === undefined) return;
    update.entry = undefined;
    this.unwrittenUpdates.delete(ref);
  }
}
