import { RANGES, refKey } from "../format/keys.js";
import type { EntryRef } from "../store.js";
import type { LevelDb } from "./level-db.js";
import type { RemovedPayload } from "./transaction.js";

/**
 * Gives disk back. LevelDB keeps what is deleted until it happens to compact it, which for a queue may be never; so the
 * places where much was removed are compacted, and only those: what is live is not rewritten.
 */
export class Compactor {
  private readonly db: () => LevelDb;
  private readonly threshold: number;
  /** Segments (of SEGMENT_REFS refs each) in which something was removed. */
  private removedSegments = new Set<number>();
  private removedBytes = 0;
  /** Bytes that the compaction under way will free. */
  private bytesBeingFreed = 0;
  private running: Promise<void> | undefined;
  private round: Promise<void> | undefined;
  private paused = false;

  constructor(db: () => LevelDb, threshold = 64 * 1024 * 1024) {
    this.db = db;
    this.threshold = threshold;
  }

  noteRemoved(removed: readonly RemovedPayload[]): void {
    for (const { ref, bytes } of removed) {
      this.removedSegments.add(Math.floor(ref / SEGMENT_REFS));
      this.removedBytes += bytes;
    }
    if (this.removedBytes >= this.threshold) this.start(this.threshold);
  }

  /** The disk is full: gives back what there is, however little. */
  compactNow(): void {
    if (this.removedBytes > 0) this.start(1);
  }

  /**
   * Resolves when little enough is waiting to be freed: at once, mostly. For those who read in order to remove, so that
   * they do not run away from the disk; those who write need not wait.
   */
  async waitUntilCaughtUp(): Promise<void> {
    while (this.bytesBeingFreed + this.removedBytes > 2.5 * this.threshold && this.running !== undefined)
      await this.round;
  }

  /** Resolves when no compaction is under way any more; none is begun until `resume`. */
  async pause(): Promise<void> {
    this.paused = true;
    await this.running;
  }

  resume(): void {
    this.paused = false;
  }

  private start(threshold: number): void {
    if (this.paused) return;
    this.running ??= this.run(threshold).finally(() => {
      this.running = undefined;
    });
  }

  private async run(threshold: number): Promise<void> {
    while (this.removedBytes >= threshold && !this.paused) {
      const segments = [...this.removedSegments].sort((a, b) => a - b);
      this.removedSegments = new Set();
      this.bytesBeingFreed = this.removedBytes;
      this.removedBytes = 0;
      this.round = this.compactAll(runsOf(segments));
      await this.round;
      this.bytesBeingFreed = 0;
    }
  }

  private async compactAll(runs: readonly [number, number][]): Promise<void> {
    for (const [first, last] of runs) await this.compact(first * SEGMENT_REFS, (last + 1) * SEGMENT_REFS);
  }

  /** An error of compacting shows in the next write or read, where it is dealt with. */
  private async compact(from: EntryRef, to: EntryRef): Promise<void> {
    if (this.paused) return;
    for (const range of [RANGES.entry, RANGES.chunk])
      await this.db()
        .compactRange(refKey(range, from), refKey(range, to))
        .catch(() => {});
  }
}

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
