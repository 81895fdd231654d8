import type { Batch } from "#otlp";
import { createEntry, entryId, newIdTag } from "./format/entry.js";
import {
  type EntryRef,
  type ExchangedEntries,
  type NewEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreExchange,
  type StoreStats,
  ZERO_AMOUNT,
} from "./store.js";

/** Takes everything and keeps nothing, for measuring and testing the code above a store. */
export class NoopStore implements QueueStore {
  private readonly exporter: string;
  private readonly tag = newIdTag();
  private lastRef = 0;

  readonly stats: StoreStats = {
    pending: ZERO_AMOUNT,
    failed: ZERO_AMOUNT,
    oldestPendingAt: undefined,
    oldestFailedAt: undefined,
    corrupt: 0,
  };

  constructor(settings: { readonly exporter: string }) {
    this.exporter = settings.exporter;
  }

  async open(): Promise<OpenReport> {
    return { isNew: true, lostEntries: 0, corruptEntries: 0, setAside: undefined };
  }

  async close(): Promise<void> {}

  async put(fresh: NewEntry): Promise<StoredEntry> {
    const ref = ++this.lastRef;
    return { ref, entry: createEntry(fresh, fresh.fields?.id ?? entryId(this.tag, ref), this.exporter) };
  }

  ack(): void {}
  update(): void {}
  async fail(): Promise<void> {}

  async replace(_ref: EntryRef, replacements: readonly NewEntry[]): Promise<StoredEntry[]> {
    return Promise.all(replacements.map((replacement) => this.put(replacement)));
  }

  async exchange({ added }: StoreExchange): Promise<ExchangedEntries> {
    return { stored: await Promise.all(added.map((fresh) => this.put(fresh))), note: undefined };
  }

  async replay(): Promise<StoredEntry[]> {
    return [];
  }

  async delete(): Promise<void> {}

  async pending(): Promise<StoredEntry[]> {
    return [];
  }

  async failed(): Promise<StoredEntry[]> {
    return [];
  }

  async find(): Promise<undefined> {
    return undefined;
  }

  async payload(ref: EntryRef): Promise<Batch> {
    throw new StoreError("not_found", `there is no entry ${ref}: this store keeps nothing`);
  }
}
