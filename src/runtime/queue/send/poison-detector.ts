import type { Clock } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { FailureStreak } from "../entry/queue-item.js";

/** The number of failures remembered per entry, unless the settings ask for more. */
const MAX_SNAPSHOTS = 16;

type PoisonSettings = CompleteSettings["retry_on_failure"]["poison"];

/**
 * Finds poison entries, which are not worth sending again: they failed with the same error at least `failures` times
 * within `window`, while so many other calls succeeded that this is unlikely to be chance. If the entry were like the
 * others, each of its calls would fail with a probability equal to the share of failed calls in that time (including
 * its own), and all n calls with the n-th power of it. Below `max_chance`, the entry is to blame. Throttling is never
 * the entry's fault.
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

  /** Records a failed call for several entries. It is not known which of them is to blame. */
  failedTogether(): void {
    this.failures += 1;
  }

  /** Records a failure that is not permanent. Returns true if the entry is poison. */
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
    return snapshots.length >= failures && this.isUnlikelyByChance(snapshots);
  }

  private isUnlikelyByChance(snapshots: FailureStreak["snapshots"]): boolean {
    const [first, last] = [snapshots[0]!, snapshots.at(-1)!];
    const succeeded = last.successes - first.successes;
    const failed = last.failures - first.failures + 1;
    return (failed / (failed + succeeded)) ** snapshots.length < this.settings.max_chance;
  }
}
