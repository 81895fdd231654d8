import { describe, expect, it } from "vitest";
import { allowedRequests, Ramp } from "../../../../src/extensions/reliability/schedule/ramp.js";
import { FakeClock } from "../../../support/fake-clock.js";

describe("the ramp", () => {
  it("holds nothing back before an outage", () => {
    expect(new Ramp(30_000, new FakeClock()).waitMs()).toBe(0);
  });

  it("lets no more through than it says at any time, and everything after its end", () => {
    const clock = new FakeClock();
    const ramp = new Ramp(30_000, clock);
    ramp.start();
    let sent = 0;
    for (let elapsed = 0; elapsed < 30_000; elapsed += 10) {
      while (ramp.waitMs() === 0) {
        ramp.countRequest();
        sent += 1;
      }
      expect(sent).toBeLessThanOrEqual(allowedRequests(elapsed, 30_000) + 1);
      expect(sent).toBeGreaterThan(allowedRequests(elapsed, 30_000));
      clock.advance(10);
    }
    expect(ramp.waitMs()).toBe(0);
  });

  it("says when to come again: not much too late", () => {
    const clock = new FakeClock();
    const ramp = new Ramp(10_000, clock);
    ramp.start();
    ramp.countRequest();
    clock.advance(ramp.waitMs());
    expect(ramp.waitMs()).toBe(0);
  });

  it("is off with 0", () => {
    const ramp = new Ramp(0, new FakeClock());
    ramp.start();
    for (let i = 0; i < 100; i++) ramp.countRequest();
    expect(ramp.waitMs()).toBe(0);
  });
});
