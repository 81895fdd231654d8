import { expect } from "vitest";

/**
 * Runs before each file: `toEqual` compares bytes at once. By itself it compares them one by one, which takes seconds for a
 * megabyte. The files of a worker share what is added to `expect`, so it is added once.
 */
const ADDED = Symbol.for("sluice.test.equal-bytes");
const worker = globalThis as { [ADDED]?: true };

if (worker[ADDED] === undefined) {
  expect.addEqualityTesters([equalBytes]);
  worker[ADDED] = true;
}

/** `undefined` leaves the comparison to the others. */
function equalBytes(a: unknown, b: unknown): boolean | undefined {
  if (!(a instanceof Uint8Array && b instanceof Uint8Array) || a.constructor !== b.constructor) return undefined;
  return Buffer.compare(a, b) === 0;
}
