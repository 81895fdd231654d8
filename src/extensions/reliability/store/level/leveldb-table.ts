import { readSync } from "node:fs";
import {
  type BlockEntry,
  entriesOf,
  type Handle,
  handleBytes,
  handleIn,
  isBlockWhole,
  makeBlock,
  TRAILER,
} from "./leveldb-block.js";
import { ifWhole, Varints } from "./varints.js";

/**
 * A table file is its blocks of data, a filter that tells what is not in it, a block that names the filter, an index
 * with the last key of every block, and a footer of fixed size that says where the last two are.
 */
export interface TableMap {
  /** The blocks of data in their order, and for each a key that is not before its last one. */
  readonly blocks: readonly IndexEntry[];
  readonly index: Handle;
  readonly meta: Handle;
  /** Whether the filter and what names it are whole. */
  readonly hasFilter: boolean;
}

export interface IndexEntry extends Handle {
  readonly key: Buffer;
}

/** How to find one's way in a table; undefined when its footer or index is damaged. */
export function mapTable(file: number, fileSize: number): TableMap | undefined {
  return ifWhole(() => {
    const footer = bytesAt(file, fileSize - FOOTER, FOOTER);
    if (!footer.subarray(FOOTER - MAGIC.length).equals(MAGIC)) throw new RangeError("not a table");
    const handles = new Varints(footer);
    const [meta, index] = [handleIn(handles), handleIn(handles)];
    const blocks = entriesIn(file, fileSize, index).map(([key, value]) => ({ key, ...handleIn(new Varints(value)) }));
    if (blocks.some(({ offset, size }) => offset + size + TRAILER > fileSize)) throw new RangeError("outside");
    return { blocks, index, meta, hasFilter: isFilterWhole(file, fileSize, meta) };
  });
}

/**
 * The end of a table from an offset on: an index of these blocks, and a footer where LevelDB looks for it. A new empty
 * `meta` is written when there is none. Undefined when there is no room for it.
 */
export function tableEnd(
  blocks: readonly IndexEntry[],
  from: number,
  fileSize: number,
  meta?: Handle,
): Buffer | undefined {
  const end = Buffer.alloc(Math.max(0, fileSize - from));
  const noFilter = meta === undefined ? makeBlock([]) : Buffer.alloc(0);
  const index = makeBlock(blocks.map((block) => [block.key, handleBytes(block)]));
  if (noFilter.length + index.length + FOOTER > end.length) return undefined;
  noFilter.copy(end);
  index.copy(end, noFilter.length);
  const metaHandle = meta ?? { offset: from, size: noFilter.length - TRAILER };
  const indexHandle = { offset: from + noFilter.length, size: index.length - TRAILER };
  Buffer.concat([handleBytes(metaHandle), handleBytes(indexHandle)]).copy(end, end.length - FOOTER);
  MAGIC.copy(end, end.length - MAGIC.length);
  return end;
}

/** Some bytes of a file; throws a RangeError when it has not so many. */
export function bytesAt(file: number, at: number, length: number): Buffer {
  if (at < 0) throw new RangeError("too short");
  const bytes = Buffer.allocUnsafeSlow(length);
  if (readSync(file, bytes, 0, length, at) < length) throw new RangeError("too short");
  return bytes;
}

const FOOTER = 48;
const MAGIC = Buffer.from("57fb808b247547db", "hex");
const LARGEST_BLOCK = 64 * 1024 * 1024;

/** Throws a RangeError when the block is damaged. One that is compressed was written by others, and shows nothing. */
function entriesIn(file: number, fileSize: number, handle: Handle): BlockEntry[] {
  const block = wholeBlock(file, fileSize, handle);
  return block[handle.size] === 0 ? entriesOf(block.subarray(0, handle.size)) : [];
}

function wholeBlock(file: number, fileSize: number, { offset, size }: Handle): Buffer {
  if (size > LARGEST_BLOCK || offset + size + TRAILER > fileSize) throw new RangeError("outside of the file");
  const bytes = bytesAt(file, offset, size + TRAILER);
  if (!isBlockWhole(bytes)) throw new RangeError("checksum");
  return bytes;
}

function isFilterWhole(file: number, fileSize: number, meta: Handle): boolean {
  const filters = ifWhole(() =>
    entriesIn(file, fileSize, meta).map(([, value]) => wholeBlock(file, fileSize, handleIn(new Varints(value)))),
  );
  return filters !== undefined;
}
