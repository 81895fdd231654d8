import type { Entry } from "#contract/operations";
import { adjustAmount, type EntryInfo, hasState } from "../format/entry.js";
import { type Amount, type EntryRef, ZERO_AMOUNT } from "../store.js";
import type { StoreChange } from "./group-commit.js";

interface LazyChangesSettings {
  readonly add: (change: StoreChange) => void;
}

/** An update that is not written yet. `entry` is undefined if an acknowledgement has made it pointless. */
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
        if (update.entry !== undefined) transaction.update(ref, update.entry);
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
