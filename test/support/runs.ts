const script = process.env["npm_lifecycle_event"];

/** The runs of every law in `npm run fuzz`: 3,000, or what the environment variable FUZZ_RUNS says. 0 elsewhere. */
const WANTED = Number(process.env["FUZZ_RUNS"] ?? (script === "fuzz" ? 3000 : 0));

export const isFuzzing: boolean = WANTED > 0;

/** The share of its runs that each law has in `npm test`, where new seeds add up over time. */
const SHARE = script === "test" ? 1 / 10 : 1;

/**
 * A list of cases that is tried whole elsewhere: `npm test` tries every fifth case of it. The seed of the run chooses the
 * first one, so that all of them are tried over time.
 */
export const STRIDE = script === "test" ? 5 : 1;
export const FIRST_CASE = Number(process.env["LAW_SEED"] ?? 0) % STRIDE;

/** The runs that a law has at least, if it wants as many. */
const MIN_RUNS = 5;

/**
 * How long `npm run fuzz` takes at most, in milliseconds: FUZZ_MINUTES, or an hour. Half of the time is for the inputs of
 * decoders, and half for the laws.
 */
export const FUZZ_LIMIT_MS: number = Number(process.env["FUZZ_MINUTES"] ?? 60) * 60_000;

/** About as many laws as `npm run fuzz` tries, one after the other in each of two processes. */
const LAWS = 125;
const LAW_LIMIT_MS = FUZZ_LIMIT_MS / LAWS;

/**
 * How often a law is tried: `wanted` times by `npx vitest run FILE` and `npm run test:laws`, a tenth of that by `npm test`.
 * When `npm run fuzz` runs out of time, a law holds if it held so far.
 */
export function runs(wanted: number) {
  if (isFuzzing) return { numRuns: WANTED, interruptAfterTimeLimit: LAW_LIMIT_MS };
  return { numRuns: Math.max(Math.min(wanted, MIN_RUNS), Math.round(wanted * SHARE)) };
}
