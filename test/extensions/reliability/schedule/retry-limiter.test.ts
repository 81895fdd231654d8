import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RetryLimiter } from "../../../../src/extensions/reliability/schedule/gate.js";
import { FakeClock } from "../../../support/fake-clock.js";

describe("the retry limiter", () => {
  it("lets a burst through and makes the rest wait for their turns", () => {
    const limiter = new RetryLimiter({ per_second: 10, burst: 3 }, new FakeClock());
    expect([1, 2, 3, 4, 5].map(() => limiter.reserve())).toEqual([0, 0, 0, 100, 200]);
  });

  it("gives no turn away ahead of time to those who do not wait", () => {
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
      { numRuns: 60 },
    );
  });
});
