import type { Clock } from "#contract";
import type { EntryRef } from "../store/store.js";

/** The entries that are inside the pipeline, or were refused and wait for a retry, and their total size. */
export class Window {
  private readonly maxBytes: number;
  private readonly clock: Clock;
  private readonly bytes = new Map<EntryRef, number>();
  private usedBytes = 0;
  /** Monotonic time when an entry was last added or removed. */
  private movedAt = 0;

  constructor(maxBytes: number, clock: Clock) {
    this.maxBytes = maxBytes;
    this.clock = clock;
  }

  get size(): number {
    return this.bytes.size;
  }

  get isFull(): boolean {
    return this.usedBytes >= this.maxBytes;
  }

  /** Milliseconds since the window became full without any entry leaving; 0 if there is room. */
  get stuckMs(): number {
    return this.isFull ? this.clock.monotonic() - this.movedAt : 0;
  }

  /** An entry that is already in the window keeps its place. */
  add(ref: EntryRef, bytes: number): void {
    if (this.bytes.has(ref)) return;
    this.bytes.set(ref, bytes);
    this.usedBytes += bytes;
    this.movedAt = this.clock.monotonic();
  }

  remove(ref: EntryRef): void {
    this.usedBytes -= this.bytes.get(ref) ?? 0;
    this.bytes.delete(ref);
    this.movedAt = this.clock.monotonic();
  }
}
