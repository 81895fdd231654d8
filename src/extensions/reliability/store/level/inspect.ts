import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isLogWhole } from "./leveldb-log.js";
import { tablesIn } from "./leveldb-manifest.js";
import { checkTable, type TableDamage } from "./leveldb-table-check.js";
import { readWitness } from "./witness.js";

/**
 * LevelDB opens a store whose CURRENT file is gone as a new one, drops what it cannot read of a log without a word, and
 * believes whatever is in a table. So its files are looked at before it is let near them: the small ones and the logs
 * wholly, the tables but for their large values, which have a checksum of ours.
 */
export interface Inspection {
  /** Whether there is anything of LevelDB's in the directory that could hold data. */
  readonly hasData: boolean;
  /** Files that are damaged or that a missing one leaves useless; empty when all is well. */
  readonly damaged: readonly string[];
  /** Whether LevelDB cannot find its way without a repair. */
  readonly needsRepair: boolean;
  /** Those of the damaged that are tables: LevelDB must not see them as they are, not even to repair the rest. */
  readonly tables: readonly DamagedTable[];
}

export interface DamagedTable {
  readonly name: string;
  readonly damage: TableDamage;
  /** How long LevelDB expects the file to be. */
  readonly size: number | undefined;
}

/** With `all` every byte is compared with its checksum. */
export async function inspect(directory: string, all = false): Promise<Inspection> {
  const names = (await readdir(directory)).filter((name) => DATA_FILE.test(name));
  const current = names.includes("CURRENT") ? await readFile(join(directory, "CURRENT"), "latin1") : undefined;
  const manifest = current === undefined ? undefined : /^(MANIFEST-\d+)\n$/.exec(current)?.[1];
  const logs = names.filter((name) => name.endsWith(".log"));
  const damaged = await notWhole(directory, logs);
  const lost = manifest === undefined || !names.includes(manifest) || !(await isWhole(directory, manifest));
  const hasData = names.length > 0;
  if (hasData && lost) damaged.push(...names.filter((name) => /^(CURRENT|MANIFEST-)/.test(name)));
  const tables = await damagedTables(directory, names, lost ? undefined : manifest, all);
  damaged.push(...tables.map(({ name }) => name));
  return { hasData, damaged, tables, needsRepair: hasData && lost };
}

/** Of the tables in use, as far as a manifest tells which those are. */
async function damagedTables(
  directory: string,
  names: readonly string[],
  manifest: string | undefined,
  all: boolean,
): Promise<DamagedTable[]> {
  const known = manifest === undefined ? undefined : tablesIn(await readFile(join(directory, manifest)));
  const found: DamagedTable[] = [];
  for (const name of names) {
    const number = /^(\d+)\.(?:ldb|sst)$/.exec(name)?.[1];
    const size = known?.sizes.get(Number(number));
    if (number === undefined || (known !== undefined && size === undefined)) continue;
    const damage = checkTable(join(directory, name), { size, lastSequence: known?.lastSequence }, all);
    if (damage !== undefined) found.push({ name, damage, size });
    // Others have their turn between two tables.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}

/** Whether there is, or was, a store in a directory. */
export async function isStore(directory: string): Promise<boolean> {
  if ((await readdir(directory)).some((name) => DATA_FILE.test(name))) return true;
  return (await readWitness(directory)) !== "missing";
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
