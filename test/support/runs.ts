/**
 * How often a law is tried: a few dozen times in the suite, 3,000 times in `npm run fuzz`, or as often as the environment
 * variable FUZZ_RUNS says.
 */
const WANTED = Number(process.env["FUZZ_RUNS"] ?? (process.env["npm_lifecycle_event"] === "fuzz" ? 3000 : 0));

export const isFuzzing: boolean = WANTED > 0;

export function runs(few: number): { numRuns: number } {
  return { numRuns: isFuzzing ? WANTED : few };
}
