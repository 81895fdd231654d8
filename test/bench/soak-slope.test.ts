import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../support/runs.js";

interface Point {
  readonly at: number;
  readonly value: number;
}
interface Slope {
  readonly perHour: number;
  readonly low: number;
  readonly high: number;
}
interface SlopeModule {
  slopeOf(points: readonly Point[]): Slope;
  verdictOf(slope: Slope, maxPerHour: number): string;
  leastOfEachCycle(samples: readonly Point[], cycleSeconds: number): Point[];
}
const file = new URL("../../bench/soak/slope.js", import.meta.url).href;
const { slopeOf, verdictOf, leastOfEachCycle } = (await import(file)) as SlopeModule;

const MIB = 1024 * 1024;
const BOUND = 4 * MIB;

/** Live bytes of 40 minutes, a sample each 5 seconds: noise, outages in each minute that hold some, and a leak. */
function samplesOf(seed: number, bytesPerSecond: number): Point[] {
  const random = randomFrom(seed);
  return Array.from({ length: 480 }, (_, i) => {
    const at = i * 5;
    const isOutage = at % 60 < 25;
    const held = isOutage ? random() * 20 * MIB : 0;
    return { at, value: 60 * MIB + (random() - 0.5) * 4 * MIB + held + bytesPerSecond * at };
  });
}

/** Numbers in 0..1 that a seed decides (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const verdict = (samples: readonly Point[]) => verdictOf(slopeOf(leastOfEachCycle(samples, 60)), BOUND);

describe("the slope of a soak", () => {
  it("finds a leak of a few kilobytes a second in spite of noise", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 3000, max: 50_000 }), (seed, bytesPerSecond) => {
        const slope = slopeOf(leastOfEachCycle(samplesOf(seed, bytesPerSecond), 60));
        expect(verdictOf(slope, BOUND)).toBe("grows");
        expect(Math.abs(slope.perHour - bytesPerSecond * 3600)).toBeLessThan(3 * MIB);
      }),
      runs(100),
    );
  });

  it("is quiet about noise, and about what does not grow any more or shrinks", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: -20_000, max: 0 }), (seed, bytesPerSecond) => {
        expect(verdict(samplesOf(seed, bytesPerSecond))).toBe("flat");
      }),
      runs(100),
    );
  });

  it("does not mind a few cycles in which the backlog never went away", () => {
    fc.assert(
      fc.property(fc.integer(), fc.uniqueArray(fc.nat(39), { maxLength: 2 }), (seed, cycles) => {
        const disturbed = samplesOf(seed, 0).map(({ at, value }) => ({
          at,
          value: value + (cycles.includes(Math.floor(at / 60)) ? 100 * MIB : 0),
        }));
        expect(verdict(disturbed)).toBe("flat");
      }),
      runs(100),
    );
  });

  it("leaves open what few points cannot tell", () => {
    const points = Array.from({ length: 5 }, (_, i) => ({ at: i * 60, value: i * MIB }));
    expect(slopeOf(points).perHour).toBe(60 * MIB);
    expect(verdictOf(slopeOf(points), BOUND)).toBe("undecided");
  });
});
