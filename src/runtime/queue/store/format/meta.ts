import { type Amount, type EntryRef, StoreError, ZERO_AMOUNT } from "../store.js";
import { newIdTag } from "./entry-id.js";
import { BOUND_UNSEALED_FORMAT, FORMAT, frame, unframe } from "./frame.js";
import { RANGES } from "./keys.js";

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
