import type { EntryRef } from "../store.js";
import type { Info } from "./entry-value.js";
import type { LevelDb } from "./level-db.js";
import type { Meta } from "./meta.js";
import { Oldest } from "./oldest.js";
import { failedBehind, firstPending, loadEntry } from "./reader.js";

/** The oldest pending entry and the oldest failed one of an open database. */
export class OldestEntries {
  readonly pending: Oldest;
  readonly failed: Oldest;

  /** `meta` gives the counters as they are at the moment, `known` what is known of an entry without reading it. */
  constructor(db: LevelDb, meta: () => Meta, known: (ref: EntryRef) => Info | undefined) {
    const pendingFrom = async (from: EntryRef) => {
      const ref = await firstPending(db, from, meta());
      if (ref === undefined) return undefined;
      return { ref, at: known(ref)?.enqueuedAt ?? (await loadEntry(db, ref))?.entry.enqueuedAt };
    };
    const failedFrom = async (from: EntryRef) => {
      const [first] = await failedBehind(db, undefined, 1, "oldest", { ...meta(), failedHead: from });
      return first === undefined ? undefined : { ref: first.ref, at: first.entry.enqueuedAt };
    };
    const last = () => meta().last;
    this.pending = new Oldest("pending", meta().head, pendingFrom, last);
    this.failed = new Oldest("failed", meta().failedHead, failedFrom, last);
  }

  async find({ pending, failed }: Meta): Promise<void> {
    if (pending.entries > 0) await this.pending.find();
    if (failed.entries > 0) await this.failed.find();
  }

  follow(infos: ReadonlyMap<EntryRef, Info | null>, { pending, failed }: Meta): void {
    this.pending.follow(infos, pending.entries);
    this.failed.follow(infos, failed.entries);
  }

  /** The counters with the positions behind which reading may begin. */
  positionsIn(meta: Meta): Meta {
    return { ...meta, head: this.pending.from, failedHead: this.failed.from };
  }

  stop(): void {
    this.pending.stop();
    this.failed.stop();
  }
}
