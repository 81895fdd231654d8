import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { OpenReport } from "../store.js";
import { classicLevel } from "./classic-level.js";
import { isDamage } from "./errors.js";
import { type DamagedTable, inspect } from "./inspect.js";
import { checkUnlocked, type LevelDb, type MakeLevelDb } from "./level-db.js";
import { mendTable } from "./leveldb-table-mend.js";
import { checkFormat, type Meta } from "./meta.js";
import { beginRepair, endRepair, isRepairUnfinished } from "./repair-mark.js";
import { Aside, dataFiles } from "./set-aside.js";
import { takeStock } from "./stock.js";
import { readWitness } from "./witness.js";

export interface OpeningOptions {
  readonly directory: string;
  readonly exporter: string;
  readonly makeDb: MakeLevelDb;
  readonly now: () => number;
  /** Something could not be read while the store was in use: look at every byte, and repair it if that shows nothing. */
  readonly suspect?: boolean;
}

export interface Opened {
  readonly db: LevelDb;
  readonly meta: Meta;
  readonly report: OpenReport;
}

/**
 * Opens a store's directory, whatever state it is in; everything that a repair could destroy is kept aside first. A
 * repair that was interrupted is finished: until its end a mark in the directory says so.
 */
export async function openDirectory(options: OpeningOptions): Promise<Opened> {
  const { directory, exporter, suspect = false } = options;
  await mkdir(directory, { recursive: true });
  const said = await readWitness(directory);
  if (typeof said !== "string") checkFormat(said.format, directory);
  await checkUnlocked(directory);
  const aside = new Aside(directory, options.now);
  if (said === "damaged") await aside.keepWitness();
  const { hasData, damaged, needsRepair, tables } = await inspect(directory, suspect);
  const mustRepair = needsRepair || (suspect && hasData && damaged.length === 0);
  const isUnfinished = await isRepairUnfinished(directory);
  if (damaged.length > 0 || mustRepair) await beginRepair(directory);
  if (damaged.length > 0) await aside.keep(needsRepair ? await dataFiles(directory) : damaged);
  await mendTables(directory, tables);
  const { db, repaired } = await openDb(options, mustRepair, aside);
  try {
    const { meta, found } = await takeStock(
      db,
      exporter,
      said,
      hasData,
      repaired || isUnfinished || damaged.length > 0,
    );
    await endRepair(directory);
    return { db, meta, report: { ...found, setAside: aside.folder } };
  } catch (error) {
    await db.close();
    if (repaired || !isDamage(error)) throw error;
    return openDirectory({ ...options, suspect: true });
  }
}

/** What cannot be mended is taken away: LevelDB then misses it, and says so. */
async function mendTables(directory: string, tables: readonly DamagedTable[]): Promise<void> {
  for (const { name, damage, size } of tables) {
    const path = join(directory, name);
    if (!(await mendTable(path, damage, size))) await rm(path);
  }
}

async function openDb(
  options: OpeningOptions,
  mustRepair: boolean,
  aside: Aside,
): Promise<{ db: LevelDb; repaired: boolean }> {
  const { directory } = options;
  if (!mustRepair) {
    try {
      return { db: await opened(options), repaired: false };
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  await beginRepair(directory);
  await aside.keep(await dataFiles(directory));
  try {
    await classicLevel().repair(directory);
    const db = await opened(options);
    await rm(join(directory, "lost"), { recursive: true, force: true });
    return { db, repaired: true };
  } catch (error) {
    if (!isDamage(error)) throw error;
    await aside.moveAll();
    return { db: await opened(options), repaired: true };
  }
}

async function opened({ makeDb, directory }: OpeningOptions): Promise<LevelDb> {
  const db = makeDb(directory);
  await db.open();
  return db;
}
