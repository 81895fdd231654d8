import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { keyOfValue } from "../format/layout.js";
import {
  asBuffer,
  type BlockEntry,
  decodeBlock,
  isBlockIntact,
  isKeyAfter,
  KEY_SUFFIX_BYTES,
  TRAILER_BYTES,
  VALUE_TYPE,
} from "./block.js";
import type { ManifestTable } from "./manifest.js";
import { type IndexEntry, readBytes, readTableLayout, type TableLayout } from "./table.js";
import { ifIntact, VarintReader } from "./varint-reader.js";

/** The damage of a table: its layout, if footer and index are intact, and the damaged blocks. */
export interface TableDamage {
  readonly layout: TableLayout | undefined;
  readonly blocks: ReadonlySet<IndexEntry>;
}

/**
 * Looks for damage in a table before LevelDB reads it, because LevelDB does not verify checksums. A key out of order
 * ends the process at the next compaction, and therefore at every start. A damaged filter, or a key that looks deleted,
 * hides entries.
 *
 * The whole table is compared with its checksums, except for large values whose key is correct: the value contains its
 * key, and its own checksum is verified when it is used. With `checkEveryByte` nothing is left out.
 *
 * Reads synchronously, a few megabytes in total, because awaiting so many small reads would take ten times as long.
 */
export function checkTable(path: string, expected: TableExpectation, checkEveryByte: boolean): TableDamage | undefined {
  const file = openSync(path, "r");
  try {
    const layout = readTableLayout(file, expected.size ?? fstatSync(file).size);
    if (layout === undefined) return { layout, blocks: new Set() };
    const blocks = new Set(damagedBlocks(file, layout, expected.lastSequence, checkEveryByte));
    return blocks.size === 0 && layout.hasIntactFilter ? undefined : { layout, blocks };
  } finally {
    closeSync(file);
  }
}

/** Returns the keys that may be in damaged blocks: those after the last key of the previous block. */
export function damagedKeys(
  { layout, blocks: damaged }: TableDamage,
  { smallest, largest }: ManifestTable,
): { from: Buffer; to: Buffer }[] {
  if (layout === undefined) return [{ from: userKey(smallest), to: userKey(largest) }];
  return layout.blocks.flatMap((block, i) => {
    const from = layout.blocks[i - 1]?.key ?? smallest;
    return damaged.has(block) ? [{ from: userKey(from), to: userKey(block.key) }] : [];
  });
}

/** The table's properties in the MANIFEST; undefined if not known. */
interface TableExpectation {
  readonly size: number | undefined;
  /** No change in the table has a greater sequence number. */
  readonly lastSequence: number | undefined;
}

/**
 * Whether the first and last keys of a table are within the range it should have, so that it is not another table. Also
 * true for a damaged table; damage is found elsewhere.
 */
export function hasExpectedKeys(path: string, { size, smallest, largest }: ManifestTable): boolean {
  const isBetween = (key: Buffer | undefined) =>
    key === undefined || (!isKeyAfter(smallest, key) && !isKeyAfter(key, largest));
  const ends = withBlocks(path, size, ({ blocks }, read) => [
    read(blocks[0]!)[0]?.[0],
    read(blocks.at(-1)!).at(-1)?.[0],
  ]);
  return ends === undefined || ends.every(isBetween);
}

/** Returns the sequence number of the newest value of a key in a table; 0 if there is none or it cannot be read. */
export function sequenceOfKey(path: string, { size, smallest, largest }: ManifestTable, key: Buffer): number {
  if (userKey(smallest).compare(key) > 0 || userKey(largest).compare(key) < 0) return 0;
  const found = withBlocks(path, size, ({ blocks }, read) => {
    const block = blocks.find((each) => userKey(each.key).compare(key) >= 0);
    return block === undefined ? [] : read(block).filter(([each]) => userKey(each).equals(key));
  });
  return Math.max(0, ...(found ?? []).map(([each]) => each.readUIntLE(each.length - KEY_SUFFIX_BYTES + 1, 6)));
}

/** Runs `work` on the blocks of a table. Returns undefined if the table is damaged there. */
function withBlocks<T>(
  path: string,
  size: number,
  work: (layout: TableLayout, read: (block: IndexEntry) => BlockEntry[]) => T,
): T | undefined {
  const file = openSync(path, "r");
  try {
    const layout = readTableLayout(file, size);
    if (layout === undefined || layout.blocks.length === 0) return undefined;
    return ifIntact(() =>
      work(layout, ({ offset, size: length }) => {
        const bytes = readBytes(file, offset, length + TRAILER_BYTES);
        if (!isBlockIntact(bytes)) throw new RangeError("checksum");
        return decodeBlock(bytes).filter(([key]) => key.length >= KEY_SUFFIX_BYTES);
      }),
    );
  } finally {
    closeSync(file);
  }
}

function userKey(key: Buffer): Buffer {
  return key.subarray(0, -KEY_SUFFIX_BYTES);
}

const SMALL_BLOCK_BYTES = 8 * 1024;
/** Adjacent blocks to be compared are read together, up to this many bytes. */
const MAX_READ_BYTES = 512 * 1024;

function* damagedBlocks(
  file: number,
  { blocks }: TableLayout,
  lastSequence: number | undefined,
  checkEveryByte: boolean,
): Generator<IndexEntry> {
  const toCompare: IndexEntry[] = [];
  const borders = new BorderReader(file);
  for (const block of blocks)
    if (
      checkEveryByte ||
      block.size < SMALL_BLOCK_BYTES ||
      ifIntact(() => isSingleValueIntact(borders, block, lastSequence)) !== true
    )
      toCompare.push(block);
  for (const run of adjacentBlocks(toCompare)) {
    const start = run[0]!.offset;
    const bytes = readScratch(file, start, endOfBlock(run.at(-1)!) - start);
    for (const block of run)
      if (!isBlockIntact(bytes.subarray(block.offset - start, endOfBlock(block) - start))) yield block;
  }
}

/**
 * Reads into the same memory each time, except for larger blocks, because allocating would take longer than reading.
 * The result is valid until the next call.
 */
function readScratch(file: number, at: number, length: number): Buffer {
  if (length > MAX_READ_BYTES) return readBytes(file, at, length);
  scratch ??= Buffer.allocUnsafeSlow(MAX_READ_BYTES);
  if (readSync(file, scratch, 0, length, at) < length) throw new RangeError("too short");
  return scratch.subarray(0, length);
}

let scratch: Buffer | undefined;

/** Groups adjacent blocks that can be read together. */
function* adjacentBlocks(blocks: readonly IndexEntry[]): Generator<IndexEntry[]> {
  let run: IndexEntry[] = [];
  for (const block of blocks) {
    const first = run[0];
    if (
      first !== undefined &&
      (block.offset !== endOfBlock(run.at(-1)!) || endOfBlock(block) - first.offset > MAX_READ_BYTES)
    ) {
      yield run;
      run = [];
    }
    run.push(block);
  }
  if (run.length > 0) yield run;
}

function endOfBlock({ offset, size }: IndexEntry): number {
  return offset + size + TRAILER_BYTES;
}

/** Whether a block consists of a single value and everything around the value is correct. */
function isSingleValueIntact(
  borders: BorderReader,
  { offset, size }: IndexEntry,
  lastSequence = Number.MAX_SAFE_INTEGER,
): boolean {
  const reader = new VarintReader(borders.bytesAt(offset, BLOCK_START_BYTES));
  const [shared, keyLength, valueLength] = [reader.next(), reader.next(), reader.next()];
  if (shared !== 0 || reader.position + keyLength + valueLength + 8 !== size) return false;
  const key = asBuffer(reader.take(keyLength));
  if (!isValueKey(key, lastSequence)) return false;
  if (keyOfValue(asBuffer(reader.rest()))?.equals(key.subarray(0, -KEY_SUFFIX_BYTES)) !== true) return false;
  return SINGLE_ENTRY_END.equals(borders.bytesAt(offset + size - 8, SINGLE_ENTRY_END.length));
}

/** Enough of a block for its first key and the beginning of the value. */
const BLOCK_START_BYTES = 128;

/**
 * Reads the ends of a file's blocks. The next block begins where one ends, so reading an end also reads the beginning
 * of the next: one read per block. The result is valid until the next call.
 */
class BorderReader {
  private readonly file: number;
  private readonly bytes = Buffer.alloc(SINGLE_ENTRY_END.length + TRAILER_BYTES + BLOCK_START_BYTES);
  private from = 0;
  private length = 0;

  constructor(file: number) {
    this.file = file;
  }

  /** Throws a RangeError if the file does not have that many bytes there. */
  bytesAt(at: number, length: number): Buffer {
    if (at < this.from || at + length > this.from + this.length) {
      this.from = at;
      this.length = readSync(this.file, this.bytes, 0, this.bytes.length, at);
      if (this.length < length) throw new RangeError("too short");
    }
    return this.bytes.subarray(at - this.from, at - this.from + length);
  }
}

/** The end of a block with a single entry: one restart, at offset 0, and the type byte for "not compressed". */
const SINGLE_ENTRY_END = Buffer.from([0, 0, 0, 0, 1, 0, 0, 0, 0]);

function isValueKey(key: Buffer, lastSequence: number): boolean {
  const suffix = key.subarray(-KEY_SUFFIX_BYTES);
  return suffix[0] === VALUE_TYPE && suffix.readUIntLE(1, 6) <= lastSequence && suffix[7] === 0;
}
