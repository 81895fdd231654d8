import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { QueueItem } from "../../../../src/runtime/queue/entry/queue-item.js";
import { DelayQueue } from "../../../../src/runtime/queue/schedule/delay-queue.js";

describe("waiting entries", () => {
  it("come out in the order they are due", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { maxLength: 100 }), fc.nat(1000), (times, until) => {
        const waiting = new DelayQueue();
        for (const dueAt of times) waiting.add({ dueAt } as QueueItem);
        const taken: number[] = [];
        for (let item = waiting.take(until); item !== undefined; item = waiting.take(until)) taken.push(item.dueAt);
        expect(taken).toEqual(times.filter((time) => time <= until).sort((a, b) => a - b));
        expect(waiting.size).toBe(times.length - taken.length);
      }),
    );
  });

  it("go by age too, and the others keep their order", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 60 }), fc.nat(60), (times, count) => {
        const waiting = new DelayQueue();
        const items = times.map((dueAt, ref) => ({ ref, dueAt }) as QueueItem);
        for (const item of [...items].reverse()) waiting.add(item);
        for (const item of items.slice(0, count)) {
          expect(waiting.oldest).toBe(item);
          waiting.remove(item);
        }
        const rest: QueueItem[] = [];
        for (let item = waiting.take(1000); item !== undefined; item = waiting.take(1000)) rest.push(item);
        const byTime = (a: QueueItem, b: QueueItem) => a.dueAt - b.dueAt || a.ref - b.ref;
        expect(rest).toEqual(items.slice(count).sort(byTime));
      }),
    );
  });
});
