import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { completeSettings, type ExporterSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import { createBackoff } from "../../../../src/runtime/queue/send/backoff.js";

const settings = {
  backoff: "exponential",
  initial_interval: 1000,
  multiplier: 2,
  increment: 500,
  max_interval: 60_000,
  max_retry_after: 86_400_000,
  jitter: "none",
  randomization_factor: 0.5,
} as const;

describe("backoff", () => {
  it("doubles from the first interval up to the longest", () => {
    const backoff = createBackoff(settings, () => 0.5);
    expect([1, 2, 3, 4, 7, 8, 5000].map((n) => backoff(n))).toEqual([1000, 2000, 4000, 8000, 60_000, 60_000, 60_000]);
  });

  it("grows by the same time with each failure when it is linear", () => {
    const backoff = createBackoff({ ...settings, backoff: "linear", max_interval: 2200 }, () => 0.5);
    expect([1, 2, 3, 4, 5000].map((n) => backoff(n))).toEqual([1000, 1500, 2000, 2200, 2200]);
  });

  it("waits equally long after every failure when it is fixed, spread like the others", () => {
    const fixed = { ...settings, backoff: "fixed" } as const;
    expect([1, 2, 5000].map((n) => createBackoff(fixed, () => 0.5)(n))).toEqual([1000, 1000, 1000]);
    expect(createBackoff({ ...fixed, jitter: "full" }, () => 0.25)(7)).toBe(250);
  });

  it("spreads fully, in proportion, or not at all", () => {
    const at = (jitter: "full" | "proportional" | "none", random: number) =>
      createBackoff({ ...settings, jitter }, () => random)(3);
    expect([at("full", 0), at("full", 0.25), at("full", 0.999)]).toEqual([0, 1000, 3996]);
    expect([at("proportional", 0), at("proportional", 0.5)]).toEqual([2000, 4000]);
    expect(at("none", 0.1)).toBe(4000);
  });

  it("spreads in proportion where randomization_factor is written and jitter is not, as in the Collector", () => {
    const complete = (...layers: ExporterSettings["retry_on_failure"][]) =>
      completeSettings(...layers.map((retry_on_failure) => ({ retry_on_failure }))).retry_on_failure;
    expect(complete({}).jitter).toBe("full");
    expect(complete({ randomization_factor: 0.2 })).toMatchObject({
      jitter: "proportional",
      randomization_factor: 0.2,
    });
    expect(complete({ initial_interval: 5 }, { randomization_factor: 0 }).jitter).toBe("proportional");
    expect(complete({ randomization_factor: 0.2 }, { jitter: "none" }).jitter).toBe("none");
  });

  it("waits as long as the other side asks when that is longer, and no shorter than its own wait when it is not", () => {
    const backoff = createBackoff(settings, () => 1);
    expect(backoff(1, 90_000)).toBe(90_000);
    expect(backoff(3, 100)).toBe(4000);
  });

  it("waits no longer than allowed, even if the server asks for more", () => {
    expect(createBackoff(settings, () => 1)(1, 999_999_999_000)).toBe(86_400_000);
    expect(createBackoff({ ...settings, max_retry_after: 0 }, () => 1)(3, 999_999_999_000)).toBe(4000);
  });

  it("stays within its bounds for all settings", () => {
    const any = fc.record({
      backoff: fc.constantFrom("exponential", "linear", "fixed"),
      increment: fc.nat(100_000),
      initial_interval: fc.nat(100_000),
      multiplier: fc.double({ min: 1, max: 10, noNaN: true }),
      max_interval: fc.nat(600_000),
      max_retry_after: fc.nat(1e6),
      jitter: fc.constantFrom("full", "proportional", "none"),
      randomization_factor: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(any, random, fc.nat(3000), fc.option(fc.nat(1e6)), (own, number, failures, retryAfter) => {
        const delay = createBackoff(own, () => number)(failures, retryAfter ?? undefined);
        const asked = Math.min(retryAfter ?? 0, own.max_retry_after);
        expect(delay).toBeGreaterThanOrEqual(asked);
        expect(delay).toBeLessThanOrEqual(Math.max(own.max_interval, asked));
      }),
    );
  });
});
