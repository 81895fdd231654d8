import { ZERO_AMOUNT } from "../amounts.js";
import { newIdTag } from "../new-entry.js";
import { type Amount, type EntryRef, StoreError } from "../store.js";
import { BOUND_UNSEALED_FORMAT, FORMAT, frame, unframe } from "./frame.js";
import { RANGES } from "./keys.js";

/**
 * What is known of the whole store; written with the commits, in the same step as what it counts. Entries behind `last`
 * came after it was written, and have to be counted.
 */
export interface Meta {
  readonly format: number;
  /** Names the store, for as long as it is there. */
  readonly store: string;
  /** Begins the ids of the entries that are put since the store was opened. */
  readonly tag: string;
  readonly exporter: string;
  /** Times it was written so far, and the last ref given out. */
  readonly commits: number;
  readonly last: EntryRef;
  /** No pending entry, and no failed one, is before these. */
  readonly head: EntryRef;
  readonly failedHead: EntryRef;
  readonly pending: Amount;
  readonly failed: Amount;
  /** Payloads that belong to a replayed entry. */
  readonly moved: number;
  readonly corrupt: number;
  /** Of all entries; a store that an older version has written has none until it is empty. */
  readonly refSum?: RefSum | undefined;
}

/** A sum of refs by which two sets of entries are told from each other. */
export type RefSum = number;

export const NO_REFS: RefSum = 0;

export function addRef(sum: RefSum, ref: EntryRef): RefSum {
  return (sum + mixRef(ref)) >>> 0;
}

export function subtractRef(sum: RefSum, ref: EntryRef): RefSum {
  return (sum - mixRef(ref)) >>> 0;
}

/** So that sums of different refs are different ones. */
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
  };
}

export function encodeMeta(meta: Meta): Uint8Array {
  return frame(RANGES.meta, 0, 0, meta, []);
}

/** Undefined when it cannot be read. */
export function decodeMeta(value: Uint8Array | undefined): Meta | undefined {
  return value === undefined ? undefined : (unframe(RANGES.meta, 0, 0, value)?.head as Meta | undefined);
}

/** Whether a newer version has written it. */
export function isNewerFormat(format: number): boolean {
  return format > BOUND_UNSEALED_FORMAT;
}

/** Rejects what a newer version has written. */
export function checkFormat(format: number, directory: string): void {
  if (!isNewerFormat(format)) return;
  throw new StoreError(
    "newer_version",
    `the queue in ${directory} was written by a newer version (format ${format}, this one reads up to ${BOUND_UNSEALED_FORMAT}): run that version, or move the directory aside and keep it; nothing was changed`,
  );
}
