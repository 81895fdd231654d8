import type { Entry } from "../../../../plugin.js";
import { counted, NOTHING } from "../amounts.js";
import type { Amount, EntryRef } from "../store.js";
import type { Info } from "./entry-value.js";
import type { Change } from "./group-commit.js";
import type { Transaction } from "./transaction.js";

export interface RidersSettings {
  readonly add: (change: Change) => void;
  /** An update has been written. */
  readonly onUpdated: (ref: EntryRef, entry: Entry) => void;
}

/**
 * Acknowledgements and updates: nobody waits for them, so they ride along with the next write. Until then this knows
 * what the store does not say yet.
 */
export class Riders {
  private readonly settings: RidersSettings;
  /** What is known of those that the store still counts; undefined for those it does not, or nothing is known of. */
  private readonly acking = new Map<EntryRef, Info | undefined>();
  private acked = NOTHING;
  private readonly updating = new Map<EntryRef, Entry>();

  constructor(settings: RidersSettings) {
    this.settings = settings;
  }

  get hasAcks(): boolean {
    return this.acking.size > 0;
  }

  /** What has been acknowledged and is still counted by the store. */
  get stillCounted(): Amount {
    return this.acked;
  }

  isAcked(ref: EntryRef): boolean {
    return this.acking.has(ref);
  }

  /** The entry as it was last updated, if that is not written yet. */
  updated(ref: EntryRef): Entry | undefined {
    return this.updating.get(ref);
  }

  /** `info` is what is known of a pending entry. */
  ack(ref: EntryRef, info: Info | undefined): void {
    if (this.acking.has(ref)) return;
    this.acking.set(ref, info);
    if (info !== undefined) this.acked = counted(this.acked, info, 1);
    this.updating.delete(ref);
    const done = () => {
      this.uncounted(ref);
      this.acking.delete(ref);
    };
    this.settings.add({ refs: [ref], bytes: 100, lazy: true, apply: (t) => t.remove(ref), done, fail: done });
  }

  /** The store does not count this entry any more. */
  uncounted(ref: EntryRef): void {
    const info = this.acking.get(ref);
    if (info === undefined) return;
    this.acked = counted(this.acked, info, -1);
    this.acking.set(ref, undefined);
  }

  /** Of several updates of an entry the last one is written. */
  update(ref: EntryRef, entry: Entry): void {
    if (this.acking.has(ref)) return;
    const isWaiting = this.updating.has(ref);
    this.updating.set(ref, entry);
    if (isWaiting) return;
    let written: Entry | undefined;
    const apply = (transaction: Transaction) => {
      written = this.updating.get(ref);
      if (written !== undefined) transaction.update(ref, written);
    };
    const done = () => {
      const latest = this.updating.get(ref);
      this.updating.delete(ref);
      if (written !== undefined) this.settings.onUpdated(ref, written);
      if (latest !== undefined && latest !== written) this.update(ref, latest);
    };
    this.settings.add({ refs: [ref], bytes: 1000, lazy: true, apply, done, fail: done });
  }

  clear(): void {
    this.acking.clear();
    this.acked = NOTHING;
    this.updating.clear();
  }
}
