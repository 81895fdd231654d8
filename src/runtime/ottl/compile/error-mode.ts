import type { Logger, Metrics } from "#contract";
import { OttlError } from "../values/error.js";
import type { OnOttlError } from "./run.js";

/** How to handle a condition or statement that fails on a record. */
export const ERROR_MODES = ["ignore", "silent", "propagate"] as const;
/** One of `ERROR_MODES`. */
export type ErrorMode = (typeof ERROR_MODES)[number];

const LOG_INTERVAL_MS = 10_000;

/**
 * `ignore` counts and logs the error and continues, `silent` counts it and continues, `propagate` throws it, which
 * refuses the batch. The error names what failed by its text, and by its number among `numbered`. The log gets at most
 * one line per ten seconds for each text, with the number of errors it stands for.
 */
export function errorHandler(
  mode: ErrorMode,
  { logger, metrics, clock }: { logger: Logger; metrics: Metrics; clock: { monotonic(): number } },
  numbered: readonly { readonly text: string }[] = [],
): OnOttlError {
  if (mode === "propagate") return (error, failed) => throwNamed(error, failed, numbered);
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
      "an OTTL expression failed; continuing as if it had not matched",
    );
    last.at = clock.monotonic();
    last.held = 0;
  };
}

const MAX_TEXT = 200;

function throwNamed(
  error: OttlError,
  failed: { readonly text: string },
  numbered: readonly { readonly text: string }[],
): never {
  const index = numbered.indexOf(failed);
  const number = index === -1 ? "" : `${index + 1} `;
  const text = failed.text.length > MAX_TEXT ? `${failed.text.slice(0, MAX_TEXT)}...` : failed.text;
  throw new OttlError(`OTTL expression ${number}(${text}) failed: ${error.message}`, { cause: error });
}
