import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

const MIB = 1024 * 1024;
/** What LevelDB may write when it is opened: its log as a table, and a new log. */
const NEEDED = 48 * MIB;
/** The free space is looked at again after so many bytes, or milliseconds. */
const STEP = 8 * MIB;
const LOOK_MS = 250;

/**
 * Keeps new entries from filling the disk to the brim. LevelDB frees nothing without writing first: delivered entries
 * are marked, tables are merged, logs become tables when it is opened. On a disk that the queue itself has filled it
 * could do none of that, and the queue would stay full although everything in it was delivered. So a part of the disk
 * is left for it: a quarter, but at least 64 MiB and at most 192 MiB.
 */
export class Room {
  private readonly directory: string;
  private hasRoom = true;
  private sinceLook = 0;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | undefined;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Throws ENOSPC when a new entry must not be written, by what was last seen; never waits, so the order stays. */
  claim(bytes: number): void {
    this.sinceLook += bytes;
    if (this.sinceLook > STEP || performance.now() - this.lookedAt > LOOK_MS) void this.look();
    if (!this.hasRoom) throw noSpace();
  }

  /** Looks at the disk now. Never rejects: what cannot be told is no reason to refuse. */
  look(): Promise<void> {
    this.looking ??= this.measure().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private async measure(): Promise<void> {
    this.sinceLook = 0;
    this.lookedAt = performance.now();
    const free = await freeIn(this.directory).catch(() => undefined);
    this.hasRoom = free === undefined || free.bytes >= reserveOf(free.of);
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
