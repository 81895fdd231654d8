import { deepStrictEqual } from "node:assert";
import { inspect, isDeepStrictEqual } from "node:util";
import { assertionError, check } from "./eventually.js";

/** Fails, and shows the difference, unless both are deeply equal. */
export function assertEqual(actual: unknown, expected: unknown): void {
  deepStrictEqual(actual, expected);
}

/** Fails unless `actual` contains everything in `expected`; it may have more. */
export function assertMatches(actual: unknown, expected: unknown): void {
  check(includesAll(actual, expected), () => `expected ${inspect(expected)} in ${inspect(actual, { depth: 4 })}`);
}

/** Fails unless the promise rejects with an error that has this `code`. */
export async function assertRejects(work: Promise<unknown>, code: string): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason ?? assertionError("rejected with nothing"),
  );
  check(error !== undefined, `expected an error with the code "${code}", and there was none`);
  const actual = (error as { code?: unknown }).code;
  check(actual === code, `expected an error with the code "${code}", got ${inspect(error)}`);
}

function includesAll(actual: unknown, expected: unknown): boolean {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected))
    return isDeepStrictEqual(actual, expected);
  if (typeof actual !== "object" || actual === null) return false;
  return Object.entries(expected).every(([key, value]) => includesAll((actual as Record<string, unknown>)[key], value));
}
