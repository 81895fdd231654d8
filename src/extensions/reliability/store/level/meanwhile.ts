import type { Entry } from "../../../../plugin.js";
import type { EntryRef } from "../store.js";
import type { Info } from "./entry-value.js";

/**
 * What commits changed while something is being read: the reader may have seen what was there before. Forgotten when
 * nothing is read any more.
 */
export class Meanwhile {
  private readonly infos = new Map<EntryRef, Info | null>();
  private readonly entries = new Map<EntryRef, Entry>();
  private reads = 0;

  async during<T>(read: () => Promise<T>): Promise<T> {
    this.reads++;
    try {
      return await read();
    } finally {
      if (--this.reads === 0) this.forget();
    }
  }

  /** Of entries as a commit has left them; null for those it removed. */
  noteCommit(infos: ReadonlyMap<EntryRef, Info | null>): void {
    if (this.reads === 0) return;
    for (const [ref, info] of infos) {
      this.infos.set(ref, info);
      this.entries.delete(ref);
    }
  }

  noteUpdate(ref: EntryRef, entry: Entry): void {
    if (this.reads > 0) this.entries.set(ref, entry);
  }

  /** Undefined when nothing has changed; null when the entry has been removed. */
  info(ref: EntryRef): Info | null | undefined {
    return this.infos.get(ref);
  }

  entry(ref: EntryRef): Entry | undefined {
    return this.entries.get(ref);
  }

  private forget(): void {
    this.infos.clear();
    this.entries.clear();
  }
}
