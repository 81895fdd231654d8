import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalOfHttp } from "../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { runs } from "../../../support/runs.js";
import { startQueue } from "../queue.js";

const SIZE = 12;

/** A store whose puts finish when they are let. */
class SlowStore extends MemoryStore {
  private readonly waiting: (() => void)[] = [];

  override async put(...args: Parameters<MemoryStore["put"]>) {
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    return super.put(...args);
  }

  finish(count = Number.POSITIVE_INFINITY): void {
    for (const resolve of this.waiting.splice(0, count)) resolve();
  }
}

describe("the room in a queue", () => {
  it("is its size minus its entries, for any puts, deliveries, dead letters, splits and replays", async () => {
    const step = fc.constantFrom("send", "send", "send pair", "put", "deliver", "refuse", "replay", "wake");
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
        const store = new SlowStore({ exporter: "out" });
        const calls: { resolve: () => void; reject: (error: unknown) => void }[] = [];
        const queue = await startQueue({
          store,
          settings: { sending_queue: { queue_size: SIZE, num_consumers: 3 } },
          backend: () => new Promise((resolve, reject) => calls.push({ resolve: () => resolve(undefined), reject })),
        });
        const act: Record<string, () => unknown> = {
          send: () => queue.send("a"),
          "send pair": () => queue.send("a", "b"),
          put: () => store.finish(1),
          deliver: () => calls.shift()?.resolve(),
          refuse: () => calls.shift()?.reject(refusalOfHttp(400, "no", undefined)),
          replay: () => queue.replayAll(),
          wake: () => queue.outlet.onReplayed([]),
        };
        for (const name of steps) {
          await act[name]!();
          await new Promise(setImmediate);
        }
        store.finish();
        await queue.settle();
        const room = Math.max(0, SIZE - store.stats.pending.entries);
        const outcomes = Array.from({ length: SIZE * 3 }, () => queue.send("more"));
        store.finish();
        await queue.settle();
        expect(outcomes.filter(([outcome]) => outcome?.ok).length).toBe(room);
        queue.outlet.abort();
      }),
      runs(30),
    );
  });
});
