import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { keyIn } from "./frame.js";
import { bufferOf, isBlockWhole, KEY_SUFFIX, TRAILER } from "./leveldb-block.js";
import { bytesAt, type IndexEntry, mapTable, type TableMap } from "./leveldb-table.js";
import { ifWhole, Varints } from "./varints.js";

/** What is wrong with a table: how one finds one's way in it, as far as that is whole, and the blocks that are damaged. */
export interface TableDamage {
  readonly map: TableMap | undefined;
  readonly blocks: ReadonlySet<IndexEntry>;
}

/**
 * Looks for damage in a table, before LevelDB does: it believes what it reads without looking at checksums. A key that
 * is out of order ends the process at the next compaction, and so at every start; a damaged filter, or a key that looks
 * as if it was deleted, makes entries invisible.
 *
 * All of a table is compared with its checksums but large values, if the key that LevelDB reads is right: the value says
 * what its key must be, and has a checksum of ours, which is compared when it is used. With `all` nothing is left out.
 *
 * Reads at once what it reads, a few megabytes: so many small reads would take ten times as long if each was waited for.
 */
export function checkTable(path: string, expected: TableExpectation, all: boolean): TableDamage | undefined {
  const file = openSync(path, "r");
  try {
    const map = mapTable(file, expected.size ?? fstatSync(file).size);
    if (map === undefined) return { map, blocks: new Set() };
    const blocks = new Set(damagedBlocks(file, map, expected.lastSequence, all));
    return blocks.size === 0 && map.hasFilter ? undefined : { map, blocks };
  } finally {
    closeSync(file);
  }
}

/** What the MANIFEST says; undefined what is not known. */
export interface TableExpectation {
  readonly size: number | undefined;
  /** Nothing in the table was written later. */
  readonly lastSequence: number | undefined;
}

const SMALL = 8 * 1024;
/** As much is read at once, if it is all to be compared. */
const RUN = 512 * 1024;

function* damagedBlocks(
  file: number,
  { blocks }: TableMap,
  lastSequence: number | undefined,
  all: boolean,
): Generator<IndexEntry> {
  const whole: IndexEntry[] = [];
  for (const block of blocks)
    if (all || block.size < SMALL || ifWhole(() => isKeyRight(file, block, lastSequence)) !== true) whole.push(block);
  for (const run of runs(whole)) {
    const start = run[0]!.offset;
    const bytes = bytesAt(file, start, endOf(run.at(-1)!) - start);
    for (const block of run) if (!isBlockWhole(bytes.subarray(block.offset - start, endOf(block) - start))) yield block;
  }
}

/** Blocks that lie side by side, so many that one read gets them all. */
function* runs(blocks: readonly IndexEntry[]): Generator<IndexEntry[]> {
  let run: IndexEntry[] = [];
  for (const block of blocks) {
    const first = run[0];
    if (first !== undefined && (block.offset !== endOf(run.at(-1)!) || endOf(block) - first.offset > RUN)) {
      yield run;
      run = [];
    }
    run.push(block);
  }
  if (run.length > 0) yield run;
}

function endOf({ offset, size }: IndexEntry): number {
  return offset + size + TRAILER;
}

/** Whether a block is one value, and everything around it is as it must be. */
function isKeyRight(file: number, { offset, size }: IndexEntry, lastSequence = Number.MAX_SAFE_INTEGER): boolean {
  readSync(file, end, 0, end.length, offset + size - 8);
  if (!end.equals(ONE_WHOLE_KEY)) return false;
  readSync(file, beginning, 0, beginning.length, offset);
  const head = new Varints(beginning);
  const [shared, keyLength, valueLength] = [head.next(), head.next(), head.next()];
  if (shared !== 0 || head.position + keyLength + valueLength + 8 !== size) return false;
  const key = bufferOf(head.take(keyLength));
  return isValueUpTo(key, lastSequence) && keyIn(bufferOf(head.rest()))?.equals(key.subarray(0, -KEY_SUFFIX)) === true;
}

/** Enough of a block for its first key and the beginning of the value; and its end. Used again for every block. */
const beginning = Buffer.alloc(128);
const end = Buffer.alloc(9);

/** The end of a block with one entry: its key is whole, at 0; one such place; not compressed. */
const ONE_WHOLE_KEY = Buffer.from([0, 0, 0, 0, 1, 0, 0, 0, 0]);

function isValueUpTo(key: Buffer, lastSequence: number): boolean {
  const suffix = key.subarray(-KEY_SUFFIX);
  return suffix[0] === 1 && suffix.readUIntLE(1, 6) <= lastSequence && suffix[7] === 0;
}
