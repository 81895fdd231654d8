import { type Clock, mayBePoison } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { CallCounts, FailedCall, QueueItem } from "../entry/queue-item.js";
import type { Successes } from "./recent-calls.js";

type PoisonSettings = CompleteSettings["retry_on_failure"]["poison"];

/** The number of failed calls remembered per entry, unless the settings ask for more. */
const MAX_CALLS = 16;
/** How exactly the beginning of the window is known, as a part of it. */
const PRECISION = 1 / 60;

/**
 * Finds poison: entries that fail again and again while others get through, so that they are not worth sending again.
 * It does not matter what the failure looks like (an answer, a reset, a timeout, an answer that cannot be read), unless
 * the entry cannot have caused it. See `isPoison` for the conditions.
 */
export class PoisonDetector {
  private readonly settings: PoisonSettings;
  private readonly clock: Clock;
  /** What happened to all entries of the exporter. */
  private readonly successes: Successes;
  private failed = 0;
  private checks = 0;
  /** The counts after failures, one per part of the window, with its beginning. The first one is before the window. */
  private readonly counts = [{ at: Number.NEGATIVE_INFINITY, succeeded: 0, failed: 0 }];

  constructor(settings: PoisonSettings, clock: Clock, successes: Successes) {
    this.settings = settings;
    this.clock = clock;
    this.successes = successes;
  }

  /** To be called when a health check of the exporter succeeded. */
  checkSucceeded(): void {
    this.checks += 1;
  }

  /**
   * Counts a failed call for these entries, which took `tookMs`. Of several, it is not known which is to blame. `error` is
   * the error before the decision on who is to blame.
   */
  callFailed(entries: readonly Pick<QueueItem, "failedCalls">[], error: AttemptError, tookMs = 0): PoisonVerdict {
    const [before] = this.countFailure() as [CallCounts];
    const { failures, enabled } = this.settings;
    if (!enabled) return "no";
    const { failed } = this;
    const { entries: delivered, calls: succeeded } = this.successes;
    const counts = { delivered, succeeded, failed, proofs: succeeded + this.checks };
    const className = entries.length === 1 && mayBePoison(error) ? error.class : undefined;
    const at = this.clock.monotonic();
    const call: FailedCall = { at, tookMs, class: className, before, ...counts };
    for (const entry of entries) {
      entry.failedCalls ??= { first: call, last: [] };
      const { last } = entry.failedCalls;
      last.push(call);
      if (last.length > Math.max(MAX_CALLS, failures)) last.shift();
    }
    const { first, last } = entries[0]!.failedCalls!;
    return poisonVerdict(first, last, this.settings);
  }

  /** Successes are too frequent to note their times, so the counts are noted at failures. */
  private countFailure(): readonly CallCounts[] {
    const { counts, clock, settings } = this;
    const { calls: succeeded } = this.successes;
    const at = clock.monotonic();
    this.failed += 1;
    const newest = counts.at(-1)!;
    if (at - newest.at >= settings.window * PRECISION) counts.push({ at, succeeded, failed: this.failed });
    else Object.assign(newest, { succeeded, failed: this.failed });
    while (counts.length > 1 && at - counts[1]!.at > settings.window) counts.shift();
    return counts;
  }
}

/** `unproven`: it would be poison if anything else had succeeded since its previous failure. */
export type PoisonVerdict = "no" | "unproven" | "poison";

/**
 * Decides whether an entry is poison, given the first of its failed calls and the last ones, oldest first. It is if all
 * of this is true of the last one:
 *
 * 1. It is one of at least `failures` calls with the same error within `window`. The duration of the calls does not count:
 *    a call that times out after 30 s must not keep its entry from being poison.
 * 2. Of the other calls, a share of at most `max_failure_rate` failed, both since the first of these and within
 *    `window`. One bad replica among a few is above that. A short time with few calls may be lucky, so the whole window
 *    counts too.
 * 3. At least `min_successes` other entries were delivered since the entry's first failure.
 * 4. The backend still works: another call, or a health check, succeeded since the entry's previous failure. So a total
 *    outage makes no poison, even if it begins when the first three conditions are almost true.
 */
export function poisonVerdict(
  first: FailedCall,
  calls: readonly FailedCall[],
  { failures, window, max_failure_rate, min_successes }: Omit<PoisonSettings, "enabled">,
): PoisonVerdict {
  const last = calls.at(-1)!;
  const alike = calls.filter((call) => call.class === last.class && waitedMs(call, calls) <= window);
  if (last.class === undefined || alike.length < failures) return "no";
  if (last.delivered - first.delivered < min_successes) return "no";
  const doOthersSucceedSince = (start: CallCounts) => {
    const own = calls.filter(({ failed }) => failed > start.failed).length;
    const failed = last.failed - start.failed - own;
    return failed <= max_failure_rate * (failed + last.succeeded - start.succeeded);
  };
  if (!doOthersSucceedSince(alike[0]!) || !doOthersSucceedSince(last.before)) return "no";
  return last.proofs > calls.at(-2)!.proofs ? "poison" : "unproven";
}

/** The time from this failure to the last one, without the duration of the calls since. */
function waitedMs({ at: start }: FailedCall, calls: readonly FailedCall[]): number {
  const all = calls.at(-1)!.at - start;
  return calls.reduce((ms, { at, tookMs }) => (at > start ? ms - tookMs : ms), all);
}
