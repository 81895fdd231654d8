import { describe, expect, it } from "vitest";
import { type Evidence, PoisonWatch } from "../../../src/extensions/reliability/poison.js";
import type { AttemptError } from "../../../src/plugin.js";
import { FakeClock } from "../../support/fake-clock.js";

const error = (name: string, kind: AttemptError["kind"] = "transient"): AttemptError => ({
  kind,
  class: name,
  message: "",
  code: "",
});

function watch() {
  const clock = new FakeClock();
  return { clock, it: new PoisonWatch(clock), entry: { evidence: undefined as Evidence | undefined } };
}

describe("poison", () => {
  it("is an entry that fails alike three times in a minute while others succeed", () => {
    const { it, clock, entry } = watch();
    const verdicts = [1, 2, 3].map(() => {
      clock.advance(10_000);
      it.succeeded();
      return it.failed(entry, error("HTTP 500"));
    });
    expect(verdicts).toEqual([false, false, true]);
  });

  it("is not what fails when everything fails", () => {
    const { it, entry } = watch();
    const other = { evidence: undefined };
    for (let i = 0; i < 10; i++) {
      expect(it.failed(entry, error("HTTP 500"))).toBe(false);
      it.failed(other, error("HTTP 500"));
    }
  });

  it("is not what fails when many others fail too", () => {
    const { it, entry } = watch();
    for (let i = 0; i < 10; i++) {
      it.succeeded();
      it.succeeded();
      it.failed({ evidence: undefined }, error("HTTP 500"));
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
        it.succeeded();
        expect(it.failed(entry, error(name, kind))).toBe(false);
      }
    }
  });
});
