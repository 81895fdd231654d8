import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { dataFiles } from "../../leveldb-files/inspect-directory.js";
import { newestRecords } from "../../leveldb-files/newest-records.js";
import type { LevelDb, MakeLevelDb } from "../level-db.js";
import { clearMark, readMark, setMark } from "./marks.js";
import type { SetAsideFolder } from "./set-aside-folder.js";

/**
 * Makes a store's database anew from all that can be read in its files. LevelDB's own repair is not used: it trusts what
 * it finds, ends the process over some of it, and can prefer an older value to a newer one. The new database grows beside
 * the old files; when it is whole they are set aside and it takes their place. Whenever that is interrupted, the next
 * start goes on: from the beginning before the new one is whole, from where it was after that.
 */
export async function rebuildDatabase(directory: string, makeDb: MakeLevelDb, setAside: SetAsideFolder): Promise<void> {
  const folder = await setAside.reservePath();
  const newDirectory = join(directory, NEW_FOLDER);
  await rm(newDirectory, { recursive: true, force: true });
  await copyRecords(directory, newDirectory, makeDb).catch(async (error) => {
    // The disk may be full of it.
    await rm(newDirectory, { recursive: true, force: true });
    throw error;
  });
  await setMark(directory, "REBUILT", folder);
  await finishSwap(directory, setAside);
}

/**
 * Goes on where a rebuilding was interrupted whose new database is whole; does nothing otherwise. A mark without a new database
 * is one that somebody has put there.
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

/** Writes all that can be read in the files of a directory into a new database; without any record that is an empty one. */
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

/** CURRENT comes last: with it the database is there. */
async function moveNewFiles(directory: string): Promise<void> {
  const from = join(directory, NEW_FOLDER);
  const names = (await readdir(from).catch(() => [])).length === 0 ? [] : await dataFiles(from);
  for (const name of names.filter((each) => each !== "CURRENT").concat(names.filter((each) => each === "CURRENT")))
    await rename(join(from, name), join(directory, name));
  await rm(from, { recursive: true, force: true });
}
