import type { EntryRef } from "../store.js";
import type { EntryInfo } from "./entry-value.js";
import type { LevelDb } from "./level-db.js";
import type { Meta } from "./meta.js";
import { OldestEntry } from "./oldest.js";
import { failedAfter, firstPending, loadEntry } from "./reader.js";

/** The oldest pending entry and the oldest failed one of an open database. */
export class OldestEntries {
  readonly pending: OldestEntry;
  readonly failed: OldestEntry;

  /** `meta` gives the counters as they are at the moment, `known` what is known of an entry without reading it. */
  constructor(db: LevelDb, meta: () => Meta, infoOfRef: (ref: EntryRef) => EntryInfo | undefined) {
    const findPending = async (from: EntryRef) => {
      const ref = await firstPending(db, from, meta());
      if (ref === undefined) return undefined;
      return { ref, enqueuedAt: infoOfRef(ref)?.enqueuedAt ?? (await loadEntry(db, ref))?.entry.enqueuedAt };
    };
    const findFailed = async (from: EntryRef) => {
      const [first] = await failedAfter(db, undefined, 1, "oldest", { ...meta(), failedHead: from });
      return first === undefined ? undefined : { ref: first.ref, enqueuedAt: first.entry.enqueuedAt };
    };
    const lastRef = () => meta().last;
    this.pending = new OldestEntry("pending", meta().head, findPending, lastRef);
    this.failed = new OldestEntry("failed", meta().failedHead, findFailed, lastRef);
  }

  async find({ pending, failed }: Meta): Promise<void> {
    if (pending.entries > 0) await this.pending.find();
    if (failed.entries > 0) await this.failed.find();
  }

  applyCommit(infos: ReadonlyMap<EntryRef, EntryInfo | null>, { pending, failed }: Meta): void {
    this.pending.applyCommit(infos, pending.entries);
    this.failed.applyCommit(infos, failed.entries);
  }

  /** The counters with the positions behind which reading may begin. */
  withPositions(meta: Meta): Meta {
    return { ...meta, head: this.pending.searchFrom, failedHead: this.failed.searchFrom };
  }

  stop(): void {
    this.pending.stop();
    this.failed.stop();
  }
}
