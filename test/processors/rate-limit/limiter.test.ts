import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, batchFromJson } from "../../../src/plugin.js";
import { AllowanceTable } from "../../../src/processors/rate-limit/allowance-table.js";
import { rateLimitSchema } from "../../../src/processors/rate-limit/config.js";
import { Limiter } from "../../../src/processors/rate-limit/limiter.js";
import { FakeClock } from "../../support/fake-clock.js";
import { runs } from "../../support/runs.js";

function events(names: readonly string[]): Batch {
  const logRecords = names.map((eventName) => ({ eventName }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

function limiterOf(config: object, clock: FakeClock): Limiter {
  return new Limiter(rateLimitSchema.parse({ global: false, ...config }), clock, () => {});
}

const ORIGIN = { receiver: "test", transport: "test" };

/** Returns how many records of each name pass. */
function pass(limiter: Limiter, names: readonly string[]): Map<string, number> {
  const { marks } = limiter.judge(events(names), ORIGIN);
  limiter.commit();
  const passed = new Map<string, number>();
  names.forEach((name, i) => {
    if (!marks?.[i]) passed.set(name, (passed.get(name) ?? 0) + 1);
  });
  return passed;
}

interface Passed {
  readonly key: string;
  readonly at: number;
  readonly count: number;
}

function fullestWindow(list: readonly Passed[], windowMs: number): number {
  const sums = list.map(({ at }) =>
    list.reduce((sum, other) => sum + (other.at >= at && other.at < at + windowMs ? other.count : 0), 0),
  );
  return Math.max(0, ...sums);
}

describe("a limiter", () => {
  it("enforces the limits per key and overall in any window, however many keys there are", () => {
    const turns = fc.array(
      fc.record({
        gap: fc.oneof(fc.nat(20), fc.nat(160)),
        names: fc.array(fc.constantFrom(..."abcdefgh"), { maxLength: 25 }),
        refused: fc.boolean(),
      }),
      { maxLength: 40 },
    );
    const limits = fc.record({ limit: fc.integer({ min: 1, max: 6 }), burst: fc.nat(4) });
    fc.assert(
      fc.property(turns, limits, fc.integer({ min: 1, max: 5 }), fc.boolean(), (list, own, maxKeys, hasGlobal) => {
        const clock = new FakeClock();
        const global = hasGlobal ? { limit: 14, window: "80ms", burst: 3 } : false;
        const limiter = limiterOf({ ...own, window: "100ms", max_keys: maxKeys, global }, clock);
        const passed: Passed[] = [];
        for (const { gap, names, refused } of list) {
          clock.advance(gap);
          if (refused) {
            limiter.judge(events(names), ORIGIN);
            limiter.cancel();
            continue;
          }
          for (const [key, count] of pass(limiter, names)) passed.push({ key, at: clock.monotonic(), count });
          expect(limiter.size).toBeLessThanOrEqual(maxKeys);
        }
        for (const key of "abcdefgh") {
          const mine = passed.filter((one) => one.key === key);
          expect(fullestWindow(mine, 100)).toBeLessThanOrEqual(own.limit + own.burst);
        }
        if (hasGlobal) expect(fullestWindow(passed, 80)).toBeLessThanOrEqual(17);
      }),
      runs(70),
    );
  });

  it("gives no fresh allowance to a key that other keys push out", () => {
    const clock = new FakeClock();
    const limiter = limiterOf({ limit: 10, window: "1s", max_keys: 3 }, clock);
    let passed = 0;
    for (let i = 0; i < 99; i++) {
      passed += pass(limiter, Array(10).fill("victim")).get("victim") ?? 0;
      pass(
        limiter,
        Array.from({ length: 5 }, (_, j) => `fresh-${i}-${j}`),
      );
      clock.advance(10);
    }
    expect(passed).toBe(10);
  });

  it("counts against a key what it may have passed while it shared an allowance", () => {
    const clock = new FakeClock();
    const limiter = limiterOf({ limit: 2, window: "100ms", max_keys: 1 }, clock);
    pass(limiter, ["a"]);
    clock.advance(60);
    expect(pass(limiter, ["b", "b"])).toEqual(new Map([["b", 2]]));
    clock.advance(60);
    expect(pass(limiter, ["b", "b"])).toEqual(new Map());
    clock.advance(40);
    expect(pass(limiter, ["b", "b"])).toEqual(new Map([["b", 2]]));
  });

  it("lets an attacker with ever new keys pass at most the free places and one limit more", () => {
    const clock = new FakeClock();
    const limiter = limiterOf({ limit: 10, window: "1s", max_keys: 4 }, clock);
    let passed = 0;
    for (let i = 0; i < 500; i++) {
      passed += pass(limiter, Array(10).fill(`new-${i}`)).get(`new-${i}`) ?? 0;
      clock.advance(1);
    }
    expect(passed).toBe((4 + 1) * 10);
    expect(limiter.size).toBe(4);
  });

  it("keeps a bounded number of a million keys, and forgets them once they are idle", () => {
    const table = new AllowanceTable({ limit: 1, windowMs: 60_000, burst: 0 }, 1000);
    for (let i = 0; i < 1_000_000; i++) {
      const allowance = table.find(`user-${i}`, i / 1000, i);
      if (allowance.available(i / 1000) > 0) allowance.take(1, i / 1000);
      table.markUsed(`user-${i}`);
    }
    expect(table.size).toBe(1000);
    table.find("x", 62_000, -2);
    expect(table.size).toBe(1);
  });

  it("forgets keys without passing records", () => {
    const clock = new FakeClock();
    const limiter = limiterOf({ limit: 5, window: "1s", global: { limit: 1, window: "1s" } }, clock);
    pass(limiter, ["a"]);
    pass(limiter, ["b", "c", "d"]);
    expect(limiter.size).toBe(1);
  });

  it("keeps no keys of refused requests, also while a limit is shared", () => {
    const clock = new FakeClock();
    const limiter = limiterOf({ limit: 1, window: "100ms", max_keys: 2 }, clock);
    pass(limiter, ["a", "b"]);
    clock.advance(50);
    pass(limiter, ["c"]);
    clock.advance(60);
    limiter.judge(events(["d", "e"]), ORIGIN);
    limiter.cancel();
    expect(limiter.size).toBe(0);
  });

  it("counts nothing when cancelled, and tells when the whole batch would fit", () => {
    const clock = new FakeClock();
    const limiter = limiterOf({ limit: 3, window: "1s", global: { limit: 4, window: "2s" } }, clock);
    pass(limiter, ["a", "a"]);
    clock.advance(400);
    expect(limiter.judge(events(["a", "a"]), ORIGIN).marks).toEqual(new Uint8Array([0, 1]));
    expect(limiter.cancel()).toBe(600);
    limiter.judge(events(["a", "b", "b"]), ORIGIN);
    expect(limiter.cancel()).toBe(1600);
    expect(pass(limiter, ["a", "b"])).toEqual(
      new Map([
        ["a", 1],
        ["b", 1],
      ]),
    );
    limiter.judge(events(["c", "c", "c", "c"]), ORIGIN);
    expect(limiter.cancel()).toBe(Number.POSITIVE_INFINITY);
  });
});
