import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readLog } from "./log.js";
import { type Manifest, readManifest } from "./manifest.js";
import { checkTable, type TableDamage } from "./table-check.js";

/**
 * LevelDB opens a store whose CURRENT file is gone as a new one, drops what it cannot read of a log without a word, and
 * believes whatever is in a table. So its files are looked at before it is let near them: the small ones and the logs
 * wholly, the tables but for their large values, which have a checksum of ours.
 */
export interface Inspection {
  /** Whether there is anything of LevelDB's in the directory that could hold data. */
  readonly hasData: boolean;
  /**
   * Whether LevelDB could not find its way, or would take a wrong one: CURRENT or the MANIFEST is gone, damaged or older
   * than other files, or a table that it names is gone. The rest has not been looked at then.
   */
  readonly mustRebuild: boolean;
  /** Logs and tables that are damaged. LevelDB must not see them as they are. */
  readonly damagedLogs: readonly string[];
  readonly damagedTables: readonly DamagedTable[];
  /** The log that everything was written to since the store was opened is gone. */
  readonly isLogMissing: boolean;
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
  const manifest = await findManifest(directory, names);
  const isLogMissing = manifest !== undefined && lacksLog(manifest, names);
  if (manifest === undefined || !namesAllInUse(manifest, names, isLogMissing))
    return {
      hasData: names.length > 0,
      mustRebuild: names.length > 0,
      damagedLogs: [],
      damagedTables: [],
      isLogMissing,
    };
  const damagedLogs = await findDamagedLogs(directory, names, manifest);
  const damagedTables = await findDamagedTables(directory, names, manifest, checkEveryByte);
  return { hasData: true, mustRebuild: false, damagedLogs, damagedTables, isLogMissing };
}

/** The manifest that is in use; undefined when it is not known which that is, or it cannot be read. */
export async function findManifest(directory: string, names: readonly string[]): Promise<Manifest | undefined> {
  const current = names.includes("CURRENT") ? await readFile(join(directory, "CURRENT"), "latin1") : "";
  const name = /^(MANIFEST-\d+)\n$/.exec(current)?.[1];
  return name === undefined || !names.includes(name) ? undefined : readManifest(await readFile(join(directory, name)));
}

/** A manifest whose log is not there may be one that lacks its end. */
export function lacksLog({ logNumber }: Manifest, names: readonly string[]): boolean {
  return logNumber > 0 && !names.some((name) => Number(LOG_FILE.exec(name)?.[1]) === logNumber);
}

/**
 * Whether all tables that a manifest names are there and, if the log it names is not, nothing that it does not name: with
 * its end missing it would be one from before those files were made, and LevelDB would remove them.
 */
function namesAllInUse({ sizes, logNumber }: Manifest, names: readonly string[], isLogMissing: boolean): boolean {
  const tables = new Set(names.flatMap((name) => numberIn(TABLE_FILE, name)));
  const hasNewerLog = names.some((name) => numberIn(LOG_FILE, name).some((number) => number > logNumber));
  const hasOtherTables = [...tables].some((number) => !sizes.has(number));
  return [...sizes.keys()].every((number) => tables.has(number)) && !(isLogMissing && (hasNewerLog || hasOtherTables));
}

function numberIn(pattern: RegExp, name: string): number[] {
  const digits = pattern.exec(name)?.[1];
  return digits === undefined ? [] : [Number(digits)];
}

/** Of the logs in use: LevelDB removes others unseen. */
async function findDamagedLogs(directory: string, names: readonly string[], manifest: Manifest): Promise<string[]> {
  const damaged: string[] = [];
  for (const name of names)
    if (numberIn(LOG_FILE, name).some((number) => number >= manifest.logNumber))
      if (!readLog(await readFile(join(directory, name))).isIntact) damaged.push(name);
  return damaged;
}

/** Of the tables in use. */
async function findDamagedTables(
  directory: string,
  names: readonly string[],
  { sizes, lastSequence }: Manifest,
  checkEveryByte: boolean,
): Promise<DamagedTable[]> {
  const found: DamagedTable[] = [];
  for (const name of names) {
    const size = numberIn(TABLE_FILE, name).map((number) => sizes.get(number))[0];
    if (size === undefined) continue;
    const damage = checkTable(join(directory, name), { size, lastSequence }, checkEveryByte);
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

/** A log, and its number. */
export const LOG_FILE = /^(\d+)\.log$/;
