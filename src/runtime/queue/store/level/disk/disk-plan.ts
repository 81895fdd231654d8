import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { TABLE_FILE } from "../../leveldb-files/data-files.js";

const MIB = 1024 * 1024;
/**
 * Maximum size of the write buffers of all stores together. They are memory outside of the heap that fills up slowly,
 * and nothing frees it before a buffer is full. A store whose buffer is being written out has a second one for a moment.
 */
const WRITE_BUFFERS = 128 * MIB;

/** The free space for this process on the disk of a directory, and the size of the disk, in bytes. */
export interface DiskReading {
  readonly free: number;
  readonly total: number;
}

export type ReadDisk = (directory: string) => Promise<DiskReading>;

export const readDisk: ReadDisk = async (directory) => {
  const { bavail, bsize, blocks } = await statfs(directory);
  return { free: bavail * bsize, total: blocks * bsize };
};

/** How the stores of a directory use their disk. All values are in bytes. */
export interface DiskPlan {
  /** Space that new entries leave free, for what LevelDB must write before it can free anything. */
  readonly reserve: number;
  /**
   * The part of the reserve that a file of ours takes up, so that other programs cannot. It is removed when the space
   * is needed.
   */
  readonly ballast: number;
  /** Maximum size of a store's log, which LevelDB also keeps in memory, and of the tables that it makes from it. */
  readonly writeBuffer: number;
  readonly maxTable: number;
  /** Maximum size of a commit. */
  readonly maxCommit: number;
  /** Amount of removed data after which a store frees its space. */
  readonly compactAfter: number;
}

/**
 * `room` is the space that the stores could use if all of them were empty. LevelDB frees nothing without writing first.
 * A log becomes a table while the log still exists. Up to twelve tables of the first level are merged with those below
 * them, while all of these still exist. So the space it needs at once grows with its buffer, and the buffer is chosen
 * by the size of the disk: on a disk of 320 MB a merge takes about 30 MB, on one of 8 GB or more about 300. All stores
 * of a process share LevelDB's merge thread, so there is one merge at a time and one reserve is enough for all. Logs
 * and data waiting to be compacted exist for each store at the same time, so they are smaller if there are more stores.
 */
export function planFor(room: number, stores = 1): DiskPlan {
  const reserve = clamp(room / 4, Math.min(32 * MIB, room / 2), 384 * MIB);
  const writeBuffer = clamp(room / (128 * (stores + 1)), MIB / 8, 32 * MIB);
  return {
    reserve,
    ballast: Math.floor(reserve / 2),
    writeBuffer: Math.min(writeBuffer, Math.max(MIB, Math.floor(WRITE_BUFFERS / stores))),
    maxTable: clamp(writeBuffer / 4, MIB, 4 * MIB),
    maxCommit: Math.min(writeBuffer, 8 * MIB),
    compactAfter: clamp(room / (4 * (stores + 1)), MIB, 32 * MIB),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.floor(Math.min(most, Math.max(least, value)));
}

/** Sizes of a store's files, in bytes. */
interface StoreFiles {
  readonly all: number;
  readonly tables: number;
  /** Opening the store writes the logs again, as tables. */
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

/** Returns the bytes used by a directory, including the stores in it. */
export async function sizeWithStores(root: string): Promise<number> {
  const entries = await readdir(root, { withFileTypes: true });
  const stores = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(root, name));
  const sizes = [root, ...stores].map((directory) => sizeOfFiles(directory).catch(() => ({ all: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { all }) => sum + all, 0);
}
