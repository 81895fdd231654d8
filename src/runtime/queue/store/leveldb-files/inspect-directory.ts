import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { META_KEY } from "../format/keys.js";
import { areInOrder, type CheckedLog, checkLogs } from "./log-check.js";
import { type Manifest, type ManifestTable, readManifest } from "./manifest.js";
import { checkTable, damagedKeys, holdsOwnKeys, sequenceOfKey, type TableDamage } from "./table-check.js";

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
   * than other files, a table that it names is gone or has another's content, or the logs are in the wrong order.
   */
  readonly mustRebuild: boolean;
  /** The logs in use, or all when it is not known which are. LevelDB must not see damaged ones as they are. */
  readonly logs: readonly CheckedLog[];
  /** A number that the tables have, and no change in a log must. */
  readonly tableSequence: number;
  readonly damagedTables: readonly DamagedTable[];
  /** The log that everything was written to since the store was opened is gone. */
  readonly isLogMissing: boolean;
}

export interface DamagedTable {
  readonly name: string;
  readonly damage: TableDamage;
  /** What the MANIFEST says of it. */
  readonly expected: ManifestTable;
  /** Where something was hit: stretches of keys, both ends included. */
  readonly keys: readonly { readonly from: Buffer; readonly to: Buffer }[];
}

/** With `checkEveryByte` all of it is compared with its checksums. */
export async function inspectDirectory(directory: string, checkEveryByte = false): Promise<Inspection> {
  const names = await dataFiles(directory);
  const manifest = await findManifest(directory, names);
  const isLogMissing = manifest !== undefined && lacksLog(manifest, names);
  if (
    manifest === undefined ||
    !namesAllInUse(manifest, names, isLogMissing) ||
    !holdAllOwnKeys(directory, names, manifest)
  )
    return {
      hasData: names.length > 0,
      mustRebuild: names.length > 0,
      logs: checkLogs(directory, logsFrom(names, 0)),
      tableSequence: 0,
      damagedTables: [],
      isLogMissing,
    };
  const damagedTables = await findDamagedTables(directory, names, manifest, checkEveryByte);
  const tableSequence = greatestMetaSequence(directory, names, manifest);
  // LevelDB removes other logs unseen.
  const logs = checkLogs(directory, logsFrom(names, manifest.logNumber), tableSequence);
  return { hasData: true, mustRebuild: !areInOrder(logs), logs, tableSequence, damagedTables, isLogMissing };
}

function logsFrom(names: readonly string[], first: number): string[] {
  return names.filter((name) => numberIn(LOG_FILE, name).some((number) => number >= first));
}

/** Whether every table that can be read has keys that the MANIFEST says it has. */
function holdAllOwnKeys(directory: string, names: readonly string[], { tables }: Manifest): boolean {
  return names.every((name) => {
    const table = numberIn(TABLE_FILE, name).map((number) => tables.get(number))[0];
    return table === undefined || holdsOwnKeys(join(directory, name), table);
  });
}

/** The counters are written again and again, so what is newest of them in the tables is older than all in the logs. */
function greatestMetaSequence(directory: string, names: readonly string[], { tables }: Manifest): number {
  const found = names.map((name) => {
    const table = numberIn(TABLE_FILE, name).map((number) => tables.get(number))[0];
    return table === undefined ? 0 : sequenceOfKey(join(directory, name), table, META_KEY);
  });
  return Math.max(0, ...found);
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
function namesAllInUse(
  { tables: named, logNumber }: Manifest,
  names: readonly string[],
  isLogMissing: boolean,
): boolean {
  const tables = new Set(names.flatMap((name) => numberIn(TABLE_FILE, name)));
  const hasNewerLog = names.some((name) => numberIn(LOG_FILE, name).some((number) => number > logNumber));
  const hasOtherTables = [...tables].some((number) => !named.has(number));
  return [...named.keys()].every((number) => tables.has(number)) && !(isLogMissing && (hasNewerLog || hasOtherTables));
}

function numberIn(pattern: RegExp, name: string): number[] {
  const digits = pattern.exec(name)?.[1];
  return digits === undefined ? [] : [Number(digits)];
}

/** Of the tables in use. */
async function findDamagedTables(
  directory: string,
  names: readonly string[],
  { tables, lastSequence }: Manifest,
  checkEveryByte: boolean,
): Promise<DamagedTable[]> {
  const found: DamagedTable[] = [];
  for (const name of names) {
    const table = numberIn(TABLE_FILE, name).map((number) => tables.get(number))[0];
    if (table === undefined) continue;
    const damage = checkTable(join(directory, name), { size: table.size, lastSequence }, checkEveryByte);
    if (damage !== undefined) found.push({ name, damage, expected: table, keys: damagedKeys(damage, table) });
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
