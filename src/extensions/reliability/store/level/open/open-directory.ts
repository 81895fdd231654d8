import { access, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { checkFormat, type Meta } from "../../format/meta.js";
import { type DamagedTable, dataFiles, inspectDirectory } from "../../leveldb-files/inspect-directory.js";
import { mendTable } from "../../leveldb-files/table-mend.js";
import type { OpenReport } from "../../store.js";
import { classicLevel } from "../classic-level.js";
import { isDamageError } from "../errors.js";
import { checkUnlocked, type LevelDb, type MakeLevelDb } from "../level-db.js";
import { reconcileStore } from "./reconcile-store.js";
import { SetAsideFolder } from "./set-aside-folder.js";
import { readSummary } from "./summary-file.js";

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

/**
 * A file in the store's directory that is there from before a repair changes anything until everything has been counted
 * anew. Without it a crash in between would leave a store that looks whole, with counters of what it held before.
 */
async function beginRepair(directory: string): Promise<void> {
  const file = await open(join(directory, REPAIR_MARK_FILE), "w");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function endRepair(directory: string): Promise<void> {
  await rm(join(directory, REPAIR_MARK_FILE), { force: true });
}

async function isRepairUnfinished(directory: string): Promise<boolean> {
  return access(join(directory, REPAIR_MARK_FILE)).then(
    () => true,
    () => false,
  );
}

const REPAIR_MARK_FILE = "REPAIRING";
