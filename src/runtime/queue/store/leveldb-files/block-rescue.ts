import { isFrameIntact, keyOfValue, RANGES, rangeOf } from "../format/layout.js";
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

/** Limits for the keys of a block. LevelDB ends the process if keys are out of order. */
export interface KeyLimits {
  /** Keys must be after this one, if there is an earlier block. */
  readonly after: Buffer | undefined;
  readonly upTo: Buffer;
}

/** Returns a damaged data block without its damaged entries, and its last key; undefined if nothing is left. */
export function rescueBlock(damaged: Buffer, { after, upTo }: KeyLimits): { bytes: Buffer; key: Buffer } | undefined {
  const kept = rescueEntries(damaged).filter(
    ([key]) => (after === undefined || isKeyAfter(key, after)) && !isKeyAfter(key, upTo),
  );
  return kept.length === 0 ? undefined : { bytes: makeBlock(kept, RESTART_INTERVAL), key: kept.at(-1)![0] };
}

/**
 * Returns the intact entries of a damaged data block. Our values have a checksum, and most of them contain their key.
 *
 * A deletion mark has no checksum. If no value explains the damage, a mark may be damaged, and a wrong one could hide
 * an entry. Then all marks are dropped: the entries they hid are sent again, which is better than losing some.
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

/** Reads the entries of a damaged block, as far as their boundaries can be found. */
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
