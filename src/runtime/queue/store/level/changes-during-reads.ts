import type { Entry } from "#contract/operations";
import type { EntryInfo } from "../format/entry-value.js";
import type { EntryRef } from "../store.js";

/**
 * What commits changed while something is being read: the reader may have seen what was there before. Forgotten when
 * nothing is read any more.
 */
export class ChangesDuringReads {
  private readonly infos = new Map<EntryRef, EntryInfo | null>();
  private readonly entries = new Map<EntryRef, Entry>();
  private readonly activeReads = new Set<Promise<unknown>>();

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

  /** Resolves when the reads that are under way have ended. Those that begin meanwhile see what is there now. */
  async whenEnded(): Promise<void> {
    await Promise.allSettled([...this.activeReads]);
  }

  /** `infos` are entries as a commit has left them; null stands for those it removed. */
  noteCommit(infos: ReadonlyMap<EntryRef, EntryInfo | null>): void {
    if (this.activeReads.size === 0) return;
    for (const [ref, info] of infos) {
      this.infos.set(ref, info);
      this.entries.delete(ref);
    }
  }

  noteUpdate(ref: EntryRef, entry: Entry): void {
    if (this.activeReads.size > 0) this.entries.set(ref, entry);
  }

  /** Undefined when nothing has changed; null when the entry has been removed. */
  info(ref: EntryRef): EntryInfo | null | undefined {
    return this.infos.get(ref);
  }

  entry(ref: EntryRef): Entry | undefined {
    return this.entries.get(ref);
  }

  private clear(): void {
    this.infos.clear();
    this.entries.clear();
  }
}
