import type { EntryRef } from "../store.js";
import { refKey } from "./keys.js";
import type { LevelDb } from "./level-db.js";
import type { Removed } from "./transaction.js";

/**
 * Gives disk back. LevelDB keeps what is deleted until it happens to compact it, which for a queue may be never; so the
 * places where much was removed are compacted, and only those: what is live is not rewritten.
 */
export class Reclaim {
  private readonly db: () => LevelDb;
  private readonly threshold: number;
  /** Refs by the thousand in which something was removed. */
  private places = new Set<number>();
  private bytes = 0;
  /** Bytes that the compaction under way will free. */
  private freeing = 0;
  private running: Promise<void> | undefined;
  private turn: Promise<void> | undefined;
  private stopped = false;

  constructor(db: () => LevelDb, threshold = 64 * 1024 * 1024) {
    this.db = db;
    this.threshold = threshold;
  }

  note(removed: readonly Removed[]): void {
    for (const { ref, bytes } of removed) {
      this.places.add(Math.floor(ref / PLACE));
      this.bytes += bytes;
    }
    if (this.bytes >= this.threshold) this.start(this.threshold);
  }

  /** The disk is full: gives back what there is, however little. */
  hurry(): void {
    if (this.bytes > 0) this.start(1);
  }

  /**
   * Resolves when little enough is waiting to be freed: at once, mostly. For those who read in order to remove, so that
   * they do not run away from the disk; those who write need not wait.
   */
  async keepUp(): Promise<void> {
    while (this.freeing + this.bytes > 2.5 * this.threshold && this.running !== undefined) await this.turn;
  }

  /** Resolves when no compaction is under way any more; none is begun until `resume`. */
  async pause(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  resume(): void {
    this.stopped = false;
  }

  private start(threshold: number): void {
    if (this.stopped) return;
    this.running ??= this.run(threshold).finally(() => {
      this.running = undefined;
    });
  }

  private async run(threshold: number): Promise<void> {
    while (this.bytes >= threshold && !this.stopped) {
      const places = [...this.places].sort((a, b) => a - b);
      this.places = new Set();
      this.freeing = this.bytes;
      this.bytes = 0;
      this.turn = this.compactAll(stretches(places));
      await this.turn;
      this.freeing = 0;
    }
  }

  private async compactAll(all: readonly [number, number][]): Promise<void> {
    for (const [first, last] of all) await this.compact(first * PLACE, (last + 1) * PLACE);
  }

  /** An error of compacting shows in the next write or read, where it is dealt with. */
  private async compact(from: EntryRef, to: EntryRef): Promise<void> {
    if (this.stopped) return;
    const ranges = ["p", "c"] as const;
    for (const range of ranges)
      await this.db()
        .compactRange(refKey(range, from), refKey(range, to))
        .catch(() => {});
  }
}

const PLACE = 1024;

function stretches(places: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const place of places) {
    const last = found.at(-1);
    if (last !== undefined && last[1] + 1 === place) last[1] = place;
    else found.push([place, place]);
  }
  return found;
}
