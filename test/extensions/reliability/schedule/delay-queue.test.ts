import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { QueueItem } from "../../../../src/extensions/reliability/entry/queue-item.js";
import { DelayQueue } from "../../../../src/extensions/reliability/schedule/delay-queue.js";

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
});
