import { randomBytes } from "node:crypto";
import { open, readdir, rename, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { holdDirectory } from "../open/directory-hold.js";

const NAME = "BALLAST";

/**
 * A file that does nothing but take up room, so that no other program can take it: on a full disk it is removed, and
 * LevelDB has room to be opened, to record what was delivered, and to free the rest. There is one for all stores of a
 * directory. Its size is read from the file system each time: whoever removes the file, nobody counts on it afterwards.
 */
export class Ballast {
  private readonly path: string;
  private lastWork: Promise<void> = Promise.resolve();
  private isWanted = false;

  constructor(root: string) {
    this.path = join(root, NAME);
  }

  /** Bytes that removing it makes free. */
  size(): Promise<number> {
    return sizeOf(this.path);
  }

  /** Makes it this large. Never fails: if the disk fills up meanwhile, it is removed again. */
  fill(bytes: number): Promise<void> {
    this.isWanted = true;
    return this.inTurn(() => this.resize(bytes).catch(() => rm(this.path, { force: true })));
  }

  giveUp(): Promise<void> {
    this.isWanted = false;
    return this.inTurn(() => rm(this.path, { force: true }));
  }

  private async resize(bytes: number): Promise<void> {
    let size = await this.size();
    if (size > bytes) return truncate(this.path, bytes);
    const file = await open(this.path, "a", 0o600);
    try {
      while (size < bytes && this.isWanted)
        size += (await file.write(BLOCK, 0, Math.min(BLOCK.length, bytes - size))).bytesWritten;
    } finally {
      await file.close();
    }
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    this.lastWork = this.lastWork.then(work).catch(() => {});
    return this.lastWork;
  }
}

/**
 * Earlier versions had a ballast in the directory of each store. The largest becomes that of the whole directory if it
 * has none; the others are removed. Those of stores that another process has open are left alone. Never rejects.
 */
export async function adoptOldBallasts(root: string): Promise<void> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  const directories = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(root, name));
  const sizes = await Promise.all(directories.map((directory) => sizeOf(join(directory, NAME))));
  const old = directories.map((directory, i) => ({ directory, size: sizes[i]! })).filter(({ size }) => size > 0);
  for (const { directory } of old.sort((a, b) => b.size - a.size)) await adopt(root, directory).catch(() => {});
}

async function adopt(root: string, directory: string): Promise<void> {
  const hold = await holdDirectory(directory);
  try {
    const [from, to] = [join(directory, NAME), join(root, NAME)];
    if ((await sizeOf(to)) === 0) await rename(from, to);
    else await rm(from, { force: true });
  } finally {
    await hold.release();
  }
}

function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Random bytes, because some file systems store zeros without taking any room. */
const BLOCK = randomBytes(1024 * 1024);
