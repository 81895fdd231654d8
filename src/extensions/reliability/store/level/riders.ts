import type { Entry } from "../../../../plugin.js";
import type { EntryRef } from "../store.js";
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
  private readonly acking = new Set<EntryRef>();
  private readonly updating = new Map<EntryRef, Entry>();

  constructor(settings: RidersSettings) {
    this.settings = settings;
  }

  get hasAcks(): boolean {
    return this.acking.size > 0;
  }

  isAcked(ref: EntryRef): boolean {
    return this.acking.has(ref);
  }

  /** The entry as it was last updated, if that is not written yet. */
  updated(ref: EntryRef): Entry | undefined {
    return this.updating.get(ref);
  }

  ack(ref: EntryRef): void {
    if (this.acking.has(ref)) return;
    this.acking.add(ref);
    this.updating.delete(ref);
    const done = () => void this.acking.delete(ref);
    this.settings.add({ refs: [ref], bytes: 100, lazy: true, apply: (t) => t.remove(ref), done, fail: done });
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
    this.updating.clear();
  }
}
