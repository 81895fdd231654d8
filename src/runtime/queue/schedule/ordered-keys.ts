import type { QueueItem } from "../entry/queue-item.js";
import type { EntryRef } from "../store/store.js";

interface KeyLine {
  /** The entry that may be sent, in memory or not, or the parts that replaced it. */
  readonly active: Set<EntryRef>;
  /** Entries behind it, by ref. */
  readonly held: Map<EntryRef, QueueItem>;
}

/**
 * Lets only one entry of each order key be sent at a time: the oldest in memory. The others are held until it has
 * left the queue, so an entry that is retried holds up those of its own key and no others.
 */
export class OrderedKeys {
  private readonly lines = new Map<string, KeyLine>();
  /** Number of entries that are held. */
  heldCount = 0;

  /** Returns whether the entry may be sent. Otherwise it is held until `remove` returns it. */
  admit(item: QueueItem): boolean {
    const key = item.entry.orderKey;
    if (key === undefined) return true;
    const line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, { active: new Set([item.ref]), held: new Map() });
    if (line === undefined || line.active.has(item.ref)) return true;
    line.held.set(item.ref, item);
    this.heldCount += 1;
    return false;
  }

  /** To be called with each part of the entry that may be sent, before that entry is removed. */
  addPart({ entry: { orderKey }, ref }: QueueItem): void {
    if (orderKey !== undefined) this.lines.get(orderKey)?.active.add(ref);
  }

  /**
   * To be called when the entry has left the queue. Returns the next entry of its key, which may be sent now; undefined
   * if there is none or another part is still in the queue.
   */
  remove({ entry: { orderKey }, ref }: QueueItem): QueueItem | undefined {
    const line = orderKey === undefined ? undefined : this.lines.get(orderKey);
    if (line === undefined) return undefined;
    if (!line.active.delete(ref)) {
      if (line.held.delete(ref)) this.heldCount -= 1;
      return undefined;
    }
    if (line.active.size > 0) return undefined;
    const next = oldestOf(line.held);
    if (next === undefined) {
      this.lines.delete(orderKey!);
      return undefined;
    }
    line.held.delete(next.ref);
    this.heldCount -= 1;
    line.active.add(next.ref);
    return next;
  }
}

/** Entries are added in the order of the queue, except for few that were stored a moment earlier than others. */
function oldestOf(held: ReadonlyMap<EntryRef, QueueItem>): QueueItem | undefined {
  let oldest: QueueItem | undefined;
  for (const item of held.values()) {
    if (oldest === undefined || item.ref < oldest.ref) oldest = item;
  }
  return oldest;
}
