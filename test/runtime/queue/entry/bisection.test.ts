import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bisection, MAX_BAD_ALONE } from "../../../../src/runtime/queue/entry/bisection.js";

interface Search {
  readonly calls: number;
  /** Good and bad ones that were sent alone or in a part that was taken. */
  readonly good: number;
  readonly bad: number;
  readonly unsent: number;
}

/**
 * Sends `count` records to a backend that refuses every request with a bad record, until the bad ones are found or the
 * search is futile.
 */
function search(count: number, isBad: (at: number) => boolean): Search {
  const rule = new Bisection();
  const parts = [Array.from({ length: count }, (_, at) => at)];
  const found = { calls: 0, good: 0, bad: 0, unsent: 0 };
  while (parts.length > 0 && !rule.isFutile) {
    const [part] = parts.splice(rule.next(parts.map(({ length }) => length)), 1) as [number[]];
    found.calls += 1;
    if (!part.some(isBad)) {
      rule.taken(part.length);
      found.good += part.length;
      continue;
    }
    rule.refused(part.length);
    if (part.length === 1) found.bad += 1;
    else parts.push(...cut(part, rule.partSizes(part.length)).reverse());
  }
  found.unsent = parts.reduce((sum, { length }) => sum + length, 0);
  return found;
}

function cut(part: readonly number[], sizes: readonly number[]): number[][] {
  let from = 0;
  return sizes.map((size) => {
    from += size;
    return part.slice(from - size, from);
  });
}

/** As many of a thousand as asked, scattered, always the same ones. */
const scattered = (share: number) => (at: number) => ((at * 2654435761) % 4294967296) / 4294967296 < share;

describe("the search for bad records", () => {
  it("finds one bad record among a thousand with about 2 log2 n calls, at any position", () => {
    for (const bad of [0, 1, 499, 500, 700, 999]) {
      const { calls, good } = search(1000, (at) => at === bad);
      expect(good).toBe(999);
      expect(calls).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(1000)) + 1);
    }
  });

  it("takes little more than one call for each record where half of them are bad", () => {
    for (const isBad of [(at: number) => at % 2 === 0, scattered(0.5)]) {
      const { calls, unsent } = search(1000, isBad);
      expect(unsent).toBe(0);
      expect(calls).toBeLessThan(1100);
    }
  });

  it("takes a fraction of that where one in fifty is bad", () => {
    expect(search(1000, (at) => at % 50 === 7).calls).toBeLessThan(300);
  });

  it("learns that the share has changed", () => {
    expect(search(1000, (at) => at >= 500 && at % 2 === 0).calls).toBeLessThan(700);
    expect(search(1000, (at) => at < 64 || at === 700).calls).toBeLessThan(250);
  });

  it("leaves no good record unsent among a hundred thousand if every third is bad", () => {
    const { good, bad, calls } = search(100_000, (at) => at % 3 === 0);
    expect([good, bad]).toEqual([66_666, 33_334]);
    expect(calls).toBeLessThan(110_000);
  });

  it("finds the good ones behind bad ones that lie together", () => {
    for (const isBad of [
      (at: number) => at < 400,
      (at: number) => at < 2 || at >= 500,
      (at: number) => at % 100 !== 99 && at < 900,
    ])
      expect(search(1000, isBad).unsent).toBe(0);
  });

  it("recognises a backend that refuses everything after a few calls, for every size", () => {
    expect(search(1000, () => true).calls).toBeLessThanOrEqual(40);
    expect(search(100_000, () => true).calls).toBeLessThanOrEqual(50);
    expect(search(MAX_BAD_ALONE - 1, () => true).unsent).toBe(0);
  });

  it("tells everything apart once something was taken, with at most about two calls for each", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 300 }), (bad) => {
        const { calls, good, bad: found, unsent } = search(bad.length, (at) => bad[at]!);
        expect(good + found + unsent).toBe(bad.length);
        if (good > 0) expect(unsent).toBe(0);
        else expect(found === bad.length || found === MAX_BAD_ALONE).toBe(true);
        expect(calls).toBeLessThanOrEqual(2.2 * bad.length + 10);
      }),
    );
  });
});
