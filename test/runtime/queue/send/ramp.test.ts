import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ramp } from "../../../../src/runtime/queue/send/ramp.js";
import { Successes } from "../../../../src/runtime/queue/send/recent-calls.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";

function started(ms: number, rate?: number) {
  const clock = new FakeClock();
  const successes = new Successes(clock);
  const ramp = new Ramp(ms, clock, successes);
  ramp.start(rate);
  return { clock, ramp, successes };
}

type State = ReturnType<typeof started>;

/** Sends all that may be sent for so long, in requests of as many entries as may be, and answers them. Gives the entries. */
function sendFor(ms: number, { clock, ramp }: Pick<State, "clock" | "ramp">, answer: () => void): number {
  let sent = 0;
  for (let elapsed = 0; elapsed < ms && ramp.isActive; elapsed += 10) {
    while (ramp.waitMs() === 0 && ramp.isActive) {
      sent += ramp.maxEntries;
      ramp.began({ length: ramp.maxEntries });
      answer();
    }
    clock.advance(10);
  }
  return sent;
}

describe("the ramp", () => {
  it("holds nothing back before the backend has failed", () => {
    const ramp = new Ramp(10_000, new FakeClock());
    expect(ramp.waitMs()).toBe(0);
    expect(ramp.maxEntries).toBe(Number.POSITIVE_INFINITY);
  });

  it("starts at 10 entries a second, doubles with every second of success, and ends after ten of them", () => {
    const state = started(10_000, 0);
    const perSecond = Array.from({ length: 9 }, () => sendFor(1000, state, () => state.successes.add(1)));
    expect(perSecond).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560]);
    sendFor(1000, state, () => state.successes.add(1));
    expect(state.ramp.waitMs()).toBe(0);
    expect(state.ramp.isActive).toBe(false);
  });

  it("starts at the rate at which the backend last took entries", () => {
    const clock = new FakeClock();
    const successes = new Successes(clock);
    const ramp = new Ramp(10_000, clock, successes);
    for (let i = 0; i < 30; i++) {
      successes.add(20);
      clock.advance(100);
    }
    clock.advance(3_600_000);
    ramp.start();
    expect(sendFor(1000, { clock, ramp }, () => {})).toBe(200);
  });

  it("starts at a rate that an earlier run of the agent has left", () => {
    expect(sendFor(1000, started(10_000, 500), () => {})).toBe(500);
  });

  it("is not faster without an answer, or while most requests fail, and does not end then", () => {
    for (const answer of [() => {}, ({ ramp }: State) => ramp.ended({ result: "failure" })]) {
      const state = started(10_000, 0);
      expect(sendFor(30_000, state, () => answer(state))).toBe(300);
      expect(state.ramp.isActive).toBe(true);
    }
  });

  it("says when to ask again: neither too early nor too late", () => {
    const { clock, ramp } = started(10_000, 0);
    ramp.began({ length: 1 });
    clock.advance(ramp.waitMs() - 1);
    expect(ramp.waitMs()).toBe(1);
    clock.advance(1);
    expect(ramp.waitMs()).toBe(0);
  });

  it("is off with 0", () => {
    const { ramp } = started(0);
    for (let i = 0; i < 100; i++) ramp.began({ length: 10 });
    expect(ramp.waitMs()).toBe(0);
    expect(ramp.maxEntries).toBe(Number.POSITIVE_INFINITY);
  });

  it("doubles no more often than its steps allow, for all answers at all times", () => {
    const answer = fc.constantFrom("success", "success", "failure", "none");
    const turns = fc.array(fc.record({ wait: fc.integer({ min: 1, max: 700 }), answer }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), fc.nat(5000), turns, (ms, rate, given) => {
        const { clock, ramp, successes } = started(ms, rate);
        const stageMs = Math.min(100, ms / 10);
        let elapsed = 0;
        let sent = 0;
        for (const each of given) {
          while (ramp.isActive && ramp.waitMs() === 0 && ramp.isActive) {
            sent += ramp.maxEntries;
            ramp.began({ length: ramp.maxEntries });
            if (each.answer === "success") successes.add(1);
            if (each.answer === "failure") ramp.ended({ result: "failure" });
          }
          if (!ramp.isActive) return;
          const fastest = Math.max(10, rate) * 2 ** Math.floor(elapsed / (ms / 10));
          const stages = 1 + Math.floor(elapsed / stageMs);
          expect(sent).toBeLessThanOrEqual(stages * Math.max(1, Math.round((fastest * stageMs) / 1000)));
          clock.advance(each.wait);
          elapsed += each.wait;
        }
      }),
      runs(200),
    );
  });
});
