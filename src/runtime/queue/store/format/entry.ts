import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import { type Amount, type EntryRef, type NewEntry, StoreError, ZERO_AMOUNT } from "../store.js";
import { BOUND_UNSEALED_FORMAT, FORMAT, frame, RANGES, unframe } from "./layout.js";

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

/**
 * Counters and positions of the whole store, written in the same write as the changes they count. Entries after `last`
 * were added later and have to be counted.
 */
export interface Meta {
  readonly format: number;
  /** Identifies the store for its lifetime. */
  readonly store: string;
  /** Prefix of the ids of entries added since the store was opened. */
  readonly tag: string;
  readonly exporter: string;
  /** Number of commits so far, and the last ref assigned. */
  readonly commits: number;
  readonly last: EntryRef;
  /** No pending entry is before `head`, and no failed one before `failedHead`. */
  readonly head: EntryRef;
  readonly failedHead: EntryRef;
  readonly pending: Amount;
  readonly failed: Amount;
  /** Number of payloads that belong to a replayed entry. */
  readonly moved: number;
  readonly corrupt: number;
  /** Checksum over the refs of all entries. A store written by an older version has none until it is empty. */
  readonly refSum?: RefSum | undefined;
  /**
   * Whether no dead letter can have been overwritten by an earlier update of its entry. Older versions did not order
   * these changes.
   */
  readonly hasOrderedChanges?: boolean | undefined;
}

/** Returns `amount` with one entry more (1) or less (-1). */
export function adjustAmount(amount: Amount, entry: Pick<Entry, "items" | "bytes">, sign: 1 | -1): Amount {
  return {
    entries: amount.entries + sign,
    items: amount.items + sign * entry.items,
    bytes: amount.bytes + sign * entry.bytes,
  };
}

/** Returns an amount without a part of it; never less than zero. */
export function subtractAmount(all: Amount, part: Amount): Amount {
  if (all.entries <= part.entries) return ZERO_AMOUNT;
  return {
    entries: all.entries - part.entries,
    items: Math.max(0, all.items - part.items),
    bytes: Math.max(0, all.bytes - part.bytes),
  };
}

/** An order-independent checksum that distinguishes sets of entries. */
export type RefSum = number;

export const NO_REFS: RefSum = 0;

export function addRef(sum: RefSum, ref: EntryRef): RefSum {
  return (sum + mixRef(ref)) >>> 0;
}

export function subtractRef(sum: RefSum, ref: EntryRef): RefSum {
  return (sum - mixRef(ref)) >>> 0;
}

/** Mixes the bits, so that different sets of refs have different sums. */
function mixRef(ref: EntryRef): number {
  let mixed = Math.imul(ref ^ (ref >>> 16) ^ (ref / 2 ** 32), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export function newMeta(exporter: string): Meta {
  const tag = newIdTag();
  return {
    format: FORMAT,
    store: tag,
    tag,
    exporter,
    commits: 0,
    last: 0,
    head: 1,
    failedHead: 1,
    pending: ZERO_AMOUNT,
    failed: ZERO_AMOUNT,
    moved: 0,
    corrupt: 0,
    refSum: NO_REFS,
    hasOrderedChanges: true,
  };
}

export function encodeMeta(meta: Meta): Uint8Array {
  return frame(RANGES.meta, 0, 0, meta, []);
}

/** Returns undefined if the value cannot be read. */
export function decodeMeta(value: Uint8Array | undefined): Meta | undefined {
  return value === undefined ? undefined : (unframe(RANGES.meta, 0, 0, value)?.head as Meta | undefined);
}

/** Whether a newer version wrote the format. */
export function isNewerFormat(format: number): boolean {
  return format > BOUND_UNSEALED_FORMAT;
}

/** Throws a `StoreError` if a newer version wrote the store. */
export function checkFormat(format: number, directory: string): void {
  if (!isNewerFormat(format)) return;
  throw new StoreError(
    "newer_version",
    `the queue in ${directory} was written by a newer version (format ${format}, this one reads up to ${BOUND_UNSEALED_FORMAT}): run that version, or move the directory away and keep it; nothing was changed`,
  );
}

/** The counters of a store, with the entries in each state or only their number. */
interface Counters {
  readonly commits: number;
  readonly last: number;
  readonly pending: number | { readonly entries: number };
  readonly failed: number | { readonly entries: number };
}

/** Number of refs that were assigned and belong to no entry any more. It never decreases. */
export function removedBy(counters: Counters): number {
  return counters.last - entriesIn(counters);
}

export function entriesIn({ pending, failed }: Counters): number {
  const count = (amount: number | { readonly entries: number }) =>
    typeof amount === "number" ? amount : amount.entries;
  return count(pending) + count(failed);
}

/** Whether `one` was written after `other`. */
export function isNewer(one: Counters | undefined, other: Counters | undefined): boolean {
  if (one === undefined || other === undefined) return one !== undefined;
  return one.commits > other.commits || (one.commits === other.commits && one.last > other.last);
}

/** Returns a permanent entry id. A sequence number is never used twice under the same tag. */
export function entryId(tag: string, sequence: number): string {
  return `${tag}-${sequence}`;
}

/** Returns the sequence number of an id; undefined if the id has another form. */
export function sequenceOfId(id: string): number | undefined {
  const digits = /-(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Returns a random prefix for a store's entry ids, so that no two stores create the same id. */
export function newIdTag(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
