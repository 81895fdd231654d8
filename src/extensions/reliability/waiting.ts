import type { Item } from "./item.js";

/** Items that wait for a time, the earliest first: a binary heap. */
export class Waiting {
  private heap: Item[] = [];
  /** None of them, but those that are given up anyway, was born before. */
  private born = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.heap.length;
  }

  /** When the first one is due; undefined when none waits. */
  get nextDue(): number | undefined {
    return this.heap[0]?.dueAt;
  }

  /** When the oldest one was born, or before; undefined when there is none that is not given up anyway. */
  get bornFirst(): number | undefined {
    return this.born === Number.POSITIVE_INFINITY ? undefined : this.born;
  }

  add(item: Item): void {
    const { heap } = this;
    if (item.verdict === undefined) this.born = Math.min(this.born, item.bornAt);
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

  /** All are due by then, but for those whose turn with the retry limiter has a time: that is not theirs to choose. */
  hurry(then: number): void {
    const all = this.heap;
    this.heap = [];
    for (const item of all) {
      if (!item.hasTurn) item.dueAt = Math.min(item.dueAt, then);
      this.add(item);
    }
  }

  /** Takes out all that were born before `then` and are not given up anyway. */
  takeBornBefore(then: number): Item[] {
    if (this.born >= then) return [];
    const isOld = ({ bornAt, verdict }: Item) => bornAt < then && verdict === undefined;
    const old = this.heap.filter(isOld);
    const young = this.heap.filter((item) => !isOld(item));
    this.heap = [];
    this.born = Number.POSITIVE_INFINITY;
    for (const item of young) this.add(item);
    return old;
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
