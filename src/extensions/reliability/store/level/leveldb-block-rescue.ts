import { isFrameWhole, keyIn } from "./frame.js";
import { type BlockEntry, INTERVAL, isBehind, KEY_SUFFIX, makeBlock, nextEntry } from "./leveldb-block.js";
import { ifWhole, Varints } from "./varints.js";

/**
 * A damaged block of data without what is damaged in it, with its trailer; undefined when nothing is left. Our values
 * tell by a checksum whether they are whole, and most of them what their key is.
 *
 * A mark of a deleted key tells nothing. If no value is to blame for the damage it may be a mark, and a wrong one could
 * hide an entry; then all marks go: what they hid is sent again, which is better than lost.
 */
export function rescueBlock(damaged: Buffer): Buffer | undefined {
  const read = readEntries(damaged);
  const rescued = read.map(rescueEntry);
  const isExplained = rescued.some((entry, i) => entry === undefined || !entry[0].equals(read[i]![0]));
  const kept: BlockEntry[] = [];
  for (const entry of rescued) {
    if (entry === undefined || (entry[1].length === 0 && !isExplained)) continue;
    const before = kept.at(-1);
    if (before === undefined || isBehind(entry[0], before[0])) kept.push(entry);
  }
  return kept.length === 0 ? undefined : makeBlock(kept, INTERVAL);
}

/** As far as they can be told from each other. */
function readEntries(block: Buffer): BlockEntry[] {
  const entries: BlockEntry[] = [];
  const numbers = new Varints(block);
  for (;;) {
    const entry = ifWhole(() => nextEntry(numbers, entries.at(-1)?.[0]));
    if (entry === undefined || entry[0].length <= KEY_SUFFIX) return entries;
    entries.push(entry);
  }
}

const VALUE = 1;
const REMAINS = "q".charCodeAt(0);

function rescueEntry([key, value]: BlockEntry): BlockEntry | undefined {
  if (value.length === 0) return key.at(-KEY_SUFFIX) === VALUE ? undefined : [key, value];
  if (key[0] === REMAINS) return [key, value];
  if (!isFrameWhole(value)) return undefined;
  const suffix = Buffer.from(key.subarray(-KEY_SUFFIX));
  suffix[0] = VALUE;
  return [Buffer.concat([keyIn(value) ?? key.subarray(0, -KEY_SUFFIX), suffix]), value];
}
