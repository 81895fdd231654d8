import type { Batch } from "../../../../plugin.js";
import { entryId, sequenceOf } from "../new-entry.js";
import type { EntryRef, StoreSettings } from "../store.js";
import type { Info } from "./entry-value.js";
import type { Change } from "./group-commit.js";
import type { LevelDb } from "./level-db.js";
import { type Meta, newMeta } from "./meta.js";
import { OldestEntries } from "./oldest-entries.js";
import { loadEntry, UnreadableEntry } from "./reader.js";
import { Recent } from "./recent.js";
import { remainsOf } from "./remains.js";
import { Transaction } from "./transaction.js";

/** What is counted on opening takes time: about a third of a second for this much. */
const MAX_UNCOUNTED = 128 * 1024 * 1024;

/**
 * What is known of the store in memory: the counters, the latest entries and payloads, where the oldest ones are. Nothing
 * of it changes before LevelDB has written.
 */
export class Ledger {
  meta: Meta;
  readonly infos = new Recent<Info>(50_000, () => 1);
  readonly payloads = new Recent<Batch>(16 * 1024 * 1024, (batch) => batch.byteLength + 64);
  oldest: OldestEntries | undefined;
  /** Commits of this process. */
  commits = 0;
  /** Something was written without an fsync. */
  isUnsynced = false;
  private readonly durability: StoreSettings["durability"];
  private readonly onWritten: (transaction: Transaction) => void;
  /** Bytes of entries that the counters on disk do not know yet. */
  private uncounted = 0;

  /** `onWritten` is called when a transaction has become true. */
  constructor(
    { exporter, durability }: Pick<StoreSettings, "exporter" | "durability">,
    onWritten: (transaction: Transaction) => void,
  ) {
    this.meta = newMeta(exporter);
    this.durability = durability;
    this.onWritten = onWritten;
  }

  /** Begins anew with a database that has just been opened. */
  async takeOver(db: LevelDb, meta: Meta): Promise<void> {
    this.uncounted = MAX_UNCOUNTED;
    this.meta = { ...meta, last: Math.max(meta.last, this.meta.last) };
    this.forget();
    this.oldest?.stop();
    this.oldest = new OldestEntries(
      db,
      () => this.meta,
      (ref) => this.infos.get(ref),
    );
    await this.oldest.find(this.meta);
  }

  /** Writes changes in one step; those that cannot be applied are told so. */
  async write(db: LevelDb, changes: readonly Change[]): Promise<void> {
    const loaded = await this.load(db, changes);
    const batch = db.batch();
    const meta = this.oldest?.positionsIn(this.meta) ?? this.meta;
    const transaction = new Transaction(batch, meta, (ref) => this.infos.get(ref) ?? loaded.get(ref));
    let sync = false;
    for (const change of changes) {
      try {
        change.apply(transaction);
        sync ||= change.sync ?? (!change.lazy && this.durability === "fsync");
      } catch (error) {
        change.fail(error);
      }
    }
    const { wroteMeta } = transaction.finish(this.uncounted < MAX_UNCOUNTED);
    await batch.write({ sync });
    this.isUnsynced = !sync;
    this.uncounted = wroteMeta ? 0 : this.uncounted + changes.reduce((sum, { bytes }) => sum + bytes, 0);
    this.adopt(transaction);
  }

  /** Whether this is the id of an entry that is still to come. */
  willGive(id: string): boolean {
    const sequence = sequenceOf(id);
    return sequence !== undefined && sequence > this.meta.last && id === entryId(this.meta.tag, sequence);
  }

  forget(): void {
    this.infos.clear();
    this.payloads.clear();
  }

  private adopt(transaction: Transaction): void {
    this.meta = transaction.meta;
    this.commits++;
    for (const [ref, info] of transaction.infos) {
      if (info === null) {
        this.infos.delete(ref);
        this.payloads.delete(ref);
      } else this.infos.set(ref, info);
    }
    this.oldest?.follow(transaction.infos, this.meta);
    this.onWritten(transaction);
  }

  private async load(db: LevelDb, changes: readonly Change[]): Promise<Map<EntryRef, Info>> {
    const loaded = new Map<EntryRef, Info>();
    const wanted = new Set(changes.flatMap(({ refs }) => refs));
    const unknown = [...wanted].filter((ref) => this.infos.get(ref) === undefined);
    const load = async (ref: EntryRef) => {
      const info = await this.infoOf(db, ref);
      if (info !== undefined) loaded.set(ref, info);
    };
    for (let i = 0; i < unknown.length; i += 64) await Promise.all(unknown.slice(i, i + 64).map(load));
    return loaded;
  }

  /** Also of an entry that cannot be read, as far as there is anything left of it. */
  private async infoOf(db: LevelDb, ref: EntryRef): Promise<Info | undefined> {
    try {
      return (await loadEntry(db, ref))?.info;
    } catch (error) {
      if (!(error instanceof UnreadableEntry)) throw error;
      return (await remainsOf(db, ref, this.meta)).info;
    }
  }
}
