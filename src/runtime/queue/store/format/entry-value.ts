import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import type { EntryRef, NewEntry } from "../store.js";
import { sequenceOfId } from "./entry-id.js";

/** The head of p, u and f values. */
export interface EntryHead {
  readonly entry: Entry;
  /** Number of payload chunks in addition to the first, which is in the p value of its origin. */
  readonly chunks: number;
  /** For a replayed entry: the ref where the payload is stored. */
  readonly origin?: EntryRef;
}

/** The properties of an entry that are needed to change or remove it. */
export interface EntryInfo {
  readonly id: string;
  readonly state: "pending" | "failed";
  readonly items: number;
  readonly bytes: number;
  readonly enqueuedAt: number;
  readonly chunks: number;
  readonly origin: EntryRef;
  /** Whether there is a u value. */
  readonly changed: boolean;
}

export function infoOf(ref: EntryRef, head: EntryHead, changed: boolean): EntryInfo {
  const { id, items, bytes, enqueuedAt } = head.entry;
  const state = head.entry.state === "failed" ? "failed" : "pending";
  return { id, state, items, bytes, enqueuedAt, chunks: head.chunks, origin: head.origin ?? ref, changed };
}

/** Whether an entry is in this state, as far as a store distinguishes them. */
export function hasState(entry: Entry, state: Entry["state"]): boolean {
  return (entry.state === "failed") === (state === "failed");
}

export function headOf(ref: EntryRef, entry: Entry, info: Pick<EntryInfo, "chunks" | "origin">): EntryHead {
  return { entry, chunks: info.chunks, ...(info.origin === ref ? {} : { origin: info.origin }) };
}

/** Whether an id needs an index entry, because it was not made from this ref. */
export function isIndexed(id: string, ref: EntryRef): boolean {
  return sequenceOfId(id) !== ref;
}

/** Payload bytes in one value: small enough for LevelDB to move around, large enough to be rare. */
const MAX_CHUNK_BYTES = 256 * 1024;

/** Splits a payload into chunks of at most MAX_CHUNK_BYTES, each a list of byte arrays. */
export function chunksOf(batch: Batch): Uint8Array[][] {
  if (batch.byteLength <= MAX_CHUNK_BYTES) return [[...batch.chunks]];
  const bytes = batch.bytes;
  const count = Math.ceil(bytes.length / MAX_CHUNK_BYTES);
  return Array.from({ length: count }, (_, i) => [bytes.subarray(i * MAX_CHUNK_BYTES, (i + 1) * MAX_CHUNK_BYTES)]);
}

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
