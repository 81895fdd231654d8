import type { CompleteSettings } from "#contract/schema";
import type { Amount } from "../store/store.js";

type CapacityLimits = Pick<CompleteSettings["sending_queue"], "queue_size" | "sizer" | "max_bytes">;

/** The size of an entry, or of a batch that is to become one. */
export interface Size {
  readonly items: number;
  readonly bytes: number;
}

/**
 * The free space of the queue. It keeps its own counts, from the moment an entry is on its way into the store until it
 * has left the queue, because the store's counts lag behind by one write.
 */
export class Capacity {
  private readonly limits: CapacityLimits;
  private entries = 0;
  private items = 0;
  private bytes = 0;

  constructor(limits: CapacityLimits) {
    this.limits = limits;
  }

  /** Sets the counts to what is known to be in the queue. */
  reset({ entries, items, bytes }: Amount): void {
    this.entries = entries;
    this.items = items;
    this.bytes = bytes;
  }

  /** Whether there is room for all sizes. A batch larger than the whole queue fits if the queue is empty. */
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
