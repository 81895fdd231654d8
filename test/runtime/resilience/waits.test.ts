import { expect, it } from "vitest";
import { isTimedOut, pause, TimeoutError, withTimeout } from "../../../src/runtime/resilience/waits.js";
import { FakeClock } from "../../../src/testing.js";

/** Work that fails as soon as its signal fires. */
const hanging = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));

it("ends work that takes too long, with an error that says how long it was waited for", async () => {
  const clock = new FakeClock();
  const work = withTimeout(100, clock, [], hanging);
  clock.advance(99);
  expect(await Promise.race([work, Promise.resolve("running")])).toBe("running");
  clock.advance(1);
  await expect(work).rejects.toThrow(new TimeoutError("no answer within 100 ms"));
});

it("ends work with the signals it follows, and passes on the work's own error then", async () => {
  const clock = new FakeClock();
  const stopping = new AbortController();
  let own: AbortSignal | undefined;
  const work = withTimeout(100, clock, [new AbortController().signal, stopping.signal], (signal) => {
    own = signal;
    return hanging(signal);
  });
  stopping.abort();
  await expect(work).rejects.toThrow("aborted");
  expect(isTimedOut(own!)).toBe(false);
  expect(clock.pending).toBe(0);
});

it("tells an inner limit that the time of the work around it is up", async () => {
  const clock = new FakeClock();
  const work = withTimeout(10, clock, [], (outer) => withTimeout(100, clock, [outer], hanging));
  clock.advance(10);
  await expect(work).rejects.toThrow(new TimeoutError("no answer within 10 ms"));
});

it("returns the result of work in time, and leaves no timer and no listener", async () => {
  const clock = new FakeClock();
  const stopping = new AbortController();
  let own: AbortSignal | undefined;
  const work = async (signal: AbortSignal) => {
    own = signal;
    return 7;
  };
  expect(await withTimeout(100, clock, [stopping.signal], work)).toBe(7);
  expect(clock.pending).toBe(0);
  stopping.abort();
  expect(own!.aborted).toBe(false);
});

it("pauses for a time, or until the signal fires, and leaves no timer", async () => {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const plain = pause(50, clock).then(() => "plain");
  const stopped = pause(50, clock, stopping.signal).then(() => "stopped");
  stopping.abort();
  expect(await Promise.race([plain, stopped])).toBe("stopped");
  expect(clock.pending).toBe(1);
  clock.advance(50);
  expect(await plain).toBe("plain");
  await pause(50, clock, stopping.signal);
  expect(clock.pending).toBe(0);
});
