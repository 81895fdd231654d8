import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";

const HOUR = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("waits longer than a timer can", () => {
  let rung = 0;
  systemClock.after(2000 * HOUR, () => rung++);
  vi.advanceTimersByTime(2000 * HOUR - 1);
  expect(rung).toBe(0);
  vi.advanceTimersByTime(1);
  expect(rung).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

it("can be cancelled after any time", () => {
  let rung = 0;
  const cancel = systemClock.after(2000 * HOUR, () => rung++);
  vi.advanceTimersByTime(1000 * HOUR);
  cancel();
  expect(vi.getTimerCount()).toBe(0);
  expect(rung).toBe(0);
});
