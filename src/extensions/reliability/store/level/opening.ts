import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { OpenReport } from "../store.js";
import { classicLevel } from "./classic-level.js";
import { isDamageError } from "./errors.js";
import { type DamagedTable, inspectDirectory } from "./inspect.js";
import { checkUnlocked, type LevelDb, type MakeLevelDb } from "./level-db.js";
import { mendTable } from "./leveldb-table-mend.js";
import { checkFormat, type Meta } from "./meta.js";
import { beginRepair, endRepair, isRepairUnfinished } from "./repair-mark.js";
import { dataFiles, SetAsideFolder } from "./set-aside.js";
import { reconcileStore } from "./stock.js";
import { readSummary } from "./witness.js";

export interface OpenDirectoryOptions {
  readonly directory: string;
  readonly exporter: string;
  readonly makeDb: MakeLevelDb;
  readonly now: () => number;
  /** Something could not be read while the store was in use: look at every byte, and repair it if that shows nothing. */
  readonly suspectDamage?: boolean;
}

export interface OpenedDirectory {
  readonly db: LevelDb;
  readonly meta: Meta;
  readonly report: OpenReport;
}

/**
 * Opens a store's directory, whatever state it is in; everything that a repair could destroy is kept aside first. A
 * repair that was interrupted is finished: until its end a mark in the directory says so.
 */
export async function openDirectory(options: OpenDirectoryOptions): Promise<OpenedDirectory> {
  const { directory, exporter, suspectDamage = false } = options;
  await mkdir(directory, { recursive: true });
  const summary = await readSummary(directory);
  if (typeof summary !== "string") checkFormat(summary.format, directory);
  await checkUnlocked(directory);
  const setAside = new SetAsideFolder(directory, options.now);
  if (summary === "damaged") await setAside.saveSummaryFile();
  const { hasData, damagedFiles, needsRepair, damagedTables } = await inspectDirectory(directory, suspectDamage);
  const mustRepair = needsRepair || (suspectDamage && hasData && damagedFiles.length === 0);
  const isUnfinished = await isRepairUnfinished(directory);
  if (damagedFiles.length > 0 || mustRepair) await beginRepair(directory);
  if (damagedFiles.length > 0) await setAside.save(needsRepair ? await dataFiles(directory) : damagedFiles);
  await mendTables(directory, damagedTables);
  const { db, repaired } = await openOrRepair(options, mustRepair, setAside);
  try {
    const { meta, report } = await reconcileStore(
      db,
      exporter,
      summary,
      hasData,
      repaired || isUnfinished || damagedFiles.length > 0,
    );
    await endRepair(directory);
    return { db, meta, report: { ...report, setAside: setAside.path } };
  } catch (error) {
    await db.close();
    if (repaired || !isDamageError(error)) throw error;
    return openDirectory({ ...options, suspectDamage: true });
  }
}

/** What cannot be mended is taken away: LevelDB then misses it, and says so. */
async function mendTables(directory: string, tables: readonly DamagedTable[]): Promise<void> {
  for (const { name, damage, size } of tables) {
    const path = join(directory, name);
    if (!(await mendTable(path, damage, size))) await rm(path);
  }
}

async function openOrRepair(
  options: OpenDirectoryOptions,
  mustRepair: boolean,
  setAside: SetAsideFolder,
): Promise<{ db: LevelDb; repaired: boolean }> {
  const { directory } = options;
  if (!mustRepair) {
    try {
      return { db: await openLevelDb(options), repaired: false };
    } catch (error) {
      if (!isDamageError(error)) throw error;
    }
  }
  await beginRepair(directory);
  await setAside.save(await dataFiles(directory));
  try {
    await classicLevel().repair(directory);
    const db = await openLevelDb(options);
    await rm(join(directory, "lost"), { recursive: true, force: true });
    return { db, repaired: true };
  } catch (error) {
    if (!isDamageError(error)) throw error;
    await setAside.moveDataFiles();
    return { db: await openLevelDb(options), repaired: true };
  }
}

async function openLevelDb({ makeDb, directory }: OpenDirectoryOptions): Promise<LevelDb> {
  const db = makeDb(directory);
  await db.open();
  return db;
}
