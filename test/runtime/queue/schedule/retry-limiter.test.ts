import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RetryLimiter } from "../../../../src/runtime/queue/send/gate.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { down, numbers, startQueue } from "../queue.js";

describe("the retry limiter", () => {
  it("lets a burst through and makes the rest wait for their turns", () => {
    const limiter = new RetryLimiter({ per_second: 10, burst: 3 }, new FakeClock());
    expect([1, 2, 3, 4, 5].map(() => limiter.reserve())).toEqual([0, 0, 0, 100, 200]);
  });

  it("gives no turn to others while an entry waits for it", () => {
    const clock = new FakeClock();
    const limiter = new RetryLimiter({ per_second: 1, burst: 2 }, clock);
    expect([1, 2, 3].map(() => limiter.tryTake())).toEqual([true, true, false]);
    clock.advance(1000);
    expect([1, 2].map(() => limiter.tryTake())).toEqual([true, false]);
  });

  it("never lets more than rate * time + burst through in any window", () => {
    const steps = fc.array(fc.tuple(fc.nat(3000), fc.integer({ min: 1, max: 20 }), fc.boolean()), { maxLength: 60 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 50 }),
        steps,
        (per_second, burst, moves) => {
          const clock = new FakeClock();
          const limiter = new RetryLimiter({ per_second, burst }, clock);
          const turns: number[] = [];
          for (const [ms, calls, waits] of moves) {
            clock.advance(ms);
            for (let i = 0; i < calls; i++) {
              if (waits) turns.push(clock.monotonic() + limiter.reserve());
              else if (limiter.tryTake()) turns.push(clock.monotonic());
            }
          }
          turns.sort((a, b) => a - b);
          turns.forEach((from, i) => {
            for (let j = i; j < turns.length; j++) {
              const allowed = ((turns[j]! - from) / 1000) * per_second + burst;
              expect(j - i + 1).toBeLessThanOrEqual(allowed + 1e-3);
            }
          });
        },
      ),
      runs(60),
    );
  });
});

describe("retries", () => {
  it("stay within their rate, even if they are often requested at once", async () => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        sending_queue: { num_consumers: 1000 },
        retry_on_failure: { jitter: "none", rate_limit: { per_second: 10, burst: 5 } },
      },
      backend: down,
    });
    for (const body of numbers(100)) queue.send(body);
    await queue.settle();
    for (let i = 0; i < 3; i++) {
      queue.outlet.retryNow();
      await queue.settle();
    }
    expect(queue.calls).toHaveLength(105);
    await queue.pass(1000, 100);
    expect(queue.calls.length).toBeLessThanOrEqual(116);
    await queue.pass(10_000, 100);
    expect(queue.calls.length).toBeGreaterThanOrEqual(200);
  });

  it("stay within their rate, and first attempts do not wait for it", async () => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        sending_queue: { num_consumers: 1000 },
        retry_on_failure: { jitter: "none", rate_limit: { per_second: 10, burst: 5 } },
      },
      backend: down,
    });
    for (const body of numbers(100)) queue.send(body);
    await queue.settle();
    expect(queue.calls).toHaveLength(100);
    await queue.pass(1000);
    expect(queue.calls).toHaveLength(105);
    await queue.pass(1000, 100);
    expect(queue.calls.length).toBeLessThanOrEqual(116);
    queue.send("new");
    await queue.settle();
    expect(queue.calls.at(-1)).toEqual(["new"]);
    expect(queue.metrics.value("sluice_retry_limiter_limited")).toBeGreaterThan(90);
  });

  it.each(["dead_letter", "drop"] as const)("over their rate %s, if that is configured", async (on_excess) => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        retry_on_failure: { jitter: "none", rate_limit: { per_second: 1, burst: 2, on_excess } },
      },
      backend: down,
    });
    for (const body of numbers(10)) queue.send(body);
    await queue.pass(1000);
    const dead = await queue.deadLetters();
    expect(dead.length).toBe(on_excess === "dead_letter" ? 8 : 0);
    expect((await queue.pending()).length).toBe(2);
    if (on_excess === "dead_letter") expect(dead[0]?.failure?.reason).toBe("rate_limited");
    else expect(queue.metrics.value("sluice_exporter_dropped")).toBe(8);
  });
});
