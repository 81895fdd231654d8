import type { Clock } from "./clock.js";

const INTERVAL_MS = 10_000;

/**
 * Logs the same kind of event at most once in ten seconds. `write` also gets the number of events suppressed since the
 * last time, so that an outage causes a few lines instead of a flood and still shows its extent.
 *
 * @example
 * const sayLost = ({ clock, logger }: ComponentContext) =>
 *   limitedLog<Error>(clock, (error, suppressed) => logger.warn({ reason: error.message, suppressed }, "lost the connection"));
 */
export function limitedLog<T>(clock: Clock, write: (event: T, suppressed: number) => void): (what: T) => void {
  let last = Number.NEGATIVE_INFINITY;
  let suppressed = 0;
  return (what) => {
    const now = clock.monotonic();
    if (now - last < INTERVAL_MS) {
      suppressed++;
      return;
    }
    const before = suppressed;
    // The state is reset before the call, because writing may log again and come back here.
    last = now;
    suppressed = 0;
    write(what, before);
  };
}
