import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { META_KEY } from "../format/layout.js";
import { dataFiles, LOG_FILE, TABLE_FILE } from "./data-files.js";
import { areInOrder, type CheckedLog, checkLogs } from "./log-check.js";
import { type Manifest, type ManifestTable, readManifest } from "./manifest.js";
import { checkTable, damagedKeys, hasExpectedKeys, sequenceOfKey, type TableDamage } from "./table-check.js";

/**
 * The result of checking LevelDB's files before it opens them. LevelDB opens a store without a CURRENT file as a new
 * one, silently drops unreadable parts of a log, and trusts everything in a table. So small files and logs are checked
 * completely, and tables except for their large values, which have our own checksum.
 */
export interface Inspection {
  /** Whether the directory has any LevelDB files that could hold data. */
  readonly hasData: boolean;
  /**
   * Whether LevelDB could not open the store, or would open a wrong state: CURRENT or the MANIFEST is missing, damaged
   * or older than other files; a table it names is missing or has the content of another; or the logs are in the wrong
   * order.
   */
  readonly mustRebuild: boolean;
  /** The logs in use, or all logs if that is not known. Damaged ones must be repaired before LevelDB reads them. */
  readonly logs: readonly CheckedLog[];
  /** A sequence number found in the tables. No change in a log may have it. */
  readonly tableSequence: number;
  readonly damagedTables: readonly DamagedTable[];
  /** Whether the log with everything written since the store was opened is missing. */
  readonly isLogMissing: boolean;
}

interface DamagedTable {
  readonly name: string;
  readonly damage: TableDamage;
  /** The table's properties in the MANIFEST. */
  readonly expected: ManifestTable;
  /** Damaged key ranges, both ends included. */
  readonly keys: readonly { readonly from: Buffer; readonly to: Buffer }[];
}

/** With `checkEveryByte`, all data is compared with its checksums. */
export async function inspectDirectory(directory: string, checkEveryByte = false): Promise<Inspection> {
  const names = await dataFiles(directory);
  const manifest = await findManifest(directory, names);
  const isLogMissing = manifest !== undefined && lacksLog(manifest, names);
  if (
    manifest === undefined ||
    !namesAllFiles(manifest, names, isLogMissing) ||
    !haveExpectedKeys(directory, names, manifest)
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
  // LevelDB deletes other logs without reading them.
  const logs = checkLogs(directory, logsFrom(names, manifest.logNumber), tableSequence);
  return { hasData: true, mustRebuild: !areInOrder(logs), logs, tableSequence, damagedTables, isLogMissing };
}

function logsFrom(names: readonly string[], first: number): string[] {
  return names.filter((name) => numberIn(LOG_FILE, name).some((number) => number >= first));
}

/** Whether every readable table has keys that are listed for it in the MANIFEST. */
function haveExpectedKeys(directory: string, names: readonly string[], { tables }: Manifest): boolean {
  return names.every((name) => {
    const table = numberIn(TABLE_FILE, name).map((number) => tables.get(number))[0];
    return table === undefined || hasExpectedKeys(join(directory, name), table);
  });
}

/**
 * The counters are written again and again, so their newest version in the tables is older than all those in the logs.
 */
function greatestMetaSequence(directory: string, names: readonly string[], { tables }: Manifest): number {
  const found = names.map((name) => {
    const table = numberIn(TABLE_FILE, name).map((number) => tables.get(number))[0];
    return table === undefined ? 0 : sequenceOfKey(join(directory, name), table, META_KEY);
  });
  return Math.max(0, ...found);
}

/** Returns the MANIFEST in use; undefined if it is not known which one that is, or if it cannot be read. */
async function findManifest(directory: string, names: readonly string[]): Promise<Manifest | undefined> {
  const current = names.includes("CURRENT") ? await readFile(join(directory, "CURRENT"), "latin1") : "";
  const name = /^(MANIFEST-\d+)\n$/.exec(current)?.[1];
  return name === undefined || !names.includes(name) ? undefined : readManifest(await readFile(join(directory, name)));
}

/** Whether the MANIFEST's log is missing. Then the end of the MANIFEST may be missing too. */
function lacksLog({ logNumber }: Manifest, names: readonly string[]): boolean {
  return logNumber > 0 && !names.some((name) => Number(LOG_FILE.exec(name)?.[1]) === logNumber);
}

/**
 * Whether all tables named by a MANIFEST exist. If its log is missing, there must also be no files that it does not
 * name: a MANIFEST with a missing end would be older than those files, and LevelDB would delete them.
 */
function namesAllFiles(
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

/** Checks the tables in use. */
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
    // Yields to other work between two tables.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}

/**
 * Finds tables that the MANIFEST does not name. LevelDB had written them for a merge when the disk became full. It
 * removes them after opening, but on a full disk it can be opened only after they are gone. If the MANIFEST is not
 * intact, none are returned.
 */
async function orphanedTables(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  const manifest = await findManifest(directory, names);
  if (manifest === undefined || lacksLog(manifest, names)) return [];
  return names.filter((name) => {
    const number = TABLE_FILE.exec(name)?.[1];
    return number !== undefined && !manifest.tables.has(Number(number));
  });
}

/** The bytes used by orphaned tables. While the database is open, some may still be in the making. */
export async function sizeOfOrphanedTables(directory: string): Promise<number> {
  const sizes = await Promise.all(
    (await orphanedTables(directory)).map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Only to be called while the database is closed. */
export async function removeOrphanedTables(directory: string): Promise<void> {
  for (const name of await orphanedTables(directory)) await rm(join(directory, name), { force: true });
}
