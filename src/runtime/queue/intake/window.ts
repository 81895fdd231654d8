import type { Clock } from "#contract";
import type { EntryRef } from "../store/store.js";

/** The entries that are inside the pipeline, or were refused and wait to be handed in again, and how much they are. */
export class Window {
  private readonly maxBytes: number;
  private readonly clock: Clock;
  private readonly bytes = new Map<EntryRef, number>();
  private usedBytes = 0;
  /** Monotonic time at which an entry last came in, or left. */
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

  /** Milliseconds for which it has been full and nothing has left it; 0 when there is room. */
  get stuckMs(): number {
    return this.isFull ? this.clock.monotonic() - this.movedAt : 0;
  }

  /** One that has a place keeps it. */
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
