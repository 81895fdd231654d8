import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { QueueItem } from "../../../../src/runtime/queue/entry/queue-item.js";
import { DelayQueue } from "../../../../src/runtime/queue/schedule/delay-queue.js";
import { QueueHead } from "../../../../src/runtime/queue/schedule/queue-head.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { newEntry } from "../store/entries.js";

const LIMITS = { entries: 4, waiting: 3, bytes: 300 };

async function setUp() {
  const store = new MemoryStore({ exporter: "out" });
  await store.open();
  const clock = new FakeClock();
  const waiting = new DelayQueue();
  const head = new QueueHead(store, clock, LIMITS, waiting, () => {});
  return { store, clock, waiting, head };
}

const step = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom("put", "try", "read") },
  { weight: 10, arbitrary: fc.constantFrom("take", "fail", "deliver", "tick") },
  { weight: 1, arbitrary: fc.constant("look") },
);

describe("the head of a queue", () => {
  it("gives every pending entry in the end, none twice at a time, and never has more in memory than its limits", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 200, size: "max" }), async (steps) => {
        const { store, clock, waiting, head } = await setUp();
        const busy: QueueItem[] = [];
        const take = () => {
          const item = head.takeFirst() ?? waiting.take(clock.monotonic());
          if (item === undefined) return;
          expect(busy.map(({ ref }) => ref)).not.toContain(item.ref);
          busy.push(item);
        };
        const act: Record<string, () => unknown> = {
          async put() {
            const entry = newEntry("x");
            head.add(await store.put(entry), entry.batch, undefined);
          },
          take,
          try() {
            take();
            act.fail!();
          },
          fail() {
            const item = busy.shift();
            if (item === undefined) return;
            const history = [{ at: clock.now(), error: "x", delayMs: 1000 }];
            item.entry = { ...item.entry, calls: item.entry.calls + 1, lastAttemptAt: clock.now(), history };
            item.dueAt = clock.monotonic() + 1000;
            store.update(item.ref, item.entry);
            head.delayOrPark(item);
          },
          deliver() {
            const item = busy.shift();
            if (item === undefined) return;
            store.ack(item.ref);
            head.remove(item);
          },
          read: () => head.refill(),
          tick: () => clock.advance(100),
          look: () => head.rescan(),
        };
        for (const name of steps) {
          await act[name]?.();
          expect(waiting.size).toBeLessThanOrEqual(LIMITS.waiting + LIMITS.entries);
          expect(head.size).toBeLessThanOrEqual(2 * LIMITS.entries);
        }
        for (let i = 0; i < 200 && !head.isEmpty; i++) {
          clock.advance(1000);
          head.refill();
          await new Promise(setImmediate);
          take();
          while (busy.length > 0) act.deliver!();
        }
        expect([head.isEmpty, store.stats.pending.entries]).toEqual([true, 0]);
      }),
      runs(40),
    );
  });
});
