import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

const MIB = 1024 * 1024;
/** What LevelDB may write when it is opened: its log as a table, and a new log. */
const NEEDED = 48 * MIB;
/** The free space is looked at again after so many bytes, or milliseconds. */
const STEP = 8 * MIB;
const LOOK_MS = 1000;

/**
 * Keeps new entries from filling the disk to the brim. LevelDB frees nothing without writing first: delivered entries
 * are marked, tables are merged, logs become tables when it is opened. On a disk that the queue itself has filled it
 * could do none of that, and the queue would stay full although everything in it was delivered. So a part of the disk
 * is left for it: a quarter, but at least 64 MiB and at most 192 MiB.
 */
export class Room {
  private readonly directory: string;
  private readonly now: () => number;
  private left = 0;
  private lookedAt = Number.NEGATIVE_INFINITY;
  /** Ends with the last one who waits for a look at the disk. */
  private line: Promise<void> | undefined;

  constructor(directory: string, now: () => number = () => performance.now()) {
    this.directory = directory;
    this.now = now;
  }

  /**
   * Takes room for a new entry. Undefined: there is some; otherwise it has to be looked for, and may reject with ENOSPC.
   * Whoever comes while somebody looks stands in line, so that entries keep their order.
   */
  claim(bytes: number): Promise<void> | undefined {
    if (this.line === undefined && this.take(bytes)) return undefined;
    const mine = (this.line ?? Promise.resolve())
      .catch(() => {})
      .then(() => (this.take(bytes) ? undefined : this.look(bytes)));
    const done = () => {
      if (this.line === mine) this.line = undefined;
    };
    this.line = mine;
    mine.then(done, done);
    return mine;
  }

  private take(bytes: number): boolean {
    if (this.left < bytes || this.now() - this.lookedAt >= LOOK_MS) return false;
    this.left -= bytes;
    return true;
  }

  private async look(bytes: number): Promise<void> {
    const free = await freeIn(this.directory);
    this.lookedAt = this.now();
    this.left = Math.min(free.bytes - reserveOf(free.of), STEP) - bytes;
    if (this.left < 0 && free.bytes - bytes < reserveOf(free.of)) throw noSpace();
  }
}

/** Rejects while a directory cannot be written to, or has too little room to open a database in. */
export async function checkRoom(directory: string): Promise<void> {
  if ((await freeIn(directory)).bytes < NEEDED) throw noSpace();
  const path = join(directory, ".probe");
  const file = await open(path, "w");
  try {
    await file.writeFile(Buffer.alloc(64 * 1024));
    await file.datasync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

async function freeIn(directory: string): Promise<{ bytes: number; of: number }> {
  const { bavail, bsize, blocks } = await statfs(directory);
  return { bytes: bavail * bsize, of: blocks * bsize };
}

function reserveOf(size: number): number {
  return Math.min(192 * MIB, Math.max(64 * MIB, size / 4));
}

function noSpace(): Error {
  return Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
}
