/** How often a law is tried: a few dozen times in the suite, as often as FUZZ_RUNS says in `npm run fuzz`. */
export function runs(few = 60): { numRuns: number } {
  const wanted = Number(process.env["FUZZ_RUNS"] ?? 0);
  return { numRuns: wanted > 0 ? wanted : few };
}

/** Vitest's limit for one law: long runs may take as long as they take. */
export const PATIENCE = process.env["FUZZ_RUNS"] ? 24 * 3600_000 : 20_000;
