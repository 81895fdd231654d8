import { expect, it } from "vitest";
import { AbortPool } from "../../../../src/runtime/contract/calls/direct-outlet.js";

/**
 * Node.js 24 notes dependent signals only when they have a listener. There every signal may have dependents, so none is
 * reused.
 */
const notesFollowers = (() => {
  const { signal } = new AbortController();
  const count = Object.getOwnPropertySymbols(signal).length;
  AbortSignal.any([signal]);
  return Object.getOwnPropertySymbols(signal).length > count;
})();

it.runIf(notesFollowers)("a controller that has served its call serves the next", () => {
  const pool = new AbortPool();
  const first = pool.take();
  const second = pool.take();
  expect(second).not.toBe(first);
  pool.giveBack(first);
  expect(pool.take()).toBe(first);
  expect(pool.take()).not.toBe(first);
});

it("one that was aborted, or that somebody still listens to, is not used again", () => {
  const pool = new AbortPool();
  const aborted = pool.take();
  aborted.abort();
  const watched = pool.take();
  watched.signal.addEventListener("abort", () => {});
  const assigned = pool.take();
  assigned.signal.onabort = () => {};
  for (const controller of [aborted, watched, assigned]) pool.giveBack(controller);
  const next = pool.take();
  expect([aborted, watched, assigned]).not.toContain(next);
  expect(next.signal.aborted).toBe(false);
});

it("one that other signals were made of is not used again: it would end them with a later call, and remember all of them", () => {
  const pool = new AbortPool();
  const followed = pool.take();
  AbortSignal.any([followed.signal, AbortSignal.timeout(1000)]);
  pool.giveBack(followed);
  expect(pool.take()).not.toBe(followed);
});
