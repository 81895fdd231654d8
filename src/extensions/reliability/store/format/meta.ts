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
  };
}

export function encodeMeta(meta: Meta): Uint8Array {
  return frame(RANGES.meta, 0, 0, meta, []);
}

/** Undefined when it cannot be read. */
export function decodeMeta(value: Uint8Array | undefined): Meta | undefined {
  return value === undefined ? undefined : (unframe(RANGES.meta, 0, 0, value)?.head as Meta | undefined);
}

/** Rejects what a newer version has written. */
export function checkFormat(format: number, directory: string): void {
  if (format <= BOUND_UNSEALED_FORMAT) return;
  throw new StoreError(
    "newer_version",
    `the queue in ${directory} was written by a newer version (format ${format}, this one reads up to ${BOUND_UNSEALED_FORMAT}): run that version, or set another directory; nothing was changed`,
  );
}
