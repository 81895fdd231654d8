import { expect, it } from "vitest";
import { atIntervals } from "../../../src/runtime/resilience/waits.js";
import { FakeClock } from "../../../src/testing.js";

/** Work that takes as long as the test wants. */
function startWork(intervals: { first: number; interval: number }) {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const begins: number[] = [];
  const startedAt = clock.monotonic();
  let end = () => {};
  const running = atIntervals(intervals, clock, stopping.signal, () => {
    begins.push(clock.monotonic() - startedAt);
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  return { clock, stopping, begins, running, end: () => end() };
}

it("begins at the start of each interval, and skips those in which the work is still running", async () => {
  const { clock, begins, end } = startWork({ first: 5, interval: 100 });
  await clock.pass(5, 1);
  expect(begins).toEqual([5]);
  await clock.pass(250, 50);
  end();
  await clock.pass(49);
  expect(begins).toEqual([5]);
  await clock.pass(1);
  expect(begins).toEqual([5, 305]);
  end();
  await clock.pass(100);
  expect(begins).toEqual([5, 305, 405]);
});

it("ends when it is stopped and the work under way has ended", async () => {
  const { clock, stopping, begins, running, end } = startWork({ first: 0, interval: 100 });
  await clock.pass(0);
  clock.advance(0);
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  stopping.abort();
  await clock.pass(1000, 100);
  expect([begins.length, isOver, clock.pending]).toEqual([1, false, 0]);
  end();
  await running;
});

it("does nothing after a stop", async () => {
  const { clock, stopping, begins, running } = startWork({ first: 50, interval: 100 });
  stopping.abort();
  await running;
  await clock.pass(500, 50);
  expect([begins.length, clock.pending]).toEqual([0, 0]);
  await atIntervals({ first: 0, interval: 1 }, clock, stopping.signal, () => Promise.reject(new Error("it ran")));
  expect(clock.pending).toBe(0);
});
