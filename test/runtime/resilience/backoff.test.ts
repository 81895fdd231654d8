import fc from "fast-check";
import { expect, it } from "vitest";
import { backoff } from "../../../src/runtime/resilience/waits.js";

const settings = fc
  .record({ first: fc.integer({ min: 1, max: 10_000 }), factor: fc.integer({ min: 1, max: 10_000 }) })
  .map(({ first, factor }) => ({ first, max: first * factor }));
const failures = fc.integer({ min: 1, max: 5000 });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

it("doubles delays with every failure until they are the longest, however many failures there are", () => {
  fc.assert(
    fc.property(settings, failures, chance, ({ first, max }, count, value) => {
      const delays = backoff({ first, max }, { random: () => value });
      const longest = max * (0.5 + value / 2);
      expect(delays(count + 1)).toBe(Math.min(2 * delays(count), longest));
      expect(delays(5000)).toBe(longest);
    }),
  );
});

it("takes between half of a delay and all of it, at random", () => {
  fc.assert(
    fc.property(settings, failures, chance, ({ first, max }, count, value) => {
      const full = Math.min(max, first * 2 ** (count - 1));
      const shortest = backoff({ first, max }, { random: () => 0 })(count);
      const delay = backoff({ first, max }, { random: () => value })(count);
      expect(shortest).toBe(full / 2);
      expect(delay).toBeGreaterThanOrEqual(shortest);
      expect(delay).toBeLessThanOrEqual(full);
      expect(delay > shortest).toBe(shortest * (1 + value) > shortest);
    }),
  );
});
