import { TEST_LIMIT_MS } from "./limits.js";

/**
 * How often a law is tried: a few dozen times in the suite, 3,000 times in `npm run fuzz`, or as often as the environment
 * variable FUZZ_RUNS says.
 */
const WANTED = Number(process.env["FUZZ_RUNS"] ?? (process.env["npm_lifecycle_event"] === "fuzz" ? 3000 : 0));

export function runs(few: number): { numRuns: number } {
  return { numRuns: WANTED > 0 ? WANTED : few };
}

/** Vitest's limit for one law: long runs may take as long as they take. */
export const PATIENCE = WANTED > 0 ? 24 * 3600_000 : TEST_LIMIT_MS;
