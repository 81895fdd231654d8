import { describe, expect, it } from "vitest";
import { speedOf, timeLeft, type WorkReading, withReading } from "../../../console/parts/time-left.js";

function readingsOf(...readings: readonly (readonly [at: number, done: number])[]): readonly WorkReading[] {
  return readings.reduce<readonly WorkReading[]>((all, [at, done]) => withReading(all, { at, done }), []);
}

describe("the time that is left", () => {
  it("follows from the speed of the last seconds, not from that of an hour ago", () => {
    const readings = readingsOf([0, 0], [3_600_000, 100], [3_601_000, 200], [3_602_000, 300]);
    expect(speedOf(readings)).toBe(100);
    expect(timeLeft(readings, 1300)).toBe(10_000);
  });

  it("is not told before there is a speed, nor while nothing moves", () => {
    expect(timeLeft(readingsOf([0, 5]), 10)).toBeUndefined();
    expect(timeLeft(readingsOf([0, 5], [500, 6]), 10)).toBeUndefined();
    expect(timeLeft(readingsOf([0, 5], [5000, 5]), 10)).toBeUndefined();
  });

  it("is none when everything is done, and starts anew with other work", () => {
    expect(timeLeft(readingsOf([0, 0], [1000, 10]), 10)).toBe(0);
    expect(readingsOf([0, 50], [1000, 60], [2000, 0])).toEqual([{ at: 2000, done: 0 }]);
  });
});
