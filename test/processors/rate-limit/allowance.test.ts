import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Allowance, type Limit } from "../../../src/processors/rate-limit/allowance.js";
import { runs } from "../../support/runs.js";

interface Take {
  readonly at: number;
  readonly count: number;
}

const limits: fc.Arbitrary<Limit> = fc.record({
  limit: fc.integer({ min: 1, max: 60 }),
  windowMs: fc.integer({ min: 5, max: 500 }),
  burst: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 80 })),
});

/** Arrivals in quick succession, at the edges of windows, and after pauses. */
const arrivals = fc.array(
  fc.record({
    gap: fc.oneof(
      fc.nat(3),
      fc.nat(40),
      fc.nat(700),
      fc.constantFrom("window" as const, "almost" as const, "part" as const),
    ),
    demand: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 200 })),
  }),
  { maxLength: 150 },
);

function gapOf(gap: number | "window" | "almost" | "part", { windowMs }: Limit): number {
  if (typeof gap === "number") return gap;
  return gap === "window" ? windowMs : gap === "almost" ? windowMs - 1 : Math.floor(windowMs / 64);
}

/** Checks that no window of this length, starting at any take, contains more than `most`. */
function fullestWindow(takes: readonly Take[], windowMs: number): number {
  let fullest = 0;
  for (const first of takes) {
    const inside = takes.filter(({ at }) => at >= first.at && at < first.at + windowMs);
    fullest = Math.max(
      fullest,
      inside.reduce((sum, { count }) => sum + count, 0),
    );
  }
  return fullest;
}

describe("an allowance", () => {
  it("lets no more than limit and burst pass in any window, and the limit in the long run", () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, list) => {
        const allowance = new Allowance(limit);
        const takes: Take[] = [];
        let now = 1000;
        for (const { gap, demand } of list) {
          now += gapOf(gap, limit);
          const count = Math.min(demand, allowance.available(now));
          if (count === 0) continue;
          allowance.take(count, now);
          takes.push({ at: now, count });
        }
        expect(fullestWindow(takes, limit.windowMs)).toBeLessThanOrEqual(limit.limit + limit.burst);
        let since = 0;
        for (const { at, count } of takes) {
          since += count;
          const earned = limit.limit + limit.burst + ((at - takes[0]!.at) * limit.limit) / limit.windowMs;
          expect(since).toBeLessThanOrEqual(earned + 1e-6);
        }
      }),
      runs(100),
    );
  });

  it("lets exactly as many pass as a log of every take would, as long as they are few", () => {
    fc.assert(
      fc.property(
        limits,
        fc.array(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 40 })), { maxLength: 32 }),
        (limit, list) => {
          const allowance = new Allowance(limit);
          const most = limit.limit + limit.burst;
          const log: Take[] = [];
          let now = 0;
          let debt = 0;
          for (const [gap, demand] of list) {
            now += gap;
            debt = Math.max(0, debt - (gap * limit.limit) / limit.windowMs);
            const inWindow = log
              .filter(({ at }) => at > now - limit.windowMs)
              .reduce((sum, { count }) => sum + count, 0);
            const expected = Math.min(most - inWindow, Math.floor(most - debt + 1e-6));
            expect(allowance.available(now)).toBe(expected);
            const count = Math.min(demand, expected);
            if (count === 0) continue;
            allowance.take(count, now);
            log.push({ at: now, count });
            debt += count;
          }
        },
      ),
    );
  });

  it("tells how long to wait: permits are available then, and not before", () => {
    fc.assert(
      fc.property(limits, arrivals, fc.integer({ min: 1, max: 60 }), (limit, list, wanted) => {
        const allowance = new Allowance(limit);
        let now = 0;
        for (const { gap, demand } of list) {
          now += gapOf(gap, limit);
          const count = Math.min(demand, allowance.available(now));
          if (count > 0) allowance.take(count, now);
        }
        const wait = allowance.waitFor(wanted, now);
        expect(wait === Number.POSITIVE_INFINITY).toBe(wanted > allowance.capacity);
        if (wanted > allowance.capacity) return;
        const early = new Allowance(limit);
        early.inherit(allowance);
        if (wait > 1) expect(early.available(now + wait - 1)).toBeLessThan(wanted);
        expect(allowance.available(now + wait + 1e-3)).toBeGreaterThanOrEqual(wanted);
      }),
      runs(100),
    );
  });

  it("admits nearly all of its limit from a flow of single records, and remembers a bounded number of takes", () => {
    const allowance = new Allowance({ limit: 1000, windowMs: 1000, burst: 0 });
    let passed = 0;
    let remembered = 0;
    for (let now = 0; now < 20_000; now += 0.5) {
      if (allowance.available(now) === 0) continue;
      allowance.take(1, now);
      passed += 1;
      remembered = Math.max(remembered, allowance.remembered);
    }
    expect(passed).toBeGreaterThan(20_000 * 0.97);
    expect(passed).toBeLessThanOrEqual(20_000);
    expect(remembered).toBeLessThan(100);
  });

  it("is idle only when no past take counts any more", () => {
    const allowance = new Allowance({ limit: 10, windowMs: 1000, burst: 10 });
    expect(allowance.isIdle(0)).toBe(true);
    allowance.take(20, 0);
    expect(allowance.isIdle(1000)).toBe(false);
    expect(allowance.available(1000)).toBe(10);
    expect(allowance.isIdle(2000)).toBe(true);
    expect(allowance.available(2000)).toBe(20);
  });

  it("treats a time before the last one as the last one", () => {
    const allowance = new Allowance({ limit: 2, windowMs: 1000, burst: 0 });
    allowance.take(2, 5000);
    expect(allowance.available(100)).toBe(0);
    expect(allowance.available(5999)).toBe(0);
    expect(allowance.available(6000)).toBe(2);
  });
});
