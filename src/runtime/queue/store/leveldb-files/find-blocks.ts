import { HEAD_OFFSET } from "../format/layout.js";
import {
  type BlockEntry,
  type BlockHandle,
  isBlockIntact,
  isKeyAfter,
  KEY_SUFFIX_BYTES,
  RESTART_INTERVAL,
  readBlockEntry,
  TRAILER_BYTES,
  VALUE_TYPE,
} from "./block.js";
import type { IndexEntry } from "./table.js";
import { ifIntact, VarintReader } from "./varint-reader.js";

/**
 * Finds the data blocks of a table whose index cannot be used. Blocks follow each other from the beginning of the file,
 * and the end of each is recognised by its structure and checksum. After a damaged block, the next one is searched byte
 * by byte. The keys may be out of order if a part of the table is misplaced.
 */
export function findBlocks(table: Buffer): IndexEntry[] {
  const found: IndexEntry[] = [];
  for (let at = 0; at < table.length; ) {
    const block = mayBeginAt(table, at) ? blockAt(table, at) : undefined;
    if (block !== undefined) found.push(block);
    at = block === undefined ? at + 1 : at + block.size + TRAILER_BYTES;
  }
  return found;
}

/** Returns the gaps between the found blocks. Each gap begins with a damaged block. */
export function gapsBetween(blocks: readonly IndexEntry[], end: number): BlockHandle[] {
  const gaps: BlockHandle[] = [];
  let from = 0;
  for (const { offset, size } of [...blocks, { offset: end, size: 0 }]) {
    if (offset - from > TRAILER_BYTES) gaps.push({ offset: from, size: offset - from - TRAILER_BYTES });
    from = offset + size + TRAILER_BYTES;
  }
  return gaps;
}

/** Whether a block may begin there: its first key shares no prefix, and is longer than the suffix that LevelDB adds. */
function mayBeginAt(table: Buffer, at: number): boolean {
  return table[at] === 0 && table[at + 1]! > KEY_SUFFIX_BYTES;
}

/** A key that sorts before all others. */
const MIN_KEY = Buffer.alloc(KEY_SUFFIX_BYTES);

function blockAt(table: Buffer, offset: number): IndexEntry | undefined {
  return ifIntact(() => {
    const reader = new VarintReader(table, offset);
    for (let key: Buffer | undefined, entries = 0; ; entries++) {
      const size = blockSizeIfEnd(table, offset, reader.position, entries);
      if (size !== undefined) return key === undefined ? undefined : { key, offset, size };
      const entry = readBlockEntry(reader, key);
      if (!isDataEntry(entry) || !isKeyAfter(entry[0], key ?? MIN_KEY)) return undefined;
      key = entry[0];
    }
  });
}

/** An index block has the same structure, but its values are too short to be ours. */
function isDataEntry([key, value]: BlockEntry): boolean {
  return (
    key.length > KEY_SUFFIX_BYTES &&
    key.at(-KEY_SUFFIX_BYTES)! <= VALUE_TYPE &&
    (value.length === 0 || value.length >= HEAD_OFFSET)
  );
}

/**
 * Returns the size of the block if its entries end here. After them come the positions of the complete keys and their
 * number.
 */
function blockSizeIfEnd(table: Buffer, start: number, at: number, entries: number): number | undefined {
  const restarts = Math.max(1, Math.ceil(entries / RESTART_INTERVAL));
  const end = at + 4 * restarts + 4;
  if (end + TRAILER_BYTES > table.length || table.readUInt32LE(at) !== 0) return undefined;
  if (table.readUInt32LE(end - 4) !== restarts) return undefined;
  return isBlockIntact(table.subarray(start, end + TRAILER_BYTES)) ? end - start : undefined;
}
