import { describe, expect, it } from "vitest";
import { type FailureStreak, PoisonDetector } from "../../../../src/extensions/reliability/send/poison-detector.js";
import type { AttemptError } from "../../../../src/runtime/kit.js";
import { FakeClock } from "../../../support/fake-clock.js";

const error = (name: string, kind: AttemptError["kind"] = "transient"): AttemptError => ({
  kind,
  class: name,
  message: "",
  code: "",
});

function watch() {
  const clock = new FakeClock();
  return { clock, it: new PoisonDetector(clock), entry: { failureStreak: undefined as FailureStreak | undefined } };
}

describe("poison", () => {
  const others = (it: PoisonDetector, count: number) => {
    for (let i = 0; i < count; i++) it.succeeded();
  };

  it.each([
    [150, [false, false, true]],
    [45, [false, false, false, true]],
    [20, [false, false, false, false, true]],
    [1, [false, false, false, false, false, false]],
  ])("is an entry that fails alike again and again in a minute while others succeed, %s each time", (count, wanted) => {
    const { it, clock, entry } = watch();
    const verdicts = wanted.map(() => {
      clock.advance(10_000);
      others(it, count);
      return it.failed(entry, error("HTTP 500"));
    });
    expect(verdicts).toEqual(wanted);
  });

  it("is hardly ever what fails by chance, however often calls fail", () => {
    let seed = 7;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    for (const share of [0.001, 0.01, 0.1, 0.3, 0.7]) {
      const { it } = watch();
      let poisoned = 0;
      for (let i = 0; i < 20_000; i++) {
        const entry = { failureStreak: undefined };
        for (let calls = 0; calls < 6 && random() < share; calls++) {
          if (it.failed(entry, error("HTTP 500"))) poisoned += 1;
          for (let other = 0; other < 5; other++) {
            if (random() < share) it.failed({ failureStreak: undefined }, error("HTTP 500"));
            else it.succeeded();
          }
        }
        it.succeeded();
      }
      expect(poisoned).toBe(0);
    }
  });

  it("is not what fails when everything fails", () => {
    const { it, entry } = watch();
    const other = { failureStreak: undefined };
    for (let i = 0; i < 10; i++) {
      expect(it.failed(entry, error("HTTP 500"))).toBe(false);
      it.failed(other, error("HTTP 500"));
    }
  });

  it("is not what fails when many others fail too", () => {
    const { it, entry } = watch();
    for (let i = 0; i < 5; i++) {
      others(it, 300);
      for (let j = 0; j < 50; j++) it.failed({ failureStreak: undefined }, error("HTTP 500"));
      expect(it.failed(entry, error("HTTP 500"))).toBe(false);
    }
  });

  it("is not what fails slowly, in different ways, or because it is throttled", () => {
    for (const [ms, names, kind] of [
      [40_000, ["a", "a", "a", "a"], "transient"],
      [1, ["a", "b", "a", "b"], "transient"],
      [1, ["a", "a", "a", "a"], "throttled"],
    ] as const) {
      const { it, clock, entry } = watch();
      for (const name of names) {
        clock.advance(ms);
        others(it, 1000);
        expect(it.failed(entry, error(name, kind))).toBe(false);
      }
    }
  });
});
