import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeOrphanedTables, sizeOfOrphanedTables } from "../../leveldb-files/inspect-directory.js";
import { NoSpaceError } from "../errors.js";
import { type DiskPlan, sizeOfFiles } from "./disk-plan.js";
import type { DiskUser, Room, SharedDisk } from "./shared-disk.js";

/** Space that LevelDB needs for opening in addition to its logs: a new log and a new MANIFEST. */
const MIN_BYTES_TO_OPEN = 256 * 1024;

/** One store's use of the shared disk. */
export class StoreDisk {
  private readonly directory: string;
  private readonly shared: SharedDisk;
  private readonly isJournal: boolean;
  /** The maximum number of stores that an entry still has to pass after this one; known when the store is opened. */
  private depth: number | undefined;

  /** `isJournal`: entries are handed on to other stores, which are all opened before. */
  constructor(directory: string, shared: SharedDisk, isJournal: boolean) {
    this.directory = directory;
    this.shared = shared;
    this.isJournal = isJournal;
    shared.addStore(directory);
  }

  get plan(): DiskPlan {
    return this.shared.plan;
  }

  /** The free space at the last measurement. */
  get lastRoom(): Room | undefined {
    return this.shared.lastRoom;
  }

  /** Claims space for an entry; see `SharedDisk.claim`. `isNew`: no other store of ours has the entry. */
  claim(bytes: number, isNew: boolean): Promise<void> | undefined {
    return this.shared.claim(bytes, isNew ? "new" : (this.depth ?? 0));
  }

  written(bytes: number): void {
    this.shared.written(bytes);
  }

  check(): Promise<void> {
    return this.shared.check();
  }

  compact(work: (isTight: boolean) => Promise<void>): Promise<void> {
    return this.shared.compact(work);
  }

  use(user: DiskUser): void {
    this.shared.use(user);
  }

  /** To be called when the store is closed. */
  leave(user: DiskUser): void {
    this.shared.leave(user);
    this.shared.removeStore(this.directory);
  }

  /** To be called when the store is first opened. Its predecessor in the same directory is closed by then. */
  makePlan(): Promise<void> {
    this.shared.addStore(this.directory);
    this.depth ??= this.isJournal ? this.shared.depthOf(this.directory) : 0;
    return this.shared.makePlan();
  }

  /** Removes the ballast if LevelDB needs its space for opening. Rejects with ENOSPC if that is not enough. */
  async makeRoomToOpen(): Promise<void> {
    const { free, held, needed } = await this.measureToOpen();
    const orphaned = free + held < needed ? await sizeOfOrphanedTables(this.directory) : 0;
    const most = free + held + orphaned;
    if (most < needed) throw new NoSpaceError(most, needed);
    if (held > 0 && free < needed + this.plan.ballast) await this.shared.removeBallast();
  }

  /**
   * Removes files that LevelDB will not need, if there is little space. Only to be called while the database is closed.
   */
  async removeOrphans(): Promise<void> {
    const { free, needed } = await this.measureToOpen();
    if (free < needed + this.plan.ballast) await removeOrphanedTables(this.directory);
  }

  private async measureToOpen(): Promise<Room & { needed: number }> {
    const [room, { logs }] = await Promise.all([this.shared.look(), sizeOfFiles(this.directory)]);
    return { ...room, needed: logs + MIN_BYTES_TO_OPEN };
  }
}

/** Rejects if the directory cannot be written to. */
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
