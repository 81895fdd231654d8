import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeOrphanedTables, sizeOfOrphanedTables } from "../../leveldb-files/inspect-directory.js";
import { NoSpaceError } from "../errors.js";
import { Ballast } from "./ballast.js";
import { type DiskPlan, planFor, type ReadDisk, readDisk, sizeOfFiles, sizeWithStores } from "./disk-plan.js";

const MIB = 1024 * 1024;
/** The free space is measured again after this many bytes, or milliseconds. */
const RECHECK_BYTES = 8 * MIB;
const RECHECK_MS = 1000;
/**
 * With less free space than this many reserves the ballast is filled. With more than ROOMY_DISK_RESERVES it is not
 * needed.
 */
const TIGHT_DISK_RESERVES = 2;
const ROOMY_DISK_RESERVES = 3;

/** The free bytes, and the bytes that removing the ballast would free. */
interface Room {
  readonly free: number;
  readonly held: number;
}

/** An open store. */
export interface DiskUser {
  /** Frees the space of removed data, however little it is. */
  compactNow(): void;
  /** Called when there is room again for entries that move. */
  onRoom(): void;
}

/**
 * The disk that all stores of a directory share: queues, journals and the records of operators.
 *
 * **The reserve.** New entries never fill the disk. LevelDB must write before it can free space: it marks delivered
 * entries, merges tables, and turns logs into tables when it opens a store. If new entries filled the disk, LevelDB
 * could not do this, and the stores would stay full even after all entries were delivered. Therefore a part of the disk
 * is reserved for LevelDB. Entries that are being written count as stored. If other programs may fill the disk too, a
 * file (the ballast) occupies half of the reserve. It is removed when LevelDB needs the space.
 *
 * **Entries that move.** An entry leaves a journal only after the next store has it, so each move needs space for a
 * second copy. On a full disk, there would be none. Therefore entries that move may use a part of the reserve: half of
 * it on the way into an exporter's queue, and less on the way into a journal, depending on how many journals follow
 * before the exporters. An entry near the exporters can then always move on, and frees space for those behind it.
 */
export class SharedDisk {
  plan: DiskPlan = planFor(Number.POSITIVE_INFINITY);
  /** The free space at the last measurement. */
  lastRoom: Room | undefined;
  private readonly root: string;
  private readonly ballast: Ballast;
  private readonly readDisk: ReadDisk;
  private readonly now: () => number;
  private readonly users = new Set<DiskUser>();
  /** Directories of the stores that are open, or are going to be. A reload opens a store in the same directory again. */
  private readonly stores = new Set<string>();
  private plannedStores = 0;
  private readonly depths = new Map<string, number>();
  /** Free space and ballast at the last measurement, minus everything claimed since. */
  private available = 0;
  private claimedSince = 0;
  private measuredAt = Number.NEGATIVE_INFINITY;
  /** Free bytes needed by an entry that was refused on its way from a journal to the next store. */
  private awaited: number | undefined;
  /** Bytes that were claimed and are not written yet. */
  private underWay = 0;
  /** Resolves when the last caller that waits for a measurement has its answer. */
  private lastWaiting: Promise<void> | undefined;
  private checking: Promise<void> | undefined;
  private lastTurn: Promise<unknown> = Promise.resolve();

  constructor(root: string, read: ReadDisk = readDisk, now: () => number = () => performance.now()) {
    this.root = root;
    this.ballast = new Ballast(root);
    this.readDisk = read;
    this.now = now;
  }

  /** To be called for every store that will use the disk, before any of them is opened. */
  addStore(directory: string): void {
    this.stores.add(directory);
  }

  removeStore(directory: string): void {
    this.stores.delete(directory);
  }

  /** Returns the depth of a journal. Journals are first opened after all stores that they hand on to. */
  depthOf(directory: string): number {
    const depth = this.depths.get(directory) ?? this.depths.size + 1;
    this.depths.set(directory, depth);
    return depth;
  }

  use(user: DiskUser): void {
    this.users.add(user);
  }

  leave(user: DiskUser): void {
    this.users.delete(user);
  }

  /** Plans the use of the disk as it is now, unless there is a plan for the same number of stores. */
  async makePlan(): Promise<void> {
    const { size: stores } = this.stores;
    if (this.plannedStores === stores) return;
    const [{ free }, size] = await Promise.all([this.look(), sizeWithStores(this.root)]);
    this.plan = planFor(free + size, stores);
    this.plannedStores = stores;
  }

  /**
   * Claims space for an entry that moves into a store of this depth, or for a new one. Returns undefined if there is
   * space. Otherwise the disk must be measured, and the promise may reject with ENOSPC. Calls during a measurement wait
   * in line, so that entries keep their order. After a successful claim, `written` must be called when the entry is on
   * disk or will not be written.
   */
  claim(bytes: number, depth: number | "new"): Promise<void> | undefined {
    if (this.lastWaiting === undefined && this.take(bytes, depth)) return undefined;
    const waiting = (this.lastWaiting ?? Promise.resolve())
      .catch(() => {})
      .then(() => (this.take(bytes, depth) ? undefined : this.measure(bytes, depth)));
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

  /** Measures the disk and adjusts the ballast. Rejects with ENOSPC if there is no room for new entries. */
  check(): Promise<void> {
    this.checking ??= this.checkNow().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  /**
   * Runs one compaction at a time, because they share a thread of LevelDB anyway. `isTight`: the disk may become full.
   */
  compact(work: (isTight: boolean) => Promise<void>): Promise<void> {
    const turn = this.lastTurn.then(async () => work(await this.prepareCompaction().catch(() => true)));
    this.lastTurn = turn.catch(() => {});
    return turn;
  }

  async look(): Promise<Room> {
    const [{ free }, held] = await Promise.all([this.readDisk(this.root), this.ballast.size()]);
    this.lastRoom = { free, held };
    return this.lastRoom;
  }

  removeBallast(): Promise<void> {
    return this.ballast.remove();
  }

  private async checkNow(): Promise<void> {
    const room = await this.look();
    await this.keepBallast(room);
    const left = room.free + room.held;
    this.notifyOfRoom(left);
    if (left < this.plan.reserve) throw new NoSpaceError(left, this.plan.reserve);
  }

  private notifyOfRoom(left: number): void {
    if (this.awaited === undefined || left < this.awaited) return;
    this.awaited = undefined;
    for (const user of this.users) user.onRoom();
  }

  /** Filling the ballast never takes space that new entries, of this agent or another one, may use. */
  private async keepBallast({ free, held }: Room): Promise<void> {
    const { reserve, ballast } = this.plan;
    if (free >= ROOMY_DISK_RESERVES * reserve) {
      if (held > 0) await this.ballast.remove();
    } else if (held > ballast) await this.ballast.fill(ballast);
    else if (held < ballast && free < TIGHT_DISK_RESERVES * reserve && free - (ballast - held) >= reserve)
      await this.ballast.fill(ballast);
  }

  /** A compaction frees more than it takes, so the ballast is removed for it. */
  private async prepareCompaction(): Promise<boolean> {
    const { free, held } = await this.look();
    if (this.needsBallast({ free, held })) await this.ballast.remove();
    return free < ROOMY_DISK_RESERVES * this.plan.reserve;
  }

  /** New entries leave as much free space as the ballast holds. If half of that is gone, writes may fail. */
  private needsBallast({ free, held }: Room): boolean {
    return held > 0 && free < this.plan.ballast / 2;
  }

  private take(bytes: number, depth: number | "new"): boolean {
    const limit = Math.min(RECHECK_BYTES, this.plan.ballast / 2);
    if (this.claimedSince + bytes > limit || this.now() - this.measuredAt >= RECHECK_MS) return false;
    if (!this.hasRoom(bytes, depth)) return false;
    this.grant(bytes);
    return true;
  }

  private async measure(bytes: number, depth: number | "new"): Promise<void> {
    const { free, held } = await this.look();
    this.available = free + held - this.underWay;
    this.claimedSince = 0;
    this.measuredAt = this.now();
    if (!this.hasRoom(bytes, depth)) {
      for (const user of this.users) user.compactNow();
      const least = this.requiredBytes(bytes, depth);
      if (depth !== "new") this.awaited = Math.max(this.awaited ?? 0, least + bytes);
      throw new NoSpaceError(this.available, least);
    }
    this.grant(bytes);
    const left = free - this.underWay;
    if (this.needsBallast({ free: left, held })) await this.ballast.remove();
    else void this.keepBallast({ free: left, held });
  }

  private hasRoom(bytes: number, depth: number | "new"): boolean {
    return this.available >= this.requiredBytes(bytes, depth);
  }

  /** A moving entry may be larger than its part of the reserve, because it is about to leave its previous store. */
  private requiredBytes(bytes: number, depth: number | "new"): number {
    const { reserve } = this.plan;
    if (depth === "new") return reserve + bytes;
    return Math.ceil(reserve * (0.5 + (0.5 * depth) / (this.depths.size + 1)));
  }

  private grant(bytes: number): void {
    this.available -= bytes;
    this.claimedSince += bytes;
    this.underWay += bytes;
  }
}

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
