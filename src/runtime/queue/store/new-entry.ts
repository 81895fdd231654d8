import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import type { NewEntry } from "./store.js";

/** Creates the stored entry of a new one: pending and without history, unless its fields say otherwise. */
export function createEntry(fresh: NewEntry, id: string, exporter: string): Entry {
  return {
    state: "pending",
    attempts: 0,
    calls: 0,
    history: [],
    cycles: [],
    replays: 0,
    ...fresh.fields,
    id,
    exporter,
    pipeline: fresh.pipeline,
    signal: fresh.batch.signal,
    items: fresh.batch.count,
    bytes: fresh.batch.byteLength,
    enqueuedAt: fresh.enqueuedAt,
    source: fresh.source,
    generation: fresh.generation,
  };
}

/** The same entry with another payload. */
export function replacementOf(entry: Entry, batch: Batch): NewEntry {
  const { pipeline, source, enqueuedAt, generation, ...fields } = entry;
  return { batch, pipeline, source, enqueuedAt, generation, fields };
}
