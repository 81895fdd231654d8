import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { type Backend, down, http, startQueue } from "../queue.js";

const batching = { metadataKeys: ["tenant"] };

describe("entries that are merged with some and kept apart from others", () => {
  it("take turns: one client that always has enough does not starve another", async () => {
    let answer = () => {};
    const backend: Backend = () =>
      new Promise((resolve) => {
        answer = () => resolve(undefined);
      });
    const settings = { sending_queue: { num_consumers: 1 } };
    const queue = await startQueue({ batching: { ...batching, minSize: 2 }, backend, settings });
    queue.sendFrom("busy", "a", "b");
    await queue.settle();
    queue.sendFrom("quiet", "quiet");
    for (let i = 0; i < 3; i++) {
      queue.sendFrom("busy", `a${i}`, `b${i}`);
      await queue.pass(250);
      answer();
      await queue.settle();
    }
    expect(queue.taken).toContain("quiet");
  });

  it("are merged when all retries are due at once, though they lie between each other", async () => {
    let isDown = true;
    const backend: Backend = async () => {
      if (isDown) throw http(503);
      return undefined;
    };
    const settings = { circuit_breaker: { enabled: false }, retry_on_failure: { initial_interval: "60s" } };
    const queue = await startQueue({ batching, backend, settings });
    for (let i = 0; i < 50; i++) {
      queue.sendFrom("a", `a${i}`);
      queue.sendFrom("b", `b${i}`);
    }
    await queue.pass(210);
    expect(queue.calls.length).toBe(2);
    isDown = false;
    queue.outlet.retryNow();
    await queue.settle();
    expect(queue.taken.length).toBe(100);
    expect(queue.calls.length).toBe(4);
  });

  it("are not given up with retries above their limit if they have never been tried", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const settings = {
      circuit_breaker: { enabled: false },
      retry_on_failure: { jitter: "none", rate_limit: { per_second: 0.001, burst: 1, on_excess: "drop" } },
    };
    const first = await startQueue({ store, clock, batching, settings, backend: down });
    first.sendFrom("x", "retry x");
    first.sendFrom("y", "retry y");
    await first.pass(250);
    first.sendFrom("y", "fresh y");
    await first.settle();
    first.outlet.abort();
    await first.outlet.stop();
    clock.advance(10_000);
    const second = await startQueue({ store, clock, batching, settings });
    await second.pass(1000);
    expect(second.taken.toSorted()).toEqual(["fresh y", "retry x"]);
    expect(second.metrics.value("sluice_exporter_dropped")).toBe(1);
  });
});
