import { type KeyRange, RANGES, refKey } from "../format/layout.js";
import type { EntryRef } from "../store.js";
import type { LevelDb } from "./level-db.js";
import type { RemovedPayload } from "./transaction.js";

interface CompactorSettings {
  /** After this many removed bytes, their space is freed at once. Smaller amounts wait for a quiet moment. */
  readonly threshold: () => number;
  /** Milliseconds without removals that count as quiet. */
  readonly quietMs: number;
  /** Runs a compaction when it is its turn on the disk. `isTight`: the disk may become full meanwhile. */
  readonly inTurn: (work: (isTight: boolean) => Promise<void>) => Promise<void>;
}

/**
 * Frees disk space. LevelDB keeps deleted data until it happens to compact it, which for a queue may be never. So the
 * ranges with many removals are compacted, and only those, so that live data is not rewritten. Data that earlier
 * processes removed without freeing its space is included.
 */
export class Compactor {
  private readonly settings: CompactorSettings;
  /** Segments (of SEGMENT_REFS refs each) with removed entries. */
  private removedSegments = new Set<number>();
  private removedBytes = 0;
  /** Bytes removed by earlier processes, and the ref before which they are. */
  private inherited: { readonly bytes: number; readonly before: EntryRef } | undefined;
  /** Bytes that the compaction under way will free. */
  private bytesBeingFreed = 0;
  private running: Promise<void> | undefined;
  private round: Promise<void> | undefined;
  private erasing: Promise<void> | undefined;
  /** A compaction that runs without concurrent writes, or is about to. */
  private alone: Promise<void> | undefined;
  private writing: Promise<void> | undefined;
  /** The open database. Undefined while the compactor is paused. */
  private db: LevelDb | undefined;
  private quietTimer: NodeJS.Timeout | undefined;
  private isQuiet = true;

  constructor(settings: CompactorSettings) {
    this.settings = settings;
  }

  noteRemoved(removed: readonly RemovedPayload[]): void {
    if (removed.length === 0) return;
    for (const { ref, bytes } of removed) {
      this.removedSegments.add(Math.floor(ref / SEGMENT_REFS));
      this.removedBytes += bytes;
    }
    this.start(this.settings.threshold());
    this.waitForQuiet();
  }

  /** To be called with the garbage found when the store is opened. */
  noteInherited(bytes: number, before: EntryRef): void {
    this.inherited = bytes > 0 ? { bytes, before } : undefined;
    this.start(this.settings.threshold());
    this.waitForQuiet();
  }

  /** To be called when the disk is full. Compacts even if little can be freed. */
  compactNow(): void {
    this.start(this.settings.threshold() / 16);
  }

  /** Compacts ranges of refs, both ends included, with everything in them. For data that must not stay in any file. */
  async compactRuns(runs: readonly (readonly [EntryRef, EntryRef])[]): Promise<void> {
    const before = this.erasing;
    this.erasing = (async () => {
      await before;
      for (const [first, last] of runs) await this.compact(first, last + 1, ALL_BY_REF);
    })();
    await this.erasing;
  }

  /**
   * Resolves, mostly at once, when little enough is waiting to be freed. For callers that read in order to remove, so
   * that removals do not outrun the compaction. Writers need not wait.
   */
  async waitUntilCaughtUp(): Promise<void> {
    while (this.bytesBeingFreed + this.removedBytes > 2 * this.settings.threshold() && this.running !== undefined)
      await this.round;
  }

  /**
   * Runs a LevelDB write, one at a time, and none while a compaction runs on a tight disk. A write may fill LevelDB's
   * memory table, which is then written to disk in the middle of a compaction. If the disk is full at that moment,
   * LevelDB reports the error to the waiting compaction, which withdraws its request, and then crashes because the
   * request is gone.
   */
  async write(work: () => Promise<void>): Promise<void> {
    while (this.alone !== undefined) await this.alone;
    this.writing = work();
    try {
      await this.writing;
    } finally {
      this.writing = undefined;
    }
  }

  /** Resolves when no compaction is under way. None is started until `resume`. */
  async pause(): Promise<void> {
    this.db = undefined;
    clearTimeout(this.quietTimer);
    this.quietTimer = undefined;
    await this.running;
    await this.erasing;
  }

  resume(db: LevelDb): void {
    this.db = db;
  }

  private get bytesToFree(): number {
    return this.removedBytes + (this.inherited?.bytes ?? 0);
  }

  private start(threshold: number): void {
    if (this.db === undefined || this.bytesToFree < threshold) return;
    this.running ??= this.run(threshold).finally(() => {
      this.running = undefined;
    });
  }

  private waitForQuiet(): void {
    this.isQuiet = false;
    if (this.db !== undefined) this.quietTimer ??= setTimeout(() => this.onQuietTimer(), this.settings.quietMs).unref();
  }

  private onQuietTimer(): void {
    this.quietTimer = undefined;
    if (this.isQuiet) this.start(Math.min(MIN_QUIET_BYTES, this.settings.threshold()));
    else if (this.bytesToFree > 0) {
      this.waitForQuiet();
      this.isQuiet = true;
    }
  }

  private async run(threshold: number): Promise<void> {
    while (this.bytesToFree >= threshold && this.db !== undefined) {
      const segments = [...this.removedSegments].sort((a, b) => a - b);
      const { inherited } = this;
      this.removedSegments = new Set();
      this.bytesBeingFreed = this.removedBytes;
      this.removedBytes = 0;
      this.inherited = undefined;
      this.round = this.compactAll(runsOf(segments), inherited?.before);
      await this.round;
      this.bytesBeingFreed = 0;
    }
  }

  private async compactAll(runs: readonly [number, number][], inheritedBefore: EntryRef | undefined): Promise<void> {
    for (const [first, last] of runs) await this.compact(first * SEGMENT_REFS, (last + 1) * SEGMENT_REFS, PAYLOADS);
    if (inheritedBefore !== undefined) await this.compact(0, inheritedBefore, ALL_BY_REF);
  }

  /** An error of a compaction shows in the next write or read, where it is handled. */
  private async compact(from: EntryRef, to: EntryRef, ranges: readonly KeyRange[]): Promise<void> {
    for (const range of ranges) {
      if (this.db === undefined) return;
      const work = async () => this.db?.compactRange(refKey(range, from), refKey(range, to));
      await this.settings.inTurn((isTight) => (isTight ? this.compactAlone(work) : work())).catch(() => {});
    }
  }

  private async compactAlone(work: () => Promise<void>): Promise<void> {
    while (this.alone !== undefined) await this.alone;
    this.alone = (async () => {
      await this.writing?.catch(() => {});
      await work().catch(() => {});
    })().finally(() => {
      this.alone = undefined;
    });
    await this.alone;
  }
}

const PAYLOADS = [RANGES.entry, RANGES.chunk];
const ALL_BY_REF = [...PAYLOADS, RANGES.failed, RANGES.update];
/** Smaller amounts are not worth a compaction, however quiet it is. */
const MIN_QUIET_BYTES = 8 * 1024 * 1024;
/** Segments are small because entries may be large, and live data in a segment is rewritten with it. */
const SEGMENT_REFS = 16;
/** Every compaction first writes LevelDB's memory table to disk, so neighbouring segments are compacted together. */
const MAX_SEGMENT_GAP = 64;

function runsOf(segments: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const segment of segments) {
    const last = runs.at(-1);
    if (last !== undefined && segment - last[1] <= MAX_SEGMENT_GAP) last[1] = segment;
    else runs.push([segment, segment]);
  }
  return runs;
}
