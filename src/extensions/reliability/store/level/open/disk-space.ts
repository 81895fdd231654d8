import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeOrphanedTables, sizeOfOrphanedTables } from "../../leveldb-files/orphaned-tables.js";
import { Ballast } from "../ballast.js";
import { type DiskPlan, planFor, type ReadDisk, readDisk, sizeOfFiles } from "../disk-plan.js";

const MIB = 1024 * 1024;
/** The free space is looked at again after so many bytes, or milliseconds. */
const RECHECK_BYTES = 8 * MIB;
const RECHECK_MS = 1000;
/** LevelDB needs this much to be opened, beside what its logs become: a new log, a new MANIFEST. */
const MIN_BYTES_TO_OPEN = MIB / 4;
/** With less room than so many reserves the ballast is taken up; with more than so many it is not needed any more. */
const RESERVES_OF_A_TIGHT_DISK = 2;
const RESERVES_OF_A_ROOMY_DISK = 3;

/**
 * Keeps new entries from filling the disk to the brim. LevelDB frees nothing without writing first: delivered entries
 * are marked, tables are merged, logs become tables when it is opened. On a disk that the queue itself has filled it
 * could do none of that, and the queue would stay full although everything in it was delivered. So a part of the disk
 * is left for it: what is on its way into the store counts as if it were there already. Where others may fill the disk,
 * half of that part is held by a ballast, which is given up when LevelDB has to be opened on a full disk.
 */
export class DiskSpace {
  /** By what is on the disk when the store is opened. */
  plan: DiskPlan = planFor(Number.POSITIVE_INFINITY);
  /** What was free when the disk was looked at last. */
  freeBytes: number | undefined;
  private readonly directory: string;
  private readonly ballast: Ballast;
  private readonly readDisk: ReadDisk;
  private readonly now: () => number;
  /** Bytes that may be taken before the disk is looked at again. */
  private remaining = 0;
  /** Bytes that were taken and are not written yet. */
  private underWay = 0;
  private measuredAt = Number.NEGATIVE_INFINITY;
  /** Resolves when the last caller that waits for a measurement has its answer. */
  private lastWaiting: Promise<void> | undefined;

  constructor(directory: string, read: ReadDisk = readDisk, now: () => number = () => performance.now()) {
    this.directory = directory;
    this.ballast = new Ballast(directory);
    this.readDisk = async (path) => {
      const reading = await read(path);
      this.freeBytes = reading.free;
      return reading;
    };
    this.now = now;
  }

  /**
   * Takes room for a new entry. Undefined: there is some; otherwise it has to be looked for, and may reject with ENOSPC.
   * Whoever comes while somebody looks stands in line, so that entries keep their order. Who was given room calls
   * `written` when the entry is on the disk, or is not going to be.
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

  written(bytes: number): void {
    this.underWay -= bytes;
  }

  /** Makes a plan for the disk as it is now. */
  async makePlan(): Promise<void> {
    await this.ballast.find();
    const [{ free }, { all }] = await Promise.all([this.readDisk(this.directory), sizeOfFiles(this.directory)]);
    this.plan = planFor(free + all);
  }

  /** Gives up the ballast if LevelDB needs it to be opened; rejects with ENOSPC while not even that would be enough. */
  async makeRoomToOpen(): Promise<void> {
    const { free, needed } = await this.measureToOpen();
    const orphaned = free + this.ballast.held < needed ? await sizeOfOrphanedTables(this.directory) : 0;
    if (free + this.ballast.held + orphaned < needed) throw noSpaceError();
    if (free < needed + this.plan.ballast) await this.ballast.giveUp();
  }

  /** Removes what LevelDB will not need, if there is little room. Only while nobody has the database open. */
  async removeOrphans(): Promise<void> {
    const { free, needed } = await this.measureToOpen();
    if (free < needed + this.plan.ballast) await removeOrphanedTables(this.directory);
  }

  private async measureToOpen(): Promise<{ free: number; needed: number }> {
    const [{ free }, { logs }] = await Promise.all([this.readDisk(this.directory), sizeOfFiles(this.directory)]);
    return { free, needed: logs + MIN_BYTES_TO_OPEN };
  }

  /** Takes up the ballast where there is room for it and not much more. Rejects with ENOSPC on a full disk. */
  async check(): Promise<void> {
    const { reserve, ballast } = this.plan;
    const { free } = await this.readDisk(this.directory);
    if (free + this.ballast.held < reserve) throw noSpaceError();
    if (free >= reserve && free < RESERVES_OF_A_TIGHT_DISK * reserve) await this.ballast.fill(ballast);
    if (free >= RESERVES_OF_A_ROOMY_DISK * reserve) await this.ballast.giveUp();
  }

  /** Whether LevelDB may come to the end of the disk by what it writes to free something. */
  async isTight(): Promise<boolean> {
    const { free } = await this.readDisk(this.directory);
    return free < RESERVES_OF_A_ROOMY_DISK * this.plan.reserve;
  }

  private take(bytes: number): boolean {
    if (this.remaining < bytes || this.now() - this.measuredAt >= RECHECK_MS) return false;
    this.remaining -= bytes;
    this.underWay += bytes;
    return true;
  }

  private async measure(bytes: number): Promise<void> {
    const { free } = await this.readDisk(this.directory);
    const room = free + this.ballast.held - this.plan.reserve - this.underWay;
    this.measuredAt = this.now();
    this.remaining = Math.min(room, RECHECK_BYTES) - bytes;
    if (room < bytes) throw noSpaceError();
    this.underWay += bytes;
  }
}

/** Rejects while a directory cannot be written to. */
export async function checkWritable(directory: string): Promise<void> {
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

function noSpaceError(): Error {
  return Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
}
