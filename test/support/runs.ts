const isFuzzScript = process.env["npm_lifecycle_event"] === "fuzz";

/**
 * How often a law is tried: a few dozen times in the suite, 3,000 times in `npm run fuzz`, or as often as the environment
 * variable FUZZ_RUNS says.
 */
const WANTED = Number(process.env["FUZZ_RUNS"] ?? (isFuzzScript ? 3000 : 0));

export const isFuzzing: boolean = WANTED > 0;

/**
 * How long `npm run fuzz` takes at most, in milliseconds: FUZZ_MINUTES, or an hour. Half of the time is for the inputs of
 * decoders, and half for the laws.
 */
export const FUZZ_LIMIT_MS: number = Number(process.env["FUZZ_MINUTES"] ?? 60) * 60_000;

/** About as many laws as `npm run fuzz` tries, one after the other in each of two processes. */
const LAWS = 110;
const LAW_LIMIT_MS = FUZZ_LIMIT_MS / LAWS;

/** A law that runs out of time holds if it held so far. */
export function runs(few: number) {
  return isFuzzing ? { numRuns: WANTED, interruptAfterTimeLimit: LAW_LIMIT_MS } : { numRuns: few };
}
