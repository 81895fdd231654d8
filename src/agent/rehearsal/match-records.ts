import type { Signal } from "#otlp/signals";
import { SliceTimer } from "#work";
import { identityKeys, type OutputRecord } from "./output-records.js";

/** A record before and after the change of the config. */
export interface ChangedRecord {
  readonly before: OutputRecord;
  readonly after: OutputRecord;
}

/** Which records of two outputs are the same ones. Every record is in exactly one of these. */
export interface Matching {
  readonly unchanged: number;
  readonly changed: readonly ChangedRecord[];
  readonly gone: readonly OutputRecord[];
  readonly added: readonly OutputRecord[];
}

/**
 * Finds out which records of two outputs are the same ones: first those that are equal in every byte, then by their
 * identity. Nothing is added to records in order to recognise them, because that would change what processors do.
 */
export async function matchRecords(
  signal: Signal,
  before: readonly OutputRecord[],
  after: readonly OutputRecord[],
  slices = new SliceTimer(),
): Promise<Matching> {
  const equal = await matchBy(({ hash }) => hash, before, after, slices);
  const changed: ChangedRecord[] = [];
  let { gone, added } = equal;
  for (const keyOf of identityKeys(signal)) {
    const found = await matchBy(keyOf, gone, added, slices);
    for (const pair of found.matched) changed.push(pair);
    ({ gone, added } = found);
  }
  return { unchanged: equal.matched.length, changed, gone, added };
}

interface Matched {
  readonly matched: ChangedRecord[];
  readonly gone: OutputRecord[];
  readonly added: OutputRecord[];
}

/** Records with the same key are matched in their order. */
async function matchBy(
  keyOf: (record: OutputRecord) => number,
  before: readonly OutputRecord[],
  after: readonly OutputRecord[],
  slices: SliceTimer,
): Promise<Matched> {
  if (before.length === 0 || after.length === 0) return { matched: [], gone: [...before], added: [...after] };
  const waiting = new Map<number, { readonly records: OutputRecord[]; next: number }>();
  for (const record of after) {
    if (slices.isOver) await slices.nextSlice();
    const key = keyOf(record);
    const known = waiting.get(key);
    if (known === undefined) waiting.set(key, { records: [record], next: 0 });
    else known.records.push(record);
  }
  const matched: ChangedRecord[] = [];
  const gone: OutputRecord[] = [];
  const taken = new Set<OutputRecord>();
  for (const record of before) {
    if (slices.isOver) await slices.nextSlice();
    const alike = waiting.get(keyOf(record));
    const partner = alike?.records[alike.next];
    if (alike === undefined || partner === undefined) gone.push(record);
    else {
      alike.next += 1;
      taken.add(partner);
      matched.push({ before: record, after: partner });
    }
  }
  return { matched, gone, added: after.filter((record) => !taken.has(record)) };
}
