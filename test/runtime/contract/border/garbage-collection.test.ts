import { describe, expect, it } from "vitest";
import { GarbageCollection } from "../../../../src/runtime/contract/border/lost-deliveries.js";
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
    expect(secondsOf(250)).toEqual([0, 2, 6, 14, 30, 62, 122, 182, 242]);
  });

  it("comes again soon after one that finds something", () => {
    expect(secondsOf(31, (second) => second === 14)).toEqual([0, 2, 6, 14, 16, 18, 22, 30]);
  });
});
