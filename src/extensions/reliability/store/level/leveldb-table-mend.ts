import { open, readFile, rename, rm } from "node:fs/promises";
import { TRAILER } from "./leveldb-block.js";
import { rescueBlock } from "./leveldb-block-rescue.js";
import { blocksByForm } from "./leveldb-blocks-by-form.js";
import { type IndexEntry, tableEnd } from "./leveldb-table.js";
import type { TableDamage } from "./leveldb-table-check.js";

/**
 * Makes a table such that LevelDB finds all that is whole in it, and nothing else: the blocks stay where they are,
 * those that are damaged without what is damaged in them, and a new index names them. Whoever had the file by another name still has it as it was. The file is as long as
 * LevelDB expects it to be; false when that is too little for any table.
 */
export async function mendTable(path: string, damage: TableDamage, expectedSize?: number): Promise<boolean> {
  const bytes = await readFile(path);
  const size = expectedSize ?? bytes.length;
  const mended = mend(bytes, size, damage) ?? emptyTable(size);
  if (mended === undefined) return false;
  await replaceFile(path, mended);
  return true;
}

function mend(bytes: Buffer, size: number, { map, blocks: damaged }: TableDamage): Buffer | undefined {
  const blocks = map?.blocks.flatMap((block) => (damaged.has(block) ? rescueIn(bytes, block) : block));
  const found = blocks ?? blocksByForm(bytes);
  const keepsFilter = map?.hasFilter === true;
  const from = keepsFilter ? map.index.offset : endOfData(found);
  const end = tableEnd(found, from, size, keepsFilter ? map.meta : undefined);
  return end === undefined ? undefined : Buffer.concat([bytes.subarray(0, from), end]);
}

/** Puts what is whole of a block in its place. */
function rescueIn(bytes: Buffer, block: IndexEntry): IndexEntry[] {
  const { offset, size } = block;
  const rescued = rescueBlock(bytes.subarray(offset, offset + size));
  if (rescued === undefined || rescued.length > size + TRAILER) return [];
  rescued.copy(bytes, offset);
  return [{ ...block, size: rescued.length - TRAILER }];
}

function endOfData(blocks: readonly IndexEntry[]): number {
  return blocks.reduce((end, { offset, size }) => Math.max(end, offset + size + TRAILER), 0);
}

function emptyTable(size: number): Buffer | undefined {
  return tableEnd([], 0, size);
}

async function replaceFile(path: string, bytes: Buffer): Promise<void> {
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  const file = await open(fresh, "wx");
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
}
