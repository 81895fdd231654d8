import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Lease } from "../../../src/processors/rate-limit/lease.js";
import { runs } from "../../support/runs.js";

const WINDOW = 1000;
/** Long enough to find violations that a weaker law would allow. */
const LIFE = 400;
const LIMIT = 100;

interface Use {
  readonly at: number;
  readonly count: number;
}

describe("leases", () => {
  it("let no more pass in any window than was granted in a window plus the life of a permit, over all holders", () => {
    const step = fc.record({
      after: fc.integer({ min: 0, max: 300 }),
      agent: fc.integer({ min: 0, max: 2 }),
      want: fc.integer({ min: 1, max: 100 }),
      use: fc.integer({ min: 0, max: 100 }),
      /** How long request and answer take. */
      delay: fc.integer({ min: 0, max: 300 }),
      returns: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const leases = [0, 1, 2].map(() => new Lease("k", LIFE));
        const granted: { at: number; count: number; slot: string }[] = [];
        const uses: Use[] = [];
        let now = 0;
        const arriving: { at: number; run: () => void }[] = [];
        for (const { after, agent, want, use, delay, returns } of steps) {
          now += after;
          for (const one of arriving.filter(({ at }) => at <= now)) {
            one.run();
            arriving.splice(arriving.indexOf(one), 1);
          }
          const lease = leases[agent]!;
          const count = Math.min(use, lease.available(now));
          lease.take(count, now);
          if (count > 0) uses.push({ at: now, count });
          for (const [slot, permits] of returns ? lease.takeUnused(now) : [])
            granted.find((one) => one.slot === slot)!.count -= permits;
          // The granter answers at some moment between request and arrival: here at the latest, which is the worst
          // case.
          const grantedAt = now + delay;
          const inSpan = sum(granted.filter(({ at }) => at > grantedAt - WINDOW - LIFE));
          const permits = Math.min(want, LIMIT - inSpan);
          if (permits <= 0) continue;
          const slot = String(granted.length);
          granted.push({ at: grantedAt, count: permits, slot });
          const askedAt = now;
          arriving.push({ at: grantedAt, run: () => lease.add(permits, slot, askedAt) });
        }
        for (const { at } of uses)
          expect(sum(uses.filter((use) => use.at >= at && use.at < at + WINDOW))).toBeLessThanOrEqual(LIMIT);
      }),
      runs(2000),
    );
  });

  it("prefetches as many permits as recent demand, and none while there are enough", () => {
    const lease = new Lease("k", 50);
    lease.noteDemand(30, 0);
    expect(lease.wanted(0, 100)).toBe(30);
    lease.add(30, "1", 0);
    expect(lease.wanted(1, 100)).toBe(0);
    lease.take(20, 2);
    expect(lease.wanted(2, 100)).toBe(20);
    expect(lease.wanted(2, 15)).toBe(0);
    expect(lease.wanted(40, 100)).toBe(30);
    expect(lease.available(50)).toBe(0);
    expect(lease.takeUnused(50)).toEqual([["1", 10]]);
  });
});

function sum(all: readonly { readonly count: number }[]): number {
  return all.reduce((total, { count }) => total + count, 0);
}
