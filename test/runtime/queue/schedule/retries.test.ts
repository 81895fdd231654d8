import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { down, failing, http, numbers, startQueue } from "../queue.js";

describe("retries", () => {
  it("come after the backoff, do not block those behind, and are recorded on the entry", async () => {
    const queue = await startQueue({
      settings: { sending_queue: { num_consumers: 1 } },
      backend: async ([body]) => {
        if (body === "slow" && queue.calls.length < 4) throw http(500);
        return undefined;
      },
    });
    queue.send("slow");
    queue.send("b");
    await queue.settle();
    expect(queue.taken).toEqual(["b"]);
    const [stored] = await queue.store.pending(undefined, 1);
    expect(stored?.entry).toMatchObject({
      attempts: 1,
      calls: 1,
      lastError: { class: "HTTP 500" },
      history: [{ error: "HTTP 500", delayMs: 500 }],
    });
    await queue.pass(499);
    expect(queue.calls).toHaveLength(2);
    await queue.pass(1);
    expect(queue.calls).toHaveLength(3);
    await queue.pass(1000);
    expect(queue.taken).toEqual(["b", "slow"]);
    expect(queue.metrics.value("sluice_exporter_retries", { attempt: "1" })).toBe(1);
    expect(queue.metrics.value("sluice_exporter_retries")).toBe(2);
  });

  it("wait as long as the backend asks for", async () => {
    const queue = await startQueue({
      backend: async () => {
        if (queue.calls.length === 1) throw http(429, 90_000);
        return undefined;
      },
    });
    queue.send("a");
    await queue.pass(89_999);
    expect(queue.calls).toHaveLength(1);
    await queue.pass(1);
    expect(queue.taken).toEqual(["a"]);
  });

  it("end in a dead letter with the true number of attempts", async () => {
    const queue = await startQueue({ settings: { circuit_breaker: { enabled: false } }, backend: failing });
    queue.send("a");
    await queue.pass(120_000, 1000);
    expect(queue.calls).toHaveLength(6);
    expect(await queue.deadLetters()).toMatchObject([
      {
        attempts: 6,
        calls: 6,
        failure: { reason: "retry_exhausted", category: "downstream_error", error: { class: "HTTP 500" } },
      },
    ]);
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("sluice_exporter_retries_exhausted")).toBe(1);
    expect(queue.metrics.value("sluice_dead_letters", { reason: "retry_exhausted", error_class: "HTTP 500" })).toBe(1);
    expect(queue.metrics.value("sluice_dead_letters_entries")).toBe(1);
    const told = queue.lines.filter(({ message }) => message.includes("dead letter"));
    expect(told).toMatchObject([{ fields: { reason: "retry_exhausted", attempts: 6, error: "HTTP 500" } }]);
    expect(JSON.stringify(queue.lines)).not.toContain('"a"');
  });

  it("can be off, and can be limited in time", async () => {
    const off = { retry_on_failure: { enabled: false } };
    const timed = {
      circuit_breaker: { enabled: false },
      retry_on_failure: { max_retries: 1000, max_elapsed_time: "10s" },
    };
    for (const [settings, calls] of [
      [off, 1],
      [timed, 6],
    ] as const) {
      const queue = await startQueue({ settings, backend: failing });
      queue.send("a");
      await queue.pass(60_000, 500);
      expect(queue.calls.length).toBe(calls);
      expect(await queue.deadLetters()).toMatchObject([{ failure: { reason: "retry_exhausted" } }]);
    }
  });

  it("continue their count after a restart", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const settings = { circuit_breaker: { enabled: false } };
    const first = await startQueue({ store, clock, settings, backend: failing });
    first.send("a");
    await first.pass(2000, 500);
    await first.outlet.drain();
    await first.outlet.stop();
    const second = await startQueue({ store, clock, settings, backend: failing });
    await second.pass(120_000, 1000);
    expect(first.calls.length + second.calls.length).toBe(6);
    expect(await second.deadLetters()).toMatchObject([{ attempts: 6, calls: 6 }]);
    expect(second.keys[0]).toBe(first.keys[0]);
  });

  it("stay in the queue when the agent stops in the middle of them", async () => {
    const queue = await startQueue({ backend: down });
    queue.send("a");
    await queue.settle();
    await queue.outlet.drain();
    await queue.pass(100_000, 10_000);
    expect(queue.calls).toHaveLength(1);
    expect(await queue.pending()).toEqual(["a"]);
    expect(queue.clock.pending).toBe(0);
  });

  it("keep the time they are due over a restart", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const first = await startQueue({
      store,
      clock,
      backend: async () => {
        throw http(429, 90_000);
      },
    });
    first.send("a");
    await first.pass(10_000);
    await first.outlet.drain();
    await first.outlet.stop();
    const second = await startQueue({ store, clock });
    await second.pass(79_000, 1000);
    expect(second.calls).toEqual([]);
    await second.pass(1000);
    expect(second.taken).toEqual(["a"]);
  });

  it("wait for what the backend asks for, but not for years", async () => {
    let isDown = true;
    const backend = async () => {
      if (isDown) throw http(429, 999_999_999_000);
      return undefined;
    };
    const queue = await startQueue({ backend, settings: { retry_on_failure: { max_retry_after: "2h" } } });
    queue.send("a");
    await queue.settle();
    isDown = false;
    await queue.pass(7_199_000, 600_000);
    expect(queue.calls).toHaveLength(1);
    await queue.pass(1000);
    expect(queue.taken).toEqual(["a"]);
  });

  it("are made at once on request, in memory or not, and wait again if that fails", async () => {
    let isDown = true;
    const backend = async () => {
      if (isDown) throw http(429, 3_600_000);
      return undefined;
    };
    const limits = { entries: 4, waiting: 6, bytes: 1 << 20 };
    const settings = { circuit_breaker: { enabled: false }, retry_on_failure: { rate_limit: { per_second: 1000 } } };
    const queue = await startQueue({ backend, limits, settings });
    const bodies = numbers(30);
    for (const body of bodies) queue.send(body);
    await queue.settle();
    await queue.pass(10_000, 1000);
    const before = queue.calls.length;
    expect(before).toBe(bodies.length);
    queue.outlet.retryNow();
    await queue.pass(10_000, 1000);
    const after = queue.calls.length;
    expect(after).toBeGreaterThanOrEqual(before + limits.waiting);
    await queue.pass(600_000, 60_000);
    expect(queue.calls.length).toBe(after);
    isDown = false;
    queue.outlet.retryNow();
    await queue.pass(10_000, 1000);
    expect(queue.taken.toSorted()).toEqual(bodies.toSorted());
  });

  it("wait after a restart no longer than the config allows then", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const backend = async () => {
      throw http(503, 999_999_999_000);
    };
    const first = await startQueue({ store, clock, backend });
    first.send("a");
    await first.settle();
    await first.outlet.drain();
    await first.outlet.stop();
    const second = await startQueue({ store, clock, settings: { retry_on_failure: { max_retry_after: "0s" } } });
    await second.pass(59_000, 1000);
    expect(second.calls).toEqual([]);
    await second.pass(1000);
    expect(second.taken).toEqual(["a"]);
  });
});
