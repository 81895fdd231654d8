import type { CompleteSettings } from "#contract/schema";
import type { Amount } from "../store/store.js";

type CapacityLimits = Pick<CompleteSettings["sending_queue"], "queue_size" | "sizer" | "max_bytes">;

/** What is counted of an entry, or of a batch that is to become one. */
export interface Size {
  readonly items: number;
  readonly bytes: number;
}

/**
 * How much more the queue may take. It counts for itself, from the moment something is on its way into the store until
 * it has left the queue: the store's own numbers lag behind by a write.
 */
export class Capacity {
  private readonly limits: CapacityLimits;
  private entries = 0;
  private items = 0;
  private bytes = 0;

  constructor(limits: CapacityLimits) {
    this.limits = limits;
  }

  /** Begins anew, from what is known to be there. */
  reset({ entries, items, bytes }: Amount): void {
    this.entries = entries;
    this.items = items;
    this.bytes = bytes;
  }

  /** Whether all of them have room. What is larger than the whole queue fits when nothing else is in it. */
  fits(sizes: readonly Size[]): boolean {
    if (this.entries === 0) return true;
    const items = sizes.reduce((sum, size) => sum + size.items, 0);
    const bytes = sizes.reduce((sum, size) => sum + size.bytes, 0);
    const { max_bytes, queue_size, sizer } = this.limits;
    if (max_bytes > 0 && this.bytes + bytes > max_bytes) return false;
    if (queue_size === 0) return true;
    if (sizer === "requests") return this.entries + sizes.length <= queue_size;
    return (sizer === "items" ? this.items + items : this.bytes + bytes) <= queue_size;
  }

  add({ items, bytes }: Size): void {
    this.entries += 1;
    this.items += items;
    this.bytes += bytes;
  }

  remove({ items, bytes }: Size): void {
    this.entries -= 1;
    this.items -= items;
    this.bytes -= bytes;
  }
}
