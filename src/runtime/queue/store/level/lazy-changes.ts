import type { Entry } from "#contract/operations";
import type { EntryInfo } from "../format/entry-value.js";
import type { Amount, EntryRef } from "../store.js";
import { adjustAmount, ZERO_AMOUNT } from "../store.js";
import type { StoreChange } from "./group-commit.js";
import type { Transaction } from "./transaction.js";

export interface LazyChangesSettings {
  readonly add: (change: StoreChange) => void;
  /** Called when an update has been written. */
  readonly onUpdated: (ref: EntryRef, entry: Entry) => void;
}

/**
 * Acknowledgements and updates. No caller waits for them, so they are written with the next commit. Until then this
 * class knows what the store does not reflect yet.
 */
export class LazyChanges {
  private readonly settings: LazyChangesSettings;
  /**
   * Acknowledged entries that are not removed yet. The info is undefined if the store no longer counts the entry or
   * nothing is known.
   */
  private readonly unwrittenAcks = new Map<EntryRef, EntryInfo | undefined>();
  private ackedAmount = ZERO_AMOUNT;
  private readonly unwrittenUpdates = new Map<EntryRef, Entry>();

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
    return this.unwrittenUpdates.get(ref);
  }

  /** `info` is the known info of a pending entry. */
  ack(ref: EntryRef, info: EntryInfo | undefined): void {
    if (this.unwrittenAcks.has(ref)) return;
    this.unwrittenAcks.set(ref, info);
    if (info !== undefined) this.ackedAmount = adjustAmount(this.ackedAmount, info, 1);
    this.unwrittenUpdates.delete(ref);
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

  /** If an entry is updated several times, only the last update is written. */
  update(ref: EntryRef, entry: Entry): void {
    if (this.unwrittenAcks.has(ref)) return;
    const isWaiting = this.unwrittenUpdates.has(ref);
    this.unwrittenUpdates.set(ref, entry);
    if (isWaiting) return;
    let written: Entry | undefined;
    const apply = (transaction: Transaction) => {
      written = this.unwrittenUpdates.get(ref);
      if (written !== undefined) transaction.update(ref, written);
    };
    const done = () => {
      const latest = this.unwrittenUpdates.get(ref);
      this.unwrittenUpdates.delete(ref);
      if (written !== undefined) this.settings.onUpdated(ref, written);
      if (latest !== undefined && latest !== written) this.update(ref, latest);
    };
    this.settings.add({ refs: [ref], bytes: 1000, lazy: true, apply, done, fail: done });
  }

  clear(): void {
    this.unwrittenAcks.clear();
    this.ackedAmount = ZERO_AMOUNT;
    this.unwrittenUpdates.clear();
  }
}
