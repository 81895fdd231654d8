import { readSync } from "node:fs";
import {
  type BlockEntry,
  type BlockHandle,
  decodeBlock,
  encodeHandle,
  isBlockIntact,
  MAX_BLOCK_BYTES,
  makeBlock,
  readHandle,
  TRAILER_BYTES,
} from "./block.js";
import { ifIntact, VarintReader } from "./varint-reader.js";

/**
 * The layout of a table file: data blocks, a filter that tells which keys are not in it, a block that names the filter,
 * an index with the last key of every block, and a footer of fixed size with the positions of the last two.
 */
export interface TableLayout {
  /** The data blocks in order, each with a key that is not before its last one. */
  readonly blocks: readonly IndexEntry[];
  readonly index: BlockHandle;
  readonly metaIndex: BlockHandle;
  /** Whether the filter and the block that names it are intact. */
  readonly hasIntactFilter: boolean;
}

export interface IndexEntry extends BlockHandle {
  readonly key: Buffer;
}

/** Reads the positions of a table's blocks; undefined if its footer or index is damaged. */
export function readTableLayout(file: number, fileSize: number): TableLayout | undefined {
  return ifIntact(() => {
    const footer = readBytes(file, fileSize - FOOTER_BYTES, FOOTER_BYTES);
    if (!footer.subarray(FOOTER_BYTES - MAGIC.length).equals(MAGIC)) throw new RangeError("not a table");
    const handles = new VarintReader(footer);
    const [metaIndex, index] = [readHandle(handles), readHandle(handles)];
    const blocks = readBlockEntries(file, fileSize, index).map(([key, value]) => ({
      key,
      ...readHandle(new VarintReader(value)),
    }));
    if (blocks.some(({ offset, size }) => offset + size + TRAILER_BYTES > fileSize)) throw new RangeError("outside");
    return { blocks, index, metaIndex, hasIntactFilter: isFilterIntact(file, fileSize, metaIndex) };
  });
}

/**
 * Returns the end of a table from an offset on: an index of these blocks, and a footer where LevelDB expects it. An
 * empty meta index is written if none is given. Undefined if there is not enough room.
 */
export function makeTableEnd(
  blocks: readonly IndexEntry[],
  from: number,
  fileSize: number,
  metaIndex?: BlockHandle,
): Buffer | undefined {
  const end = Buffer.alloc(Math.max(0, fileSize - from));
  const emptyMetaIndex = metaIndex === undefined ? makeBlock([]) : Buffer.alloc(0);
  const index = makeBlock(blocks.map((block) => [block.key, encodeHandle(block)]));
  if (emptyMetaIndex.length + index.length + FOOTER_BYTES > end.length) return undefined;
  emptyMetaIndex.copy(end);
  index.copy(end, emptyMetaIndex.length);
  const metaIndexHandle = metaIndex ?? { offset: from, size: emptyMetaIndex.length - TRAILER_BYTES };
  const indexHandle = { offset: from + emptyMetaIndex.length, size: index.length - TRAILER_BYTES };
  Buffer.concat([encodeHandle(metaIndexHandle), encodeHandle(indexHandle)]).copy(end, end.length - FOOTER_BYTES);
  MAGIC.copy(end, end.length - MAGIC.length);
  return end;
}

/** Reads bytes of a file. Throws a RangeError if it does not have that many. */
export function readBytes(file: number, at: number, length: number): Buffer {
  if (at < 0) throw new RangeError("too short");
  const bytes = Buffer.allocUnsafeSlow(length);
  if (readSync(file, bytes, 0, length, at) < length) throw new RangeError("too short");
  return bytes;
}

const FOOTER_BYTES = 48;
const MAGIC = Buffer.from("57fb808b247547db", "hex");

/** Throws a RangeError if the block is damaged. */
function readBlockEntries(file: number, fileSize: number, handle: BlockHandle): BlockEntry[] {
  return decodeBlock(readBlock(file, fileSize, handle));
}

function readBlock(file: number, fileSize: number, { offset, size }: BlockHandle): Buffer {
  if (size > MAX_BLOCK_BYTES || offset + size + TRAILER_BYTES > fileSize) throw new RangeError("outside of the file");
  const bytes = readBytes(file, offset, size + TRAILER_BYTES);
  if (!isBlockIntact(bytes)) throw new RangeError("checksum");
  return bytes;
}

function isFilterIntact(file: number, fileSize: number, metaIndex: BlockHandle): boolean {
  const filters = ifIntact(() =>
    readBlockEntries(file, fileSize, metaIndex).map(([, value]) =>
      readBlock(file, fileSize, readHandle(new VarintReader(value))),
    ),
  );
  return filters !== undefined;
}
