import { type Blame, type Clock, type Logger, limitedLog } from "#contract";
import type { Undelivered } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import { deadLetter, type EntryOutcome, type GroupOutcome, outcomeOfEach } from "../entry/outcome.js";
import { type FailureStreak, type QueueItem, withDelay, withFailure } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { recordsOf, type SendGroup } from "../entry/send-group.js";
import type { EntryRef } from "../store/store.js";
import { type Backoff, createBackoff } from "./backoff.js";
import type { Bisections } from "./bisect.js";
import type { RecentCalls } from "./recent-calls.js";

export interface FailurePolicyServices {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly bisections: Bisections;
  readonly recent: RecentCalls;
}

/** A failed call that may be retried. */
interface CallFailure {
  readonly error: AttemptError;
  /** Whether the failure uses up an attempt of each entry. */
  readonly counts: boolean;
  readonly isPoison: boolean;
  /** Whether the call was made for a single entry. */
  readonly isAlone: boolean;
  /** Number of records of all entries in the call. */
  readonly requestItems: number;
}

/**
 * Decides what follows from a failed call that may be retried: whose failure it is, whether it uses up an attempt of its
 * entries, and for each entry whether and when it is retried.
 */
export class FailurePolicy {
  private readonly services: FailurePolicyServices;
  private readonly judge = new BlameJudge();
  private readonly backoff: Backoff;
  private readonly poison: PoisonDetector;
  private readonly logRetry: (what: { readonly error: AttemptError; readonly delayMs: number }) => void;

  constructor(services: FailurePolicyServices) {
    this.services = services;
    const { settings, clock, random, logger } = services;
    this.backoff = createBackoff(settings.retry_on_failure, random);
    this.poison = new PoisonDetector(settings.retry_on_failure.poison, clock);
    this.logRetry = limitedLog(clock, ({ error, delayMs }, suppressed) => {
      const why = { error: error.class, blame: error.blame, message: error.message };
      const details = { ...why, retryInMs: Math.round(delayMs), suppressed };
      logger.warn(details, "sending failed; the data stays in the queue and is retried");
    });
  }

  /** To be called when a call succeeded. */
  succeeded(): void {
    this.poison.succeeded();
    this.judge.succeeded(this.services.clock.monotonic());
  }

  /** Counts a failed call, given its first entry, and returns its error with the blame decided. */
  blame(item: QueueItem, error: AttemptError): AttemptError {
    const blame = this.judge.decide(item, error);
    const blamed = error.blame === blame ? error : { ...error, blame };
    this.services.metrics.callFailed(blame);
    this.services.recent.failed(blamed);
    return blamed;
  }

  /** Decides on the entries of a failed call. The error is the one that `blame` returned. */
  failed(
    group: SendGroup,
    error: AttemptError,
    { isTimeout, isLogged }: { readonly isTimeout: boolean; readonly isLogged: boolean },
  ): GroupOutcome {
    const { items } = group;
    const counts = error.blame === "entry";
    if (isTimeout && !counts) noteTimeout(items);
    const isPoison = this.isPoison(group, error);
    const delays = new Map<number, number>();
    const failure = { error, counts, isPoison, isAlone: items.length === 1, requestItems: recordsOf(items) };
    const outcomes = outcomeOfEach(items, (item) => this.failedEntry(item, failure, delays));
    if (isLogged) this.log(error, delays);
    return outcomes;
  }

  /**
   * Decides on the entries of a call that one of several servers did not take its share of. The rest is sent one entry at
   * a time, so that each server's own answer is known.
   */
  partlySent(
    { items }: SendGroup,
    batches: readonly Batch[],
    error: AttemptError,
    { marks }: Pick<Undelivered, "marks">,
  ): GroupOutcome {
    const delays = new Map<number, number>();
    const failure = {
      ...{ error, counts: error.blame === "entry", isPoison: false },
      ...{ isAlone: items.length === 1, requestItems: recordsOf(items) },
    };
    let from = 0;
    const outcomes = outcomeOfEach(items, (item, i) => {
      const batch = batches[i]!;
      const own = marks.subarray(from, (from += batch.count));
      if (own.every((mark) => mark === 0)) {
        this.services.bisections.delivered(item);
        return { kind: "delivered", sent: batch };
      }
      item.mustBeAlone = true;
      const isOneShare = isUniform(own);
      const outcome = this.failedEntry(item, isOneShare ? failure : { ...failure, counts: false }, delays);
      if (isOneShare || outcome.kind !== "retry") return outcome;
      return { kind: "divide", batch, marks: own, delayMs: outcome.delayMs };
    });
    this.log(error, delays);
    return outcomes;
  }

  private isPoison({ items }: SendGroup, error: AttemptError): boolean {
    const [item] = items as [QueueItem];
    if (items.length === 1 && error.blame === "entry") return this.poison.failed(item, error);
    this.poison.failedTogether();
    item.failureStreak = undefined;
    return false;
  }

  /**
   * Entries that have failed equally often wait equally long, so that they can be sent together again. The wait grows
   * with every call, no matter who was to blame, so that a backend that is down is not flooded.
   */
  private failedEntry(
    item: QueueItem,
    { error, counts, isPoison, isAlone, requestItems }: CallFailure,
    delays: Map<number, number>,
  ): EntryOutcome {
    const { clock } = this.services;
    item.failingSince ??= clock.monotonic();
    item.entry = withFailure(item.entry, error, clock.now(), counts, requestItems);
    const { enabled, max_retries } = this.services.settings.retry_on_failure;
    if (!enabled) return deadLetter("retry_disabled", error);
    if (item.entry.attempts > max_retries && counts) return deadLetter("max_retries", error);
    if (this.isOutOfTime(item)) {
      if (isAlone || !counts) return deadLetter("max_elapsed_time", error);
      item.mustBeAlone = true;
    }
    if (isPoison) return deadLetter("poison", error);
    const { calls } = item.entry;
    const delayMs = delays.get(calls) ?? this.backoff(calls, error.retryAfterMs);
    delays.set(calls, delayMs);
    item.entry = withDelay(item.entry, delayMs);
    return { kind: "retry", delayMs };
  }

  private isOutOfTime({ failingSince }: QueueItem): boolean {
    const { max_elapsed_time } = this.services.settings.retry_on_failure;
    return max_elapsed_time > 0 && this.services.clock.monotonic() - failingSince! >= max_elapsed_time;
  }

  private log(error: AttemptError, delays: ReadonlyMap<number, number>): void {
    const [delayMs] = delays.values();
    if (delayMs !== undefined) this.logRetry({ error, delayMs });
  }
}

/** A timeout may be due to the size of the request, so its entries will be sent in smaller requests. */
function noteTimeout(items: readonly QueueItem[]): void {
  if (items.length > 1) for (const item of items) item.groupTimeouts += 1;
}

/** Whether the whole request went to one server and its refusal is final by the config. */
export function isRefusedPermanently({ kind }: AttemptError, { marks }: Undelivered): boolean {
  return kind === "permanent" && isUniform(marks);
}

function isUniform(marks: Uint16Array): boolean {
  return marks.every((mark) => mark === marks[0]);
}

/**
 * Decides who is to blame for a failed call: the entry or the backend. The table of failures
 * (runtime/contract/blame.ts) decides most cases; calls that timed out are decided here. The entry is to blame if other
 * entries get through: another call has succeeded since the entry was last tried, and no other entry has failed since
 * that success. Otherwise the backend may hang, and the entry keeps its attempts.
 */
class BlameJudge {
  /** The first entry that failed since the last success. */
  private failed: EntryRef | undefined;
  private hasSeveral = false;
  /** Monotonic time of the last success of any entry: the wall clock may be set back meanwhile. */
  private succeededAt = Number.NEGATIVE_INFINITY;

  decide({ ref, lastTriedAt, queuedSince }: QueueItem, error: AttemptError): Blame {
    const isOnlyOne = !this.hasSeveral && (this.failed ?? ref) === ref;
    const haveOthersSucceeded = this.succeededAt >= Math.max(lastTriedAt, queuedSince);
    const blame = error.blame ?? (isOnlyOne && haveOthersSucceeded ? "entry" : "backend");
    // A failure that the backend's answer blames on the entry is no sign of an outage.
    if (error.blame !== "entry") this.noteFailure(ref);
    return blame;
  }

  succeeded(at: number): void {
    this.succeededAt = at;
    this.failed = undefined;
    this.hasSeveral = false;
  }

  private noteFailure(ref: EntryRef): void {
    this.hasSeveral ||= (this.failed ?? ref) !== ref;
    this.failed ??= ref;
  }
}

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
