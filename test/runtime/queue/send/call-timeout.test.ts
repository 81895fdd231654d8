import { describe, expect, it } from "vitest";
import type { Refusal } from "../../../../src/plugin.js";
import { CallTimeout } from "../../../../src/runtime/queue/send/sender.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { startQueue } from "../queue.js";

describe("the timeout of calls", () => {
  it("ends each call in time with one timer, and a call that ignores the abort a little later", () => {
    const clock = new FakeClock();
    const timeout = new CallTimeout("x", 1000, clock);
    const abandoned: string[] = [];
    const begin = (name: string) => timeout.begin((refusal: Refusal) => abandoned.push(`${name} ${refusal.code}`));
    const a = begin("a");
    clock.advance(400);
    const b = begin("b");
    const c = begin("c");
    expect(clock.pending).toBe(1);
    timeout.end(c);
    clock.advance(600);
    expect([a, b, c].map(({ controller }) => controller.signal.aborted)).toEqual([true, false, false]);
    expect(a.controller.signal.reason).toMatchObject({ code: "SLUICE_TIMEOUT", kind: "transient" });
    clock.advance(400);
    expect([b, c].map(({ controller }) => controller.signal.aborted)).toEqual([true, false]);
    clock.advance(1000);
    expect(abandoned).toEqual(["a SLUICE_TIMEOUT", "b SLUICE_TIMEOUT"]);
    expect(clock.pending).toBe(0);
  });

  it("reuses a signal that was not aborted for a while, and never an aborted one", () => {
    const clock = new FakeClock();
    const timeout = new CallTimeout("x", 1000, clock);
    const next = () => timeout.begin(() => {});
    const used = new Set<AbortController>();
    for (let i = 0; i < 640; i++) {
      const call = next();
      used.add(call.controller);
      timeout.end(call);
    }
    expect(used.size).toBe(10);
    const late = next();
    clock.advance(1000);
    timeout.end(late);
    expect(next().controller).not.toBe(late.controller);
  });

  it("waits for ever with 0", () => {
    const clock = new FakeClock();
    const call = new CallTimeout("x", 0, clock).begin(() => {});
    clock.advance(1e9);
    expect(call.controller.signal.aborted).toBe(false);
  });

  it("frees a place that an exporter holds on to although its time is up", async () => {
    const queue = await startQueue({
      settings: { timeout: "1s", sending_queue: { num_consumers: 1 } },
      backend: async ([body]) => (body === "stuck" ? new Promise(() => {}) : undefined),
    });
    queue.send("stuck");
    queue.send("b");
    await queue.pass(2000, 500);
    expect(queue.taken).toEqual(["b"]);
    const [stored] = await queue.store.pending(undefined, 1);
    expect(stored?.entry.lastError).toMatchObject({ class: "SLUICE_TIMEOUT" });
  });
});
