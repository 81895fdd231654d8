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
        ramp.countRequest(0);
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
    ramp.countRequest(0);
    clock.advance(ramp.waitMs());
    expect(ramp.waitMs()).toBe(0);
  });

  it("is off with 0", () => {
    const ramp = new Ramp(0, new FakeClock());
    ramp.start();
    for (let i = 0; i < 100; i++) ramp.countRequest(0);
    expect(ramp.waitMs()).toBe(0);
  });

  it("is for a queue that was opened with more than its first second lets through", () => {
    const isHeldBackAfter = (entries: number, ms: number) => {
      const ramp = new Ramp(ms, new FakeClock());
      ramp.startWithBacklog(entries);
      ramp.countRequest(0);
      return ramp.waitMs() > 0;
    };
    expect(isHeldBackAfter(11, 30_000)).toBe(false);
    expect(isHeldBackAfter(12, 30_000)).toBe(true);
    expect(isHeldBackAfter(100, 100)).toBe(true);
    expect(isHeldBackAfter(1_000_000, 0)).toBe(false);
  });

  it("ends after a restart with the first entry that came since; after an outage it does not", () => {
    const clock = new FakeClock();
    const ramp = new Ramp(30_000, clock);
    const openedAt = clock.now();
    ramp.startWithBacklog(1000);
    for (const enqueuedAt of [openedAt - 5000, openedAt]) ramp.countRequest(enqueuedAt);
    expect(ramp.isActive).toBe(true);
    ramp.countRequest(openedAt + 1);
    expect(ramp.isActive).toBe(false);
    ramp.start();
    for (let i = 0; i < 3; i++) ramp.countRequest(openedAt + 1);
    expect(ramp.waitMs()).toBeGreaterThan(0);
  });
});
