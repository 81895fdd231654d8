import { open, readFile, rename, rm } from "node:fs/promises";
import { TRAILER_BYTES } from "./block.js";
import { rescueBlock } from "./block-rescue.js";
import { findBlocks } from "./find-blocks.js";
import { type IndexEntry, makeTableEnd } from "./table.js";
import type { TableDamage } from "./table-check.js";

/**
 * Makes a table such that LevelDB finds all that is whole in it, and nothing else: the blocks stay where they are,
 * those that are damaged without what is damaged in them, and a new index names them. Whoever had the file by another
 * name still has it as it was. The file is as long as LevelDB expects it to be. False when nothing is left to name: LevelDB
 * ends the process over a table without blocks.
 */
export async function mendTable(path: string, damage: TableDamage, expectedSize?: number): Promise<boolean> {
  const bytes = await readFile(path);
  const size = expectedSize ?? bytes.length;
  const mended = mendBytes(bytes, size, damage);
  if (mended === undefined) return false;
  await replaceFile(path, mended);
  return true;
}

function mendBytes(bytes: Buffer, size: number, { layout, blocks: damaged }: TableDamage): Buffer | undefined {
  const blocks = layout?.blocks.flatMap((block) => (damaged.has(block) ? rescueInPlace(bytes, block) : block));
  const found = blocks ?? findBlocks(bytes);
  if (found.length === 0) return undefined;
  const keepsFilter = layout?.hasIntactFilter === true;
  const from = keepsFilter ? layout.index.offset : endOfData(found);
  const end = makeTableEnd(found, from, size, keepsFilter ? layout.metaIndex : undefined);
  return end === undefined ? undefined : Buffer.concat([bytes.subarray(0, from), end]);
}

/** Puts what is whole of a block in its place. */
function rescueInPlace(bytes: Buffer, block: IndexEntry): IndexEntry[] {
  const { offset, size } = block;
  const rescued = rescueBlock(bytes.subarray(offset, offset + size));
  if (rescued === undefined || rescued.length > size + TRAILER_BYTES) return [];
  rescued.copy(bytes, offset);
  return [{ ...block, size: rescued.length - TRAILER_BYTES }];
}

function endOfData(blocks: readonly IndexEntry[]): number {
  return blocks.reduce((end, { offset, size }) => Math.max(end, offset + size + TRAILER_BYTES), 0);
}

async function replaceFile(path: string, bytes: Buffer): Promise<void> {
  const temporaryPath = `${path}.new`;
  await rm(temporaryPath, { force: true });
  const file = await open(temporaryPath, "wx");
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(temporaryPath, path);
}
