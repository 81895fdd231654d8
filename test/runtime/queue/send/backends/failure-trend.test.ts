import { describe, expect, it } from "vitest";
import { FailureTrend } from "../../../../../src/runtime/queue/send/recent-calls.js";
import { FakeClock } from "../../../../support/fake-clock.js";

const MINUTE = 60_000;

describe("the trend of failures", () => {
  it("rises with the first ones, is steady while they go on, and falls when they end", () => {
    const clock = new FakeClock();
    const trend = new FailureTrend(clock);
    const failEveryMinute = (minutes: number) => {
      for (let i = 0; i < minutes; i++) {
        trend.add();
        clock.advance(MINUTE);
      }
    };
    expect(trend.read()).toBe("steady");
    failEveryMinute(3);
    expect(trend.read()).toBe("rising");
    failEveryMinute(12);
    expect(trend.read()).toBe("steady");
    clock.advance(3 * MINUTE);
    expect(trend.read()).toBe("falling");
    clock.advance(20 * MINUTE);
    expect(trend.read()).toBe("steady");
  });

  it("does not see small differences", () => {
    const clock = new FakeClock();
    const trend = new FailureTrend(clock);
    for (let i = 0; i < 10; i++) trend.add();
    clock.advance(6 * MINUTE);
    for (let i = 0; i < 11; i++) trend.add();
    expect(trend.read()).toBe("steady");
    for (let i = 0; i < 3; i++) trend.add();
    expect(trend.read()).toBe("rising");
  });
});
