import type { Entry } from "../../../../runtime/kit.js";
import type { EntryInfo } from "../format/entry-value.js";
import type { EntryRef } from "../store.js";

/**
 * What commits changed while something is being read: the reader may have seen what was there before. Forgotten when
 * nothing is read any more.
 */
export class ChangesDuringReads {
  private readonly infos = new Map<EntryRef, EntryInfo | null>();
  private readonly entries = new Map<EntryRef, Entry>();
  private activeReads = 0;

  async track<T>(read: () => Promise<T>): Promise<T> {
    this.activeReads++;
    try {
      return await read();
    } finally {
      if (--this.activeReads === 0) this.clear();
    }
  }

  /** `infos` are entries as a commit has left them; null stands for those it removed. */
  noteCommit(infos: ReadonlyMap<EntryRef, EntryInfo | null>): void {
    if (this.activeReads === 0) return;
    for (const [ref, info] of infos) {
      this.infos.set(ref, info);
      this.entries.delete(ref);
    }
  }

  noteUpdate(ref: EntryRef, entry: Entry): void {
    if (this.activeReads > 0) this.entries.set(ref, entry);
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
