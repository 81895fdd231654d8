import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

const MIB = 1024 * 1024;
/** LevelDB may write this much when it is opened: its log as a table, and a new log. */
const MIN_BYTES_TO_OPEN = 48 * MIB;
/** The free space is looked at again after so many bytes, or milliseconds. */
const RECHECK_BYTES = 8 * MIB;
const RECHECK_MS = 1000;

/**
 * Keeps new entries from filling the disk to the brim. LevelDB frees nothing without writing first: delivered entries
 * are marked, tables are merged, logs become tables when it is opened. On a disk that the queue itself has filled it
 * could do none of that, and the queue would stay full although everything in it was delivered. So a part of the disk
 * is left for it: a quarter, but at least 64 MiB and at most 192 MiB.
 */
export class DiskSpace {
  private readonly directory: string;
  private readonly now: () => number;
  private remaining = 0;
  private measuredAt = Number.NEGATIVE_INFINITY;
  /** Resolves when the last caller that waits for a measurement has its answer. */
  private lastWaiting: Promise<void> | undefined;

  constructor(directory: string, now: () => number = () => performance.now()) {
    this.directory = directory;
    this.now = now;
  }

  /**
   * Takes room for a new entry. Undefined: there is some; otherwise it has to be looked for, and may reject with ENOSPC.
   * Whoever comes while somebody looks stands in line, so that entries keep their order.
   */
  claim(bytes: number): Promise<void> | undefined {
    if (this.lastWaiting === undefined && this.take(bytes)) return undefined;
    const waiting = (this.lastWaiting ?? Promise.resolve())
      .catch(() => {})
      .then(() => (this.take(bytes) ? undefined : this.measure(bytes)));
    const done = () => {
      if (this.lastWaiting === waiting) this.lastWaiting = undefined;
    };
    this.lastWaiting = waiting;
    waiting.then(done, done);
    return waiting;
  }

  private take(bytes: number): boolean {
    if (this.remaining < bytes || this.now() - this.measuredAt >= RECHECK_MS) return false;
    this.remaining -= bytes;
    return true;
  }

  private async measure(bytes: number): Promise<void> {
    const free = await freeSpace(this.directory);
    this.measuredAt = this.now();
    this.remaining = Math.min(free.bytes - reserveOf(free.total), RECHECK_BYTES) - bytes;
    if (this.remaining < 0 && free.bytes - bytes < reserveOf(free.total)) throw noSpaceError();
  }
}

/** Rejects while a directory cannot be written to, or has too little room to open a database in. */
export async function checkDiskSpace(directory: string): Promise<void> {
  if ((await freeSpace(directory)).bytes < MIN_BYTES_TO_OPEN) throw noSpaceError();
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

async function freeSpace(directory: string): Promise<{ bytes: number; total: number }> {
  const { bavail, bsize, blocks } = await statfs(directory);
  return { bytes: bavail * bsize, total: blocks * bsize };
}

function reserveOf(size: number): number {
  return Math.min(192 * MIB, Math.max(64 * MIB, size / 4));
}

function noSpaceError(): Error {
  return Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
}
