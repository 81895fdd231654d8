import type { Item } from "./item.js";

/** Items that wait for a time, the earliest first: a binary heap. */
export class Waiting {
  private readonly heap: Item[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** When the first one is due; undefined when none waits. */
  get nextDue(): number | undefined {
    return this.heap[0]?.dueAt;
  }

  add(item: Item): void {
    const { heap } = this;
    let at = heap.push(item) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (heap[above]!.dueAt <= item.dueAt) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = item;
  }

  /** The earliest, if it is due by then. */
  take(until: number): Item | undefined {
    const first = this.heap[0];
    if (first === undefined || first.dueAt > until) return undefined;
    const last = this.heap.pop()!;
    if (last !== first) this.sink(last);
    return first;
  }

  private sink(item: Item): void {
    const { heap } = this;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && heap[below + 1]!.dueAt < heap[below]!.dueAt) below += 1;
      if (heap[below]!.dueAt >= item.dueAt) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = item;
  }
}
