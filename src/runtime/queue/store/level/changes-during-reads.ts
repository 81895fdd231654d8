import type { Entry } from "#contract/operations";
import type { EntryInfo } from "../format/entry.js";
import type { EntryRef } from "../store.js";
import type { Transaction } from "./transaction.js";

/**
 * Changes that were committed while a read is under way, because the read may have seen the earlier state. They are
 * forgotten when no read is active.
 */
export class ChangesDuringReads {
  private readonly infos = new Map<EntryRef, EntryInfo | null>();
  private readonly entries = new Map<EntryRef, Entry>();
  /** While there is none, no commit need be noted. */
  readonly activeReads = new Set<Promise<unknown>>();

  async track<T>(read: () => Promise<T>): Promise<T> {
    const active = read();
    this.activeReads.add(active);
    try {
      return await active;
    } finally {
      this.activeReads.delete(active);
      if (this.activeReads.size === 0) this.clear();
    }
  }

  /** Resolves when the reads under way have ended. Reads that begin later see the current state. */
  async whenEnded(): Promise<void> {
    await Promise.allSettled([...this.activeReads]);
  }

  /** To be called with each commit made during a read, in order. */
  noteCommit({ infos, entries }: Pick<Transaction, "infos" | "entries">): void {
    for (const [ref, info] of infos) {
      this.infos.set(ref, info);
      const entry = entries.get(ref);
      if (entry === undefined) this.entries.delete(ref);
      else this.entries.set(ref, entry);
    }
  }

  /** Undefined if nothing has changed; null if the entry was removed. */
  info(ref: EntryRef): EntryInfo | null | undefined {
    return this.infos.get(ref);
  }

  /** The entry as the last commit left it, if that made it a dead letter or updated it. */
  entry(ref: EntryRef): Entry | undefined {
    return this.entries.get(ref);
  }

  private clear(): void {
    this.infos.clear();
    this.entries.clear();
  }
}
