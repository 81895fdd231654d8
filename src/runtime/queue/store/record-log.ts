import type { Clock } from "#contract";
import type { Entry } from "#contract/operations";
import { Batch } from "#otlp";
import { DELETE_CHUNK_SIZE, walkDeadLetters } from "./dead-letter-access.js";
import { replacementOf } from "./format/entry.js";
import type { EntryRef, QueueStore, StoredEntry } from "./store.js";

interface RecordLogSettings {
  readonly createStore: () => QueueStore;
  /** False if no record was ever added. Then reading opens and creates nothing. */
  readonly exists: () => Promise<boolean>;
  readonly clock: Clock;
  /** Older records are removed; 0 means never. */
  readonly retentionMs: number;
  readonly maxRecords: number;
  /** Whether a record that is too old or above the limit may be removed; without it, all may. */
  readonly mayRemove?: ((record: never) => Promise<boolean>) | undefined;
}

export interface KeptRecord<T> {
  readonly ref: EntryRef;
  readonly id: string;
  readonly record: T;
}

const CLEANING_INTERVAL_MS = 60_000;

/** A record is stored in the head of an entry without payload, so that one read returns a page of records. */
type RecordEntry<T> = Entry & { readonly record: T };

/**
 * A log of records in the order they were added, kept in a store like those of the queues: as durable, as private, and
 * read again after a restart. The store is opened when it is first needed, because most agents run without any
 * operator's action. Records are only added, and removed by age and number.
 */
export class RecordLog<T extends { readonly at: number }> {
  private readonly settings: RecordLogSettings;
  private opening: Promise<QueueStore> | undefined;
  private cleanedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: RecordLogSettings) {
    this.settings = settings;
  }

  /** Resolves when the record is on disk. With an id, the record can be found by it. */
  async add(record: T, { id, batch = NO_PAYLOAD }: { id?: string; batch?: Batch } = {}): Promise<KeptRecord<T>> {
    const store = await this.open();
    await this.clean(store);
    const fields = { state: "failed", record, ...(id !== undefined && { id }) } as Partial<Entry>;
    const kept = await store.put({
      batch,
      pipeline: "",
      source: { receiver: "", transport: "" },
      enqueuedAt: record.at,
      generation: "",
      fields,
    });
    return toRecord(kept);
  }

  /** Adds a record of another log with its id and payload, unless it has been added before. */
  async adopt({ entry }: StoredEntry, batch: Batch): Promise<void> {
    const store = await this.open();
    if ((await store.find(entry.id)) === undefined) await store.put(replacementOf(entry, batch));
  }

  /** Overwrites a record in place. */
  async replace({ ref, id }: Pick<KeptRecord<T>, "ref" | "id">, record: T): Promise<void> {
    const store = await this.open();
    const stored = await store.find(id);
    if (stored?.ref === ref) await store.fail(ref, { ...stored.entry, record } as RecordEntry<T>);
  }

  async find(id: string): Promise<KeptRecord<T> | undefined> {
    const stored = await (await this.openIfExists())?.find(id);
    return stored && toRecord<T>(stored);
  }

  /** Returns the payload that was added with a record; undefined if there is no record with this id. */
  async payload(id: string): Promise<Batch | undefined> {
    const store = await this.openIfExists();
    const stored = await store?.find(id);
    return stored && (await store!.payload(stored.ref));
  }

  /** Removes records permanently before their retention ends. */
  async remove(ids: readonly string[]): Promise<void> {
    const { store, refs } = await this.refsOf(ids);
    await store?.delete(refs);
  }

  /** Removes records. Resolves when their data is no longer in the files. */
  async erase(ids: readonly string[]): Promise<void> {
    const { store, refs } = await this.refsOf(ids);
    await (store?.erase?.(refs) ?? store?.delete(refs));
  }

  /** Yields the records after a position, or all records. */
  async *walk(order: "oldest" | "newest", after?: EntryRef): AsyncGenerator<KeptRecord<T>> {
    const store = await this.openIfExists();
    if (store === undefined) return;
    for await (const stored of walkDeadLetters(store, order, after)) yield toRecord<T>(stored);
  }

  async close(): Promise<void> {
    const store = await this.opening?.catch(() => undefined);
    this.opening = undefined;
    await store?.close();
  }

  private async openIfExists(): Promise<QueueStore | undefined> {
    return this.opening !== undefined || (await this.settings.exists()) ? this.open() : undefined;
  }

  /** If opening fails, the next call tries again. */
  private open(): Promise<QueueStore> {
    this.opening ??= (async () => {
      const store = this.settings.createStore();
      await store.open();
      return store;
    })().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  private async clean(store: QueueStore): Promise<void> {
    const { clock, retentionMs, maxRecords } = this.settings;
    const now = clock.now();
    if (now - this.cleanedAt < CLEANING_INTERVAL_MS) return;
    this.cleanedAt = now;
    const isOld = ({ enqueuedAt }: Entry) => retentionMs > 0 && enqueuedAt + retentionMs <= now;
    for (let after: EntryRef | undefined; ; ) {
      const page = await store.failed(after, DELETE_CHUNK_SIZE, "oldest");
      const excess = store.stats.failed.entries - maxRecords;
      const due = page.filter(({ entry }, i) => i < excess || isOld(entry));
      await store.delete((await this.removable(due)).map(({ ref }) => ref));
      if (due.length < DELETE_CHUNK_SIZE) return;
      after = due.at(-1)!.ref;
    }
  }

  private async removable(due: readonly StoredEntry[]): Promise<readonly StoredEntry[]> {
    const { mayRemove } = this.settings;
    if (mayRemove === undefined) return due;
    const may = await Promise.all(due.map((stored) => mayRemove(toRecord<T>(stored).record as never)));
    return due.filter((_, i) => may[i]);
  }

  private async refsOf(ids: readonly string[]): Promise<{ store: QueueStore | undefined; refs: EntryRef[] }> {
    const store = await this.openIfExists();
    const found = await Promise.all(ids.map((id) => store?.find(id)));
    return { store, refs: found.flatMap((stored) => stored?.ref ?? []) };
  }
}

const NO_PAYLOAD = Batch.empty("logs");

function toRecord<T>({ ref, entry }: StoredEntry): KeptRecord<T> {
  return { ref, id: entry.id, record: (entry as RecordEntry<T>).record };
}

/** The ids of stores with records of operators start with this. */
export const RECORDS_PREFIX = "operators/";

export function isRecordsId(id: string): boolean {
  return id.startsWith(RECORDS_PREFIX);
}
