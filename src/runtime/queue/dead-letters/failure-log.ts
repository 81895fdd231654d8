import type { Clock, Logger } from "#contract";
import { type Entry, ruleOf } from "#contract/operations";
import type { DeadLetterCause } from "../entry/queue-item.js";

const WINDOW_MS = 10_000;

/**
 * Logs each entry that is given up once, with the reason but never its content. If very many fail, only the first ones
 * in every ten seconds are logged and the number of the others at the end, so that an outage of a backend does not
 * flood the log.
 */
export class FailureLog {
  private readonly logger: Logger;
  private readonly clock: Clock;
  /** Maximum number of lines per window; 0 means no limit. */
  private readonly maxLines: number;
  private cancelFlush = () => {};
  private windowEnd = Number.NEGATIVE_INFINITY;
  private lines = 0;
  private suppressed = 0;

  constructor(logger: Logger, clock: Clock, maxLines: number) {
    this.logger = logger;
    this.clock = clock;
    this.maxLines = maxLines;
  }

  write(entry: Entry, cause: DeadLetterCause, names: readonly string[], message: string): void {
    const now = this.clock.monotonic();
    if (now >= this.windowEnd) {
      this.flush();
      this.windowEnd = now + WINDOW_MS;
      this.lines = 0;
    }
    if (this.maxLines > 0 && this.lines >= this.maxLines) {
      if (this.suppressed === 0) this.cancelFlush = this.clock.after(this.windowEnd - now, () => this.flush());
      this.suppressed += 1;
      return;
    }
    this.lines += 1;
    const { id, exporter, pipeline, items, attempts, calls } = entry;
    const { reason, category, error } = cause;
    const why = { reason, rule: ruleOf(cause), category, ...(error.blame !== undefined && { blame: error.blame }) };
    const details = { ...why, error: error.class, message: error.message, events: names };
    this.logger.warn({ id, exporter, pipeline, ...details, items, attempts, calls }, message);
  }

  /** Logs the number of failures that were not logged one by one. */
  flush(): void {
    this.cancelFlush();
    if (this.suppressed === 0) return;
    this.logger.warn({ suppressed: this.suppressed }, "more entries failed than were logged one by one");
    this.suppressed = 0;
  }
}
