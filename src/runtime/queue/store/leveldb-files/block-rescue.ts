import { isFrameIntact, keyOfValue } from "../format/frame.js";
import { RANGES, rangeOf } from "../format/keys.js";
import {
  type BlockEntry,
  isKeyAfter,
  KEY_SUFFIX_BYTES,
  makeBlock,
  RESTART_INTERVAL,
  readBlockEntry,
  VALUE_TYPE,
} from "./block.js";
import { ifIntact, VarintReader } from "./varint-reader.js";

/** Keys that a block may hold: LevelDB ends the process over one that is out of order. */
export interface KeyLimits {
  /** Behind this one, if there is a block before. */
  readonly after: Buffer | undefined;
  readonly upTo: Buffer;
}

/** A damaged block of data without what is damaged in it, and its last key; undefined when nothing is left. */
export function rescueBlock(damaged: Buffer, { after, upTo }: KeyLimits): { bytes: Buffer; key: Buffer } | undefined {
  const kept = rescueEntries(damaged).filter(
    ([key]) => (after === undefined || isKeyAfter(key, after)) && !isKeyAfter(key, upTo),
  );
  return kept.length === 0 ? undefined : { bytes: makeBlock(kept, RESTART_INTERVAL), key: kept.at(-1)![0] };
}

/**
 * What is whole in a damaged block of data. Our values tell by a checksum whether they are whole, and most of them what
 * their key is.
 *
 * A mark of a deleted key tells nothing. If no value is to blame for the damage it may be a mark, and a wrong one could
 * hide an entry; then all marks go: what they hid is sent again, which is better than lost.
 */
export function rescueEntries(damaged: Buffer): BlockEntry[] {
  const read = readEntries(damaged);
  const rescued = read.map(rescueEntry);
  const isDamageInValue = rescued.some((entry, i) => entry === undefined || !entry[0].equals(read[i]![0]));
  const kept: BlockEntry[] = [];
  for (const entry of rescued) {
    if (entry === undefined || (entry[1].length === 0 && !isDamageInValue)) continue;
    const previous = kept.at(-1);
    if (previous === undefined || isKeyAfter(entry[0], previous[0])) kept.push(entry);
  }
  return kept;
}

/** The entries of a damaged block, as far as they can be told from each other. */
function readEntries(block: Buffer): BlockEntry[] {
  const entries: BlockEntry[] = [];
  const reader = new VarintReader(block);
  for (;;) {
    const entry = ifIntact(() => readBlockEntry(reader, entries.at(-1)?.[0]));
    if (entry === undefined || entry[0].length <= KEY_SUFFIX_BYTES) return entries;
    entries.push(entry);
  }
}

function rescueEntry([key, value]: BlockEntry): BlockEntry | undefined {
  if (value.length === 0) return key.at(-KEY_SUFFIX_BYTES) === VALUE_TYPE ? undefined : [key, value];
  if (rangeOf(key) === RANGES.quarantine) return [key, value];
  if (!isFrameIntact(value)) return undefined;
  const suffix = Buffer.from(key.subarray(-KEY_SUFFIX_BYTES));
  suffix[0] = VALUE_TYPE;
  return [Buffer.concat([keyOfValue(value) ?? key.subarray(0, -KEY_SUFFIX_BYTES), suffix]), value];
}
