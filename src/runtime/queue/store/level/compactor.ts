import { type KeyRange, RANGES, refKey } from "../format/keys.js";
import type { EntryRef } from "../store.js";
import type { LevelDb } from "./level-db.js";
import type { RemovedPayload } from "./transaction.js";

export interface CompactorSettings {
  readonly db: () => LevelDb;
  /** When so many bytes were removed, they are given back at once; fewer wait for a quiet moment. */
  readonly threshold: () => number;
  /** It is quiet when nothing was removed for so long. */
  readonly quietMs: number;
  /** Runs a compaction when it is its turn on the disk. `isTight`: the disk may run full meanwhile. */
  readonly inTurn: (work: (isTight: boolean) => Promise<void>) => Promise<void>;
}

/**
 * Gives disk back. LevelDB keeps what is deleted until it happens to compact it, which for a queue may be never; so the
 * places where much was removed are compacted, and only those: what is live is not rewritten. What former processes
 * have removed and not given back counts too.
 */
export class Compactor {
  private readonly settings: CompactorSettings;
  /** Segments (of SEGMENT_REFS refs each) in which something was removed. */
  private removedSegments = new Set<number>();
  private removedBytes = 0;
  /** Bytes that former processes have removed, and the ref before which they are. */
  private inherited: { readonly bytes: number; readonly before: EntryRef } | undefined;
  /** Bytes that the compaction under way will free. */
  private bytesBeingFreed = 0;
  private running: Promise<void> | undefined;
  private round: Promise<void> | undefined;
  private erasing: Promise<void> | undefined;
  /** A compaction that is alone with LevelDB, or about to be. */
  private alone: Promise<void> | undefined;
  private writing: Promise<void> | undefined;
  private paused = false;
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

  /** To be called with what is found when the store is opened. */
  noteInherited(bytes: number, before: EntryRef): void {
    this.inherited = bytes > 0 ? { bytes, before } : undefined;
    this.start(this.settings.threshold());
    this.waitForQuiet();
  }

  /** The disk is full: gives back what there is, however little is worth it. */
  compactNow(): void {
    this.start(this.settings.threshold() / 16);
  }

  /** Compacts stretches of refs, both ends included, with all that is in them: for what must not be in any file any more. */
  async compactRuns(runs: readonly (readonly [EntryRef, EntryRef])[]): Promise<void> {
    const before = this.erasing;
    this.erasing = (async () => {
      await before;
      for (const [first, last] of runs) await this.compact(first, last + 1, ALL_BY_REF);
    })();
    await this.erasing;
  }

  /**
   * Resolves when little enough is waiting to be freed: at once, mostly. For those who read in order to remove, so that
   * they do not run away from the disk; those who write need not wait.
   */
  async waitUntilCaughtUp(): Promise<void> {
    while (this.bytesBeingFreed + this.removedBytes > 2 * this.settings.threshold() && this.running !== undefined)
      await this.round;
  }

  /**
   * Runs a write of LevelDB, one at a time; none while something is compacted on a tight disk. A write may leave a table to be made
   * of what is in memory, which is done in the midst of a compaction. When the disk is full for it, LevelDB tells whoever
   * waits for the compaction, takes his wish back, and then crashes for the lack of it.
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

  /** Resolves when no compaction is under way any more; none is begun until `resume`. */
  async pause(): Promise<void> {
    this.paused = true;
    clearTimeout(this.quietTimer);
    this.quietTimer = undefined;
    await this.running;
    await this.erasing;
  }

  resume(): void {
    this.paused = false;
  }

  private get bytesToFree(): number {
    return this.removedBytes + (this.inherited?.bytes ?? 0);
  }

  private start(threshold: number): void {
    if (this.paused || this.bytesToFree < threshold) return;
    this.running ??= this.run(threshold).finally(() => {
      this.running = undefined;
    });
  }

  private waitForQuiet(): void {
    this.isQuiet = false;
    if (!this.paused) this.quietTimer ??= setTimeout(() => this.onQuietTimer(), this.settings.quietMs).unref();
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
    while (this.bytesToFree >= threshold && !this.paused) {
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

  /** An error of compacting shows in the next write or read, where it is dealt with. */
  private async compact(from: EntryRef, to: EntryRef, ranges: readonly KeyRange[]): Promise<void> {
    for (const range of ranges) {
      if (this.paused) return;
      const work = async () => {
        if (!this.paused) await this.settings.db().compactRange(refKey(range, from), refKey(range, to));
      };
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
/** Fewer are not worth a compaction, however quiet it is. */
const MIN_QUIET_BYTES = 8 * 1024 * 1024;
/** Segments are small since entries may be large: what is live in a segment is rewritten with it. */
const SEGMENT_REFS = 16;
/** Every compaction writes out what is in memory first, so segments that are near each other are compacted together. */
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
