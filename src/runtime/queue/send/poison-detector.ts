import type { Clock } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";

/** Failures that are remembered of an entry, if its settings do not ask for more. */
const MAX_SNAPSHOTS = 16;

/** What an entry's last failures were like. Kept with the entry while it is in memory. */
export interface FailureStreak {
  class: string;
  /** The last failures in a row: when, and how many calls of the exporter had succeeded and failed by then. */
  readonly snapshots: { readonly at: number; readonly successes: number; readonly failures: number }[];
}

type PoisonSettings = CompleteSettings["retry_on_failure"]["poison"];

/**
 * Finds entries that it is futile to send again: the same error at least `failures` times within `window`, while so many
 * others go through that it cannot be chance. If the entry were like the others, each of its calls would fail with the
 * share of calls that failed in that time, its own among them, and all n of them with the n-th power of it; below
 * `max_chance` the entry is to blame. Being throttled is never the entry's fault.
 */
export class PoisonDetector {
  private readonly settings: PoisonSettings;
  private readonly clock: Clock;
  private successes = 0;
  private failures = 0;

  constructor(settings: PoisonSettings, clock: Clock) {
    this.settings = settings;
    this.clock = clock;
  }

  succeeded(): void {
    this.successes += 1;
  }

  /** Notes a failure of entries that were sent together: it is not known which of them is to blame. */
  failedTogether(): void {
    this.failures += 1;
  }

  /** Notes a failure that is not permanent. True: the entry is poison. */
  failed(entry: { failureStreak: FailureStreak | undefined }, error: AttemptError): boolean {
    this.failures += 1;
    const { enabled, failures, window } = this.settings;
    if (!enabled || error.kind !== "transient") {
      entry.failureStreak = undefined;
      return false;
    }
    if (entry.failureStreak?.class !== error.class) entry.failureStreak = { class: error.class, snapshots: [] };
    const { snapshots } = entry.failureStreak;
    const at = this.clock.monotonic();
    snapshots.push({ at, successes: this.successes, failures: this.failures });
    const maxSnapshots = Math.max(MAX_SNAPSHOTS, failures);
    while (snapshots.length > maxSnapshots || at - snapshots[0]!.at > window) snapshots.shift();
    return snapshots.length >= failures && this.isBeyondChance(snapshots);
  }

  private isBeyondChance(snapshots: FailureStreak["snapshots"]): boolean {
    const [first, last] = [snapshots[0]!, snapshots.at(-1)!];
    const succeeded = last.successes - first.successes;
    const failed = last.failures - first.failures + 1;
    return (failed / (failed + succeeded)) ** snapshots.length < this.settings.max_chance;
  }
}
