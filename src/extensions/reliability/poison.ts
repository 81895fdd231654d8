import type { AttemptError, Clock } from "../../plugin.js";

const TIMES = 3;
const WINDOW_MS = 60_000;
/** Others count as succeeding while at most one in so many of their calls fails. */
const ONE_IN = 5;

/** What an entry's last failures were like. Kept with the entry while it is in memory. */
export interface Evidence {
  class: string;
  /** The last failures: when, and how many calls of the exporter had succeeded and failed by then. */
  readonly marks: { readonly at: number; readonly successes: number; readonly failures: number }[];
}

/**
 * Finds entries that it is futile to send again: the same error three times within a minute, while nearly everything
 * else goes through. Being throttled is never the entry's fault.
 */
export class PoisonWatch {
  private readonly clock: Clock;
  private successes = 0;
  private failures = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  succeeded(): void {
    this.successes += 1;
  }

  /** Notes a failure that is not permanent. True: the entry is poison. */
  failed(entry: { evidence: Evidence | undefined }, error: AttemptError): boolean {
    this.failures += 1;
    if (error.kind !== "transient") {
      entry.evidence = undefined;
      return false;
    }
    if (entry.evidence?.class !== error.class) entry.evidence = { class: error.class, marks: [] };
    const { marks } = entry.evidence;
    marks.push({ at: this.clock.monotonic(), successes: this.successes, failures: this.failures });
    if (marks.length > TIMES) marks.shift();
    return marks.length === TIMES && this.isAlone(marks);
  }

  private isAlone([first, , last]: Evidence["marks"]): boolean {
    if (first === undefined || last === undefined || last.at - first.at > WINDOW_MS) return false;
    const successes = last.successes - first.successes;
    const othersFailed = last.failures - first.failures - (TIMES - 1);
    return successes > 0 && othersFailed * ONE_IN <= successes + othersFailed;
  }
}

/** A word for what kind of trouble it is, for people who sort dead letters. */
export function categoryOf(error: AttemptError): string {
  if (error.kind === "permanent") return error.category ?? "schema";
  if (error.kind === "throttled" || error.class === "HTTP 429") return "downstream_throttled";
  if (/TIMEOUT|TIMEDOUT|DEADLINE|HTTP 504|HTTP 408/.test(error.class)) return "downstream_timeout";
  if (/^HTTP|^[A-Z]+(_[A-Z]+)?$/.test(error.class) && !/^E[A-Z]+$/.test(error.class)) return "downstream_error";
  return /^E[A-Z_]+$|^ERR_/.test(error.class) ? "connection_error" : "unknown";
}
