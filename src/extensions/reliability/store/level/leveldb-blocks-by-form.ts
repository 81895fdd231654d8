import { HEAD_AT } from "./frame.js";
import { type BlockEntry, INTERVAL, isBehind, isBlockWhole, KEY_SUFFIX, nextEntry, TRAILER } from "./leveldb-block.js";
import type { IndexEntry } from "./leveldb-table.js";
import { ifWhole, Varints } from "./varints.js";

/**
 * The blocks of data in a table whose index cannot be used. They lie one behind the other from the beginning, and each
 * tells by its form and its checksum where it ends; behind a damaged one the next is looked for byte by byte.
 */
export function blocksByForm(table: Buffer): IndexEntry[] {
  const found: IndexEntry[] = [];
  for (let at = 0; at < table.length; ) {
    const block = table[at] === 0 ? blockAt(table, at, found.at(-1)?.key) : undefined;
    if (block !== undefined) found.push(block);
    at = block === undefined ? at + 1 : at + block.size + TRAILER;
  }
  return found;
}

/** Before all keys. */
const NOTHING = Buffer.alloc(KEY_SUFFIX);

function blockAt(table: Buffer, offset: number, before: Buffer | undefined): IndexEntry | undefined {
  return ifWhole(() => {
    const numbers = new Varints(table, offset);
    for (let key: Buffer | undefined, entries = 0; ; entries++) {
      const size = sizeIfEnd(table, offset, numbers.position, entries);
      if (size !== undefined) return key === undefined ? undefined : { key, offset, size };
      const entry = nextEntry(numbers, key);
      if (!isData(entry) || !isBehind(entry[0], key ?? before ?? NOTHING)) return undefined;
      key = entry[0];
    }
  });
}

/** An index has the same form, but its values are too short for ours. */
function isData([key, value]: BlockEntry): boolean {
  return key.length > KEY_SUFFIX && key.at(-KEY_SUFFIX)! <= 1 && (value.length === 0 || value.length >= HEAD_AT);
}

/** The size of the block if its entries end here; behind them are the places where keys are whole, and their number. */
function sizeIfEnd(table: Buffer, start: number, at: number, entries: number): number | undefined {
  const restarts = Math.max(1, Math.ceil(entries / INTERVAL));
  const end = at + 4 * restarts + 4;
  if (end + TRAILER > table.length || table.readUInt32LE(at) !== 0) return undefined;
  if (table.readUInt32LE(end - 4) !== restarts) return undefined;
  return isBlockWhole(table.subarray(start, end + TRAILER)) ? end - start : undefined;
}
