import type { Batch, CompleteSettings } from "../../plugin.js";
import type { Amount, QueueStore } from "./store/store.js";

type Limits = Pick<CompleteSettings["sending_queue"], "queue_size" | "sizer" | "max_bytes">;

/** How much more the queue may take: what is in the store, and what is being put into it, count. */
export class Capacity {
  private readonly limits: Limits;
  private readonly store: QueueStore;
  private entries = 0;
  private items = 0;
  private bytes = 0;

  constructor(limits: Limits, store: QueueStore) {
    this.limits = limits;
    this.store = store;
  }

  /** What is larger than the whole queue fits when nothing else is in it. */
  fits(batch: Batch): boolean {
    const { pending } = this.store.stats;
    if (pending.entries + this.entries === 0) return true;
    const { max_bytes, queue_size } = this.limits;
    if (max_bytes > 0 && pending.bytes + this.bytes + batch.byteLength > max_bytes) return false;
    return queue_size === 0 || this.used(pending) + this.sizeOf(batch) <= queue_size;
  }

  /** A put begins (1) or has ended (-1). */
  note(batch: Batch, times: 1 | -1): void {
    this.entries += times;
    this.items += times * batch.count;
    this.bytes += times * batch.byteLength;
  }

  private used(pending: Amount): number {
    const { sizer } = this.limits;
    if (sizer === "requests") return pending.entries + this.entries;
    return sizer === "items" ? pending.items + this.items : pending.bytes + this.bytes;
  }

  private sizeOf(batch: Batch): number {
    const { sizer } = this.limits;
    return sizer === "requests" ? 1 : sizer === "items" ? batch.count : batch.byteLength;
  }
}
