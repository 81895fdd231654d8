import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isLogIntact } from "./log.js";
import { readManifestTables } from "./manifest.js";
import { checkTable, type TableDamage } from "./table-check.js";

/**
 * LevelDB opens a store whose CURRENT file is gone as a new one, drops what it cannot read of a log without a word, and
 * believes whatever is in a table. So its files are looked at before it is let near them: the small ones and the logs
 * wholly, the tables but for their large values, which have a checksum of ours.
 */
export interface Inspection {
  /** Whether there is anything of LevelDB's in the directory that could hold data. */
  readonly hasData: boolean;
  /** Files that are damaged or that a missing one leaves useless; empty when all is well. */
  readonly damagedFiles: readonly string[];
  /** Whether LevelDB cannot find its way without a repair. */
  readonly needsRepair: boolean;
  /** Those of the damaged that are tables: LevelDB must not see them as they are, not even to repair the rest. */
  readonly damagedTables: readonly DamagedTable[];
}

export interface DamagedTable {
  readonly name: string;
  readonly damage: TableDamage;
  /** How long LevelDB expects the file to be. */
  readonly size: number | undefined;
}

/** With `checkEveryByte` all of it is compared with its checksums. */
export async function inspectDirectory(directory: string, checkEveryByte = false): Promise<Inspection> {
  const names = await dataFiles(directory);
  const current = names.includes("CURRENT") ? await readFile(join(directory, "CURRENT"), "latin1") : undefined;
  const manifest = current === undefined ? undefined : /^(MANIFEST-\d+)\n$/.exec(current)?.[1];
  const logs = names.filter((name) => name.endsWith(".log"));
  const damaged = await damagedLogs(directory, logs);
  const isManifestLost =
    manifest === undefined || !names.includes(manifest) || !(await isLogFileIntact(directory, manifest));
  const hasData = names.length > 0;
  if (hasData && isManifestLost) damaged.push(...names.filter((name) => /^(CURRENT|MANIFEST-)/.test(name)));
  const tables = await findDamagedTables(directory, names, isManifestLost ? undefined : manifest, checkEveryByte);
  damaged.push(...tables.map(({ name }) => name));
  return { hasData, damagedFiles: damaged, damagedTables: tables, needsRepair: hasData && isManifestLost };
}

/** Of the tables in use, as far as a manifest tells which those are. */
async function findDamagedTables(
  directory: string,
  names: readonly string[],
  manifest: string | undefined,
  checkEveryByte: boolean,
): Promise<DamagedTable[]> {
  const tablesInUse =
    manifest === undefined ? undefined : readManifestTables(await readFile(join(directory, manifest)));
  const found: DamagedTable[] = [];
  for (const name of names) {
    const number = TABLE_FILE.exec(name)?.[1];
    const size = tablesInUse?.sizes.get(Number(number));
    if (number === undefined || (tablesInUse !== undefined && size === undefined)) continue;
    const damage = checkTable(join(directory, name), { size, lastSequence: tablesInUse?.lastSequence }, checkEveryByte);
    if (damage !== undefined) found.push({ name, damage, size });
    // Others have their turn between two tables.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}

/** A table, and its number. LevelDB has called them by both names. */
export const TABLE_FILE = /^(\d+)\.(?:ldb|sst)$/;

/** LevelDB's files in a directory that hold data, as opposed to its lock and its diary. */
export async function dataFiles(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => OTHER_DATA_FILE.test(name) || TABLE_FILE.test(name));
}

const OTHER_DATA_FILE = /^(CURRENT|MANIFEST-\d+|\d+\.log)$/;

async function damagedLogs(directory: string, names: readonly string[]): Promise<string[]> {
  const intact = await Promise.all(names.map((name) => isLogFileIntact(directory, name)));
  return names.filter((_, i) => !intact[i]);
}

async function isLogFileIntact(directory: string, name: string): Promise<boolean> {
  return isLogIntact(await readFile(join(directory, name)));
}
