import type { Logger, Metrics } from "../../contract/observability.js";
import type { OnOttlError } from "./run.js";

/** What to do with a condition or statement that fails on a record. */
export const ERROR_MODES = ["ignore", "silent", "propagate"] as const;
/** One of `ERROR_MODES`. */
export type ErrorMode = (typeof ERROR_MODES)[number];

const LOG_INTERVAL_MS = 10_000;

/**
 * `ignore` counts and logs the error and goes on, `silent` counts it and goes on, `propagate` lets it be thrown, which
 * refuses the batch. The log gets at most one line in ten seconds for each text, with how many errors it stands for.
 */
export function errorHandler(
  mode: ErrorMode,
  { logger, metrics, clock }: { logger: Logger; metrics: Metrics; clock: { monotonic(): number } },
): OnOttlError | undefined {
  if (mode === "propagate") return undefined;
  const counter = metrics.counter("sluice_ottl_errors", {
    description: "Conditions and statements that failed on a record.",
  });
  const logged = new Map<string, { at: number; held: number }>();
  return (error, { text }) => {
    counter.add(1);
    if (mode === "silent") return;
    const last = logged.get(text) ?? { at: Number.NEGATIVE_INFINITY, held: 0 };
    logged.set(text, last);
    last.held++;
    if (clock.monotonic() - last.at < LOG_INTERVAL_MS) return;
    logger.warn(
      { failed: text, reason: error.message, errors: last.held },
      "an OTTL expression failed; going on without it",
    );
    last.at = clock.monotonic();
    last.held = 0;
  };
}
