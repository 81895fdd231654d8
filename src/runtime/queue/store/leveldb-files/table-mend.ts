import { open, readFile, rename, rm } from "node:fs/promises";
import { type BlockHandle, decodeBlock, isKeyAfter, TRAILER_BYTES } from "./block.js";
import { type KeyLimits, rescueBlock } from "./block-rescue.js";
import { findBlocks, gapsBetween } from "./find-blocks.js";
import type { ManifestTable } from "./manifest.js";
import { type IndexEntry, makeTableEnd, type TableLayout } from "./table.js";
import type { TableDamage } from "./table-check.js";

/**
 * Repairs a table so that LevelDB finds all intact data in it and nothing else. Blocks stay where they are, damaged
 * ones lose their damaged entries, and a new index names them. Hard links keep the original file. The file keeps the
 * length that LevelDB expects. Returns false if no block is left, or if the table has keys that it should not have,
 * because LevelDB ends the process in both cases.
 */
export async function mendTable(path: string, damage: TableDamage, expected: ManifestTable): Promise<boolean> {
  const mended = mendBytes(await readFile(path), expected, damage);
  if (mended === undefined) return false;
  await replaceFile(path, mended);
  return true;
}

function mendBytes(
  bytes: Buffer,
  expected: ManifestTable,
  { layout, blocks: damaged }: TableDamage,
): Buffer | undefined {
  const { size, smallest, largest } = expected;
  const found = layout === undefined ? rescueBlocks(bytes, largest) : rescueNamed(bytes, layout, damaged);
  const isOwn =
    found.every(({ key }) => !isKeyAfter(smallest, key)) && (layout !== undefined || areInOrder(bytes, found));
  if (found.length === 0 || !isOwn || (layout === undefined && isKeyAfter(found.at(-1)!.key, largest)))
    return undefined;
  const keepsFilter = layout?.hasIntactFilter === true;
  const from = keepsFilter ? layout.index.offset : endOfData(found);
  const end = makeTableEnd(found, from, size, keepsFilter ? layout.metaIndex : undefined);
  return end === undefined ? undefined : Buffer.concat([bytes.subarray(0, from), end]);
}

/** Rescues the blocks named by the index. */
function rescueNamed(bytes: Buffer, { blocks }: TableLayout, damaged: TableDamage["blocks"]): IndexEntry[] {
  return blocks.flatMap((block, i) =>
    damaged.has(block) ? rescueInPlace(bytes, block, { after: blocks[i - 1]?.key, upTo: block.key }) : block,
  );
}

/** Finds all intact blocks, and rescues intact entries between them. */
function rescueBlocks(bytes: Buffer, largest: Buffer): IndexEntry[] {
  const found = findBlocks(bytes);
  for (const gap of gapsBetween(found, bytes.length)) {
    const next = found.findIndex(({ offset }) => offset > gap.offset);
    const at = next < 0 ? found.length : next;
    // The index key of the next block is its last key, but rescued entries must be before its first.
    const limits = {
      after: found[at - 1]?.key,
      upTo: found[at] === undefined ? largest : firstKeyAt(bytes, found[at]),
    };
    const rescued = rescueInPlace(bytes, gap, limits).filter(({ key }) => !key.equals(limits.upTo));
    found.splice(at, 0, ...rescued);
  }
  return found;
}

function areInOrder(bytes: Buffer, blocks: readonly IndexEntry[]): boolean {
  return blocks.every((block, i) => i === 0 || isKeyAfter(firstKeyAt(bytes, block), blocks[i - 1]!.key));
}

function firstKeyAt(bytes: Buffer, { offset, size }: BlockHandle): Buffer {
  return decodeBlock(bytes.subarray(offset, offset + size + TRAILER_BYTES))[0]![0];
}

/** Writes the intact entries of a block in its place. */
function rescueInPlace(bytes: Buffer, { offset, size }: BlockHandle, limits: KeyLimits): IndexEntry[] {
  const rescued = rescueBlock(bytes.subarray(offset, offset + size), limits);
  if (rescued === undefined || rescued.bytes.length > size + TRAILER_BYTES) return [];
  rescued.bytes.copy(bytes, offset);
  return [{ key: rescued.key, offset, size: rescued.bytes.length - TRAILER_BYTES }];
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
