import { describe, expect, it } from "vitest";
import { GarbageCollection } from "../../../../src/runtime/contract/border/garbage-collection.js";
import { FakeClock } from "../../../../src/testing.js";

/** At which seconds it collects when it is asked every second. */
function secondsOf(seconds: number, isFound: (second: number) => boolean = () => false): number[] {
  const clock = new FakeClock();
  const at: number[] = [];
  let second = 0;
  const collection = new GarbageCollection(clock, () => void at.push(second));
  for (; second < seconds; second++) {
    collection.request();
    if (isFound(second)) collection.found();
    clock.advance(1000);
  }
  return at;
}

describe("a collection of garbage on request", () => {
  it("waits twice as long after each that finds nothing, and at most a minute", () => {
    expect(secondsOf(250)).toEqual([0, 4, 12, 28, 60, 120, 180, 240]);
  });

  it("comes soon again after one that finds something", () => {
    expect(secondsOf(40, (second) => second === 28)).toEqual([0, 4, 12, 28, 32, 36]);
  });
});
