import { describe, expect, it } from "vitest";
import type { AttemptError } from "../../../../src/runtime/contract/operations/entry.js";
import { completeSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import type { FailureStreak } from "../../../../src/runtime/queue/entry/queue-item.js";
import { PoisonDetector } from "../../../../src/runtime/queue/send/failure-policy.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { http, numbers, startQueue } from "../queue.js";

const error = (name: string, kind: AttemptError["kind"] = "transient"): AttemptError => ({
  kind,
  class: name,
  message: "",
  code: "",
});

const DEFAULTS = completeSettings().retry_on_failure.poison;

function watch(settings: Partial<typeof DEFAULTS> = {}) {
  const clock = new FakeClock();
  return {
    clock,
    it: new PoisonDetector({ ...DEFAULTS, ...settings }, clock),
    entry: { failureStreak: undefined as FailureStreak | undefined },
  };
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

  it.each([
    [{ max_chance: 1 }, 1, 10_000, [false, false, true]],
    [{ max_chance: 1 }, 0, 10_000, [false, false, false]],
    [{ failures: 5 }, 1000, 10_000, [false, false, false, false, true]],
    [{ failures: 2, window: 5000 }, 1000, 10_000, [false, false, false]],
    [{ failures: 2, window: 5000 }, 5000, 4000, [false, true]],
    [{ enabled: false }, 1000, 10_000, [false, false, false, false]],
  ])("is what %j says, with %i successes every %i ms", (settings, successes, ms, wanted) => {
    const { it, clock, entry } = watch(settings);
    const verdicts = wanted.map(() => {
      clock.advance(ms);
      others(it, successes);
      return it.failed(entry, error("HTTP 500"));
    });
    expect(verdicts).toEqual(wanted);
  });

  it("is hardly ever an entry that fails by chance, for any failure rate", () => {
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

  it("is not an entry that fails when everything fails", () => {
    const { it, entry } = watch();
    const other = { failureStreak: undefined };
    for (let i = 0; i < 10; i++) {
      expect(it.failed(entry, error("HTTP 500"))).toBe(false);
      it.failed(other, error("HTTP 500"));
    }
  });

  it("is not an entry that fails when many others fail too", () => {
    const { it, entry } = watch();
    for (let i = 0; i < 5; i++) {
      others(it, 300);
      for (let j = 0; j < 50; j++) it.failed({ failureStreak: undefined }, error("HTTP 500"));
      expect(it.failed(entry, error("HTTP 500"))).toBe(false);
    }
  });

  it("is not an entry that fails slowly, in different ways, or because it is throttled", () => {
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

describe("poison in a queue", () => {
  it("is dead-lettered early while others succeed, and blocks none of them", async () => {
    const queue = await startQueue({
      settings: { sending_queue: { num_consumers: 1, merge_backlog: false } },
      backend: async ([body]) => {
        if (body === "poison") throw http(500);
        return undefined;
      },
    });
    queue.send("poison");
    for (let i = 0; i < 600; i++) {
      queue.send(`r${i}`);
      if (i % 30 === 0) await queue.pass(100);
    }
    await queue.settle();
    expect(queue.taken).toEqual(numbers(600));
    expect(await queue.deadLetters()).toMatchObject([
      { calls: 3, failure: { reason: "poison", category: "downstream_error" } },
    ]);
  });

  it.each([
    [{ failures: 2, max_chance: 1 }, 2, "poison"],
    [{ failures: 4, max_chance: 1 }, 4, "poison"],
    [{ enabled: false }, 6, "retry_exhausted"],
    [{ failures: 2, max_chance: 1, window: "1ms" }, 6, "retry_exhausted"],
  ])("is what the exporter's retry_on_failure.poison %j says: %i calls, %s", async (poison, calls, reason) => {
    const queue = await startQueue({
      settings: { sending_queue: { num_consumers: 1 }, retry_on_failure: { poison } },
      backend: async ([body]) => {
        if (body === "poison") throw http(500);
        return undefined;
      },
    });
    queue.send("poison");
    for (let i = 0; i < 200; i++) {
      queue.send(`r${i}`);
      await queue.pass(300);
    }
    expect(await queue.deadLetters()).toMatchObject([{ calls, failure: { reason, category: "downstream_error" } }]);
    expect(queue.taken).toEqual(numbers(200));
  });

  it("is never an entry that fails now and then, with a backend that fails one call in ten at random", async () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const queue = await startQueue({
      random,
      settings: { retry_on_failure: { rate_limit: { per_second: 1e6, burst: 1e6 } } },
      backend: async () => {
        if (random() < 0.1) throw http(500);
        return undefined;
      },
    });
    for (let i = 0; i < 5000; i++) {
      queue.send(`r${i}`);
      if (i % 100 === 0) await queue.pass(100);
    }
    await queue.pass(60_000, 2000);
    expect((await queue.deadLetters()).filter(({ failure }) => failure?.reason === "poison")).toEqual([]);
    expect(queue.taken.length).toBeGreaterThan(4990);
  });
});
