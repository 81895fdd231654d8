import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { TABLE_FILE } from "../../leveldb-files/inspect-directory.js";

const MIB = 1024 * 1024;

/** What is free for us on the disk of a directory, and how large the disk is. */
export interface DiskReading {
  readonly free: number;
  readonly total: number;
}

export type ReadDisk = (directory: string) => Promise<DiskReading>;

export const readDisk: ReadDisk = async (directory) => {
  const { bavail, bsize, blocks } = await statfs(directory);
  return { free: bavail * bsize, total: blocks * bsize };
};

/** How the stores of a directory use the disk that they are on. All in bytes. */
export interface DiskPlan {
  /** So much is left free by new entries, for what LevelDB has to write before it can free anything. */
  readonly reserve: number;
  /** So much of the reserve is held by a file of ours, so that other programs cannot take it; removed when it is needed. */
  readonly ballast: number;
  /** The log of one store, and so the tables that LevelDB makes of it. */
  readonly writeBuffer: number;
  readonly maxTable: number;
  /** Entries that are written together. */
  readonly maxCommit: number;
  /** When a store has removed so much, it gives it back to the disk. */
  readonly compactAfter: number;
}

/**
 * `room` is what the stores could use if all of them were empty. LevelDB frees nothing without writing first: a log
 * becomes a table while it is still there, and of the first level up to twelve tables are merged with those below them,
 * while these are still there. So what it may write at once grows with its buffer, and the buffer with the disk: on a
 * disk of 320 MB a merge takes some 30 MB, on one of 8 GB and more some 300. All stores of a process share the thread on
 * which LevelDB merges, so there is one merge at a time and one reserve is enough for all of them. Logs and what waits to
 * be compacted are there for each store at the same time, so those get smaller the more stores there are.
 */
export function planFor(room: number, stores = 1): DiskPlan {
  const reserve = clamp(room / 4, Math.min(32 * MIB, room / 2), 384 * MIB);
  const writeBuffer = clamp(room / (128 * (stores + 1)), MIB / 8, 32 * MIB);
  return {
    reserve,
    ballast: Math.floor(reserve / 2),
    writeBuffer,
    maxTable: clamp(writeBuffer / 4, MIB, 4 * MIB),
    maxCommit: Math.min(writeBuffer, 8 * MIB),
    compactAfter: clamp(room / (4 * (stores + 1)), MIB, 32 * MIB),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.floor(Math.min(most, Math.max(least, value)));
}

/** What the files of a store take. */
export interface StoreFiles {
  readonly all: number;
  readonly tables: number;
  /** Opening writes them again, as tables. */
  readonly logs: number;
}

export async function sizeOfFiles(directory: string): Promise<StoreFiles> {
  const size = (name: string) =>
    stat(join(directory, name)).then(
      (file) => file.size,
      () => 0,
    );
  const sizes = await Promise.all((await readdir(directory)).map(async (name) => ({ name, bytes: await size(name) })));
  const sum = (isMeant: (name: string) => boolean) =>
    sizes.reduce((bytes, file) => (isMeant(file.name) ? bytes + file.bytes : bytes), 0);
  return {
    all: sum(() => true),
    tables: sum((name) => TABLE_FILE.test(name)),
    logs: sum((name) => name.endsWith(".log")),
  };
}

/** The bytes that a directory takes, including the stores below it. */
export async function sizeWithStores(root: string): Promise<number> {
  const entries = await readdir(root, { withFileTypes: true });
  const stores = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(root, name));
  const sizes = [root, ...stores].map((directory) => sizeOfFiles(directory).catch(() => ({ all: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { all }) => sum + all, 0);
}
