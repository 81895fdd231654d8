import { Ballast } from "./ballast.js";
import { type DiskPlan, planFor, type ReadDisk, readDisk, sizeWithStores } from "./disk-plan.js";
import { NoSpaceError } from "./no-space.js";

const MIB = 1024 * 1024;
/** The free space is looked at again after so many bytes, or milliseconds. */
const RECHECK_BYTES = 8 * MIB;
const RECHECK_MS = 1000;
/** With less free than so many reserves the ballast is filled; with more than so many it is not needed. */
const RESERVES_OF_A_TIGHT_DISK = 2;
const RESERVES_OF_A_ROOMY_DISK = 3;

/** The free bytes, and how many more removing the ballast would free. */
export interface Room {
  readonly free: number;
  readonly held: number;
}

/** An open store. */
export interface DiskUser {
  /** Gives back what was removed, however little it is. */
  compactNow(): void;
  /** There is room again for entries that move. */
  onRoom(): void;
}

/**
 * The disk that all stores of a directory share: queues, journals, and what operators did.
 *
 * New entries do not fill it to the brim. LevelDB frees nothing without writing first: delivered entries are marked,
 * tables are merged, logs become tables when it is opened. On a disk that the stores themselves have filled it could do none
 * of that, and they would stay full although everything in them was delivered. So a reserve is left for it: what is on its
 * way into a store counts as if it were there already. Where others may fill the disk, half of the reserve is held by a
 * ballast, which is removed when LevelDB needs the room.
 *
 * What a journal hands on is put into another store before the journal may forget it. If new entries could take all room
 * above the reserve, that could never happen on a full disk. So entries that only move may take a part of the reserve:
 * those that move into the queue of an exporter half of it, those that move into a journal the less the further it is
 * from the exporters. So there is always room for the next step on the way out.
 */
export class SharedDisk {
  plan: DiskPlan = planFor(Number.POSITIVE_INFINITY);
  /** When the disk was looked at last. */
  lastRoom: Room | undefined;
  private readonly root: string;
  private readonly ballast: Ballast;
  private readonly readDisk: ReadDisk;
  private readonly now: () => number;
  private readonly users = new Set<DiskUser>();
  private stores = 0;
  private plannedStores = 0;
  private maxDepth = 0;
  /** Free and held when the disk was looked at last, without what was claimed since. */
  private available = 0;
  private claimedSince = 0;
  private measuredAt = Number.NEGATIVE_INFINITY;
  /** The free bytes that an entry needs which was refused on its way from a journal to the next store. */
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

  /** There will be one more store. */
  addStore(): void {
    this.stores++;
  }

  /** The depth of a journal that is opened now, after all stores that it hands on to. */
  nextDepth(): number {
    return ++this.maxDepth;
  }

  use(user: DiskUser): void {
    this.users.add(user);
  }

  leave(user: DiskUser): void {
    this.users.delete(user);
  }

  /** Makes a plan for the disk as it is now, unless there is one for as many stores. */
  async makePlan(): Promise<void> {
    if (this.plannedStores === this.stores) return;
    const { stores } = this;
    const [{ free }, size] = await Promise.all([this.look(), sizeWithStores(this.root)]);
    this.plan = planFor(free + size, stores);
    this.plannedStores = stores;
  }

  /**
   * Takes room for an entry that moves into a store of this depth, or for a new one. Undefined: there is some; otherwise it
   * has to be looked for, and may reject with ENOSPC. Whoever comes while somebody looks stands in line, so that entries
   * keep their order. Who was given room calls `written` when the entry is on the disk, or is not going to be.
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

  /** Looks at the disk, and sees to the ballast. Rejects with ENOSPC when there is no room for new entries. */
  check(): Promise<void> {
    this.checking ??= this.checkNow().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  /** Runs one compaction at a time: they share a thread of LevelDB anyway. `isTight`: it may come to the end of the disk. */
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

  giveUpBallast(): Promise<void> {
    return this.ballast.giveUp();
  }

  private async checkNow(): Promise<void> {
    const room = await this.look();
    await this.keepBallast(room);
    const left = room.free + room.held;
    this.tellOfRoom(left);
    if (left < this.plan.reserve) throw new NoSpaceError(left, this.plan.reserve);
  }

  private tellOfRoom(left: number): void {
    if (this.awaited === undefined || left < this.awaited) return;
    this.awaited = undefined;
    for (const user of this.users) user.onRoom();
  }

  /** Filling it never takes what new entries, of this agent or another one, may have. */
  private async keepBallast({ free, held }: Room): Promise<void> {
    const { reserve, ballast } = this.plan;
    if (free >= RESERVES_OF_A_ROOMY_DISK * reserve) {
      if (held > 0) await this.ballast.giveUp();
    } else if (held > ballast) await this.ballast.fill(ballast);
    else if (held < ballast && free < RESERVES_OF_A_TIGHT_DISK * reserve && free - (ballast - held) >= reserve)
      await this.ballast.fill(ballast);
  }

  /** A compaction frees more than it takes, so the ballast is removed for it. */
  private async prepareCompaction(): Promise<boolean> {
    const { free, held } = await this.look();
    if (this.needsBallast({ free, held })) await this.ballast.giveUp();
    return free < RESERVES_OF_A_ROOMY_DISK * this.plan.reserve;
  }

  /** New entries leave as much free as the ballast holds. With half of that gone, what is to be written may not find room. */
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
      const least = this.leastFor(bytes, depth);
      if (depth !== "new") this.awaited = Math.max(this.awaited ?? 0, least + bytes);
      throw new NoSpaceError(this.available, least);
    }
    this.grant(bytes);
    const left = free - this.underWay;
    if (this.needsBallast({ free: left, held })) await this.ballast.giveUp();
    else void this.keepBallast({ free: left, held });
  }

  private hasRoom(bytes: number, depth: number | "new"): boolean {
    return this.available >= this.leastFor(bytes, depth);
  }

  /** An entry that moves may be larger than the part of the reserve that is for it: it is about to leave its last place. */
  private leastFor(bytes: number, depth: number | "new"): number {
    const { reserve } = this.plan;
    if (depth === "new") return reserve + bytes;
    return Math.ceil(reserve * (0.5 + (0.5 * depth) / (this.maxDepth + 1)));
  }

  private grant(bytes: number): void {
    this.available -= bytes;
    this.claimedSince += bytes;
    this.underWay += bytes;
  }
}
