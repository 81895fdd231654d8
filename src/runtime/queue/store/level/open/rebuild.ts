import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { dataFiles } from "../../leveldb-files/data-files.js";
import { newestRecords } from "../../leveldb-files/newest-records.js";
import type { LevelDb, MakeLevelDb } from "../level-db.js";
import { clearMark, readMark, setMark } from "./marks.js";
import type { SetAsideFolder } from "./set-aside-folder.js";

/**
 * Rebuilds a store's database from everything that can be read in its files. LevelDB's own repair is not used: it
 * trusts what it finds, ends the process in some cases, and can prefer an older value to a newer one. The new database
 * is built next to the old files. When it is complete, the old files are set aside and replaced. If this is
 * interrupted, the next start continues: from the beginning if the new database was not complete, otherwise from where
 * it stopped.
 */
export async function rebuildDatabase(directory: string, makeDb: MakeLevelDb, setAside: SetAsideFolder): Promise<void> {
  const folder = await setAside.reservePath();
  const newDirectory = join(directory, NEW_FOLDER);
  await rm(newDirectory, { recursive: true, force: true });
  await copyRecords(directory, newDirectory, makeDb).catch(async (error) => {
    // The new database may have filled the disk.
    await rm(newDirectory, { recursive: true, force: true });
    throw error;
  });
  await setMark(directory, "REBUILT", folder);
  await finishSwap(directory, setAside);
}

/**
 * Completes an interrupted rebuild whose new database is complete; otherwise does nothing. A mark without a new
 * database was not set by a rebuild and is removed.
 */
export async function finishSwap(directory: string, setAside: SetAsideFolder): Promise<void> {
  if ((await readMark(directory, "REBUILT")) !== undefined) {
    if (!(await hasNewDatabase(directory))) return clearMark(directory, "REBUILT");
    await setAside.moveDataFiles();
    await rename(join(directory, "REBUILT"), join(directory, "SWAPPING"));
  }
  if ((await readMark(directory, "SWAPPING")) === undefined) return;
  await moveNewFiles(directory);
  await clearMark(directory, "SWAPPING");
}

const NEW_FOLDER = "rebuilt";

async function hasNewDatabase(directory: string): Promise<boolean> {
  return (await readdir(join(directory, NEW_FOLDER)).catch((): string[] => [])).includes("CURRENT");
}

const WRITE_BYTES = 4 * 1024 * 1024;

/** Writes all readable records of a directory into a new database, which is empty if there are none. */
export async function copyRecords(directory: string, newDirectory: string, makeDb: MakeLevelDb): Promise<void> {
  const db = makeDb(newDirectory);
  await db.open();
  try {
    let batch: ReturnType<LevelDb["batch"]> = db.batch();
    let bytes = 0;
    for (const { key, value } of await newestRecords(directory)) {
      batch.put(key, value!);
      bytes += key.length + value!.length;
      if (bytes < WRITE_BYTES) continue;
      await batch.write();
      batch = db.batch();
      bytes = 0;
    }
    await batch.write({ sync: true });
  } finally {
    await db.close();
  }
}

/** CURRENT is moved last, because it makes the database valid. */
async function moveNewFiles(directory: string): Promise<void> {
  const from = join(directory, NEW_FOLDER);
  const names = (await readdir(from).catch(() => [])).length === 0 ? [] : await dataFiles(from);
  for (const name of names.filter((each) => each !== "CURRENT").concat(names.filter((each) => each === "CURRENT")))
    await rename(join(from, name), join(directory, name));
  await rm(from, { recursive: true, force: true });
}
