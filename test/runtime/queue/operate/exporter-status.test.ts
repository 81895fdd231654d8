import { describe, expect, it } from "vitest";
import { down, hangs, startQueue } from "../queue.js";

describe("an exporter is DEGRADED", () => {
  it("with more dead letters than health.max_dead_letters", async () => {
    const settings = { retry_on_failure: { enabled: false }, circuit_breaker: { enabled: false } };
    for (const [max, state] of [
      [1, "DEGRADED"],
      [2, "UP"],
      [0, "UP"],
    ] as const) {
      const queue = await startQueue({ settings: { ...settings, health: { max_dead_letters: max } }, backend: down });
      queue.send("a");
      queue.send("b");
      await queue.settle();
      expect(queue.outlet.status().state).toBe(state);
    }
  });

  it("while a larger share of calls fails than health.max_failure_rate", async () => {
    const fails = { isDown: true };
    const queue = await startQueue({
      settings: { health: { max_failure_rate: 0.5 }, retry_on_failure: { jitter: "none" } },
      backend: async (bodies, batch, abort) => (fails.isDown ? down(bodies, batch, abort) : undefined),
    });
    queue.send("a");
    await queue.settle();
    expect(queue.outlet.status().state).toBe("DEGRADED");
    fails.isDown = false;
    await queue.pass(1000);
    expect(queue.outlet.status().state).toBe("UP");
  });

  it("when an entry waits longer than health.max_queue_age", async () => {
    const queue = await startQueue({ settings: { health: { max_queue_age: "10s" }, timeout: "0s" }, backend: hangs });
    queue.send("a");
    await queue.pass(10_000);
    expect(queue.outlet.status().state).toBe("UP");
    await queue.pass(1);
    expect(queue.outlet.status().state).toBe("DEGRADED");
  });
});

it("says whether calls fail more often than they did", async () => {
  const settings = { retry_on_failure: { enabled: false }, circuit_breaker: { enabled: false } };
  const queue = await startQueue({ settings, backend: down });
  expect(queue.outlet.status().failureTrend).toBe("steady");
  queue.send("a");
  await queue.settle();
  expect(queue.outlet.status().failureTrend).toBe("rising");
  await queue.pass(400_000, 10_000);
  expect(queue.outlet.status().failureTrend).toBe("falling");
});
