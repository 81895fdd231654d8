import { randomBytes } from "node:crypto";
import { open, readdir, rename, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { holdDirectory } from "../open/directory-access.js";

const NAME = "BALLAST";

/**
 * A file that only takes up space, so that no other program can take it. On a full disk the file is removed, and
 * LevelDB has space to open, to record deliveries, and to free the rest. All stores of a directory share one. Its size
 * is read from the file system each time, so it does not matter if a user removes the file.
 */
export class Ballast {
  private readonly path: string;
  private lastWork: Promise<void> = Promise.resolve();
  private isWanted = false;

  constructor(root: string) {
    this.path = join(root, NAME);
  }

  /** Bytes that removing the file would free. */
  size(): Promise<number> {
    return sizeOf(this.path);
  }

  /** Sets the size of the file. Never fails: if the disk becomes full meanwhile, the file is removed again. */
  fill(bytes: number): Promise<void> {
    this.isWanted = true;
    return this.inTurn(() => this.resize(bytes).catch(() => rm(this.path, { force: true })));
  }

  remove(): Promise<void> {
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
 * Earlier versions had a ballast in each store's directory. The largest becomes the ballast of the whole directory if
 * it has none; the others are removed. Those of stores that another process has open are not touched. Never rejects.
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

/** Random bytes, because some file systems store zeros without using space. */
const BLOCK = randomBytes(1024 * 1024);
