import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isLogWhole } from "./leveldb-log.js";
import { tablesIn } from "./leveldb-manifest.js";
import { isTableUsable } from "./leveldb-table.js";

/**
 * LevelDB opens a store whose CURRENT file is gone as a new one, and drops what it cannot read of a log without a word.
 * So its small files are read before it is let near them. Of table files only what LevelDB needs to find its way in
 * them: every value in them has a checksum of ours.
 */
export interface Inspection {
  /** Whether there is anything of LevelDB's in the directory that could hold data. */
  readonly hasData: boolean;
  /** Files that are damaged or that a missing one leaves useless; empty when all is well. */
  readonly damaged: readonly string[];
  /** Whether LevelDB cannot find its way without a repair. */
  readonly needsRepair: boolean;
  /** Those of the damaged that LevelDB must not see, not even to repair the rest. */
  readonly unusable: readonly string[];
}

export async function inspect(directory: string): Promise<Inspection> {
  const names = (await readdir(directory)).filter((name) => DATA_FILE.test(name));
  const current = names.includes("CURRENT") ? await readFile(join(directory, "CURRENT"), "latin1") : undefined;
  const manifest = current === undefined ? undefined : /^(MANIFEST-\d+)\n$/.exec(current)?.[1];
  const logs = names.filter((name) => name.endsWith(".log"));
  const damaged = await notWhole(directory, logs);
  const lost = manifest === undefined || !names.includes(manifest) || !(await isWhole(directory, manifest));
  const hasData = names.length > 0;
  if (hasData && lost) damaged.push(...names.filter((name) => /^(CURRENT|MANIFEST-)/.test(name)));
  const unusable = await unusableTables(directory, names, lost ? undefined : manifest);
  damaged.push(...unusable);
  return { hasData, damaged, unusable, needsRepair: hasData && (lost || unusable.length > 0) };
}

/** Of the tables in use, as far as a manifest tells which those are. */
async function unusableTables(
  directory: string,
  names: readonly string[],
  manifest: string | undefined,
): Promise<string[]> {
  const inUse = manifest === undefined ? undefined : tablesIn(await readFile(join(directory, manifest)));
  const found: string[] = [];
  for (const name of names) {
    const number = /^(\d+)\.(?:ldb|sst)$/.exec(name)?.[1];
    if (number === undefined || (inUse !== undefined && !inUse.has(Number(number)))) continue;
    if (!(await isTableUsable(join(directory, name)))) found.push(name);
  }
  return found;
}

/** LevelDB's files that hold data, as opposed to its lock and its diary. */
export const DATA_FILE = /^(CURRENT|MANIFEST-\d+|\d+\.(log|ldb|sst))$/;

async function notWhole(directory: string, names: readonly string[]): Promise<string[]> {
  const whole = await Promise.all(names.map((name) => isWhole(directory, name)));
  return names.filter((_, i) => !whole[i]);
}

async function isWhole(directory: string, name: string): Promise<boolean> {
  return isLogWhole(await readFile(join(directory, name)));
}
