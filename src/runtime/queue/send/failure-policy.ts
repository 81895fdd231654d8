import { type Blame, type Clock, type Logger, limitedLog } from "#contract";
import type { Undelivered } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import { deadLetter, type EntryOutcome, type GroupOutcome, outcomeOfEach } from "../entry/outcome.js";
import { type QueueItem, recordsOf, type SendGroup, withDelay, withFailure } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { type Backoff, createBackoff } from "./backoff.js";
import type { Bisections } from "./bisect.js";
import { BlameJudge } from "./blame-judge.js";
import { PoisonDetector, type PoisonVerdict } from "./poison-detector.js";
import type { RecentCalls, Successes } from "./recent-calls.js";

interface FailurePolicyServices {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly bisections: Bisections;
  readonly recent: RecentCalls;
  readonly successes: Successes;
}

/** A failed call that may be retried, with the decision on who is to blame. */
interface JudgedFailure {
  readonly error: AttemptError;
  readonly poison: PoisonVerdict;
  /** Whether one of several entries may be to blame, so that they are retried in smaller requests. */
  readonly isWorthDividing: boolean;
}

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
  private readonly judge: BlameJudge;
  private readonly backoff: Backoff;
  private readonly poison: PoisonDetector;
  private readonly logRetry: (what: { readonly error: AttemptError; readonly delayMs: number }) => void;

  constructor(services: FailurePolicyServices) {
    this.services = services;
    const { settings, clock, random, logger, successes } = services;
    this.backoff = createBackoff(settings.retry_on_failure, random);
    this.judge = new BlameJudge(successes);
    this.poison = new PoisonDetector(settings.retry_on_failure.poison, clock, successes);
    this.logRetry = limitedLog(clock, ({ error, delayMs }, suppressed) => {
      const why = { error: error.class, blame: error.blame, message: error.message };
      const details = { ...why, retryInMs: Math.round(delayMs), suppressed };
      logger.warn(details, "sending failed; the data stays in the queue and is retried");
    });
  }

  /** To be called when a health check succeeded. */
  checkSucceeded(): void {
    this.poison.checkSucceeded();
  }

  /** Counts a failed call and decides who is to blame: poison is, whatever its failure looks like. */
  blame({ items }: SendGroup, error: AttemptError): JudgedFailure {
    const [first] = items as [QueueItem];
    const tookMs = first.sentAt === undefined ? 0 : Math.max(0, this.services.clock.now() - first.sentAt);
    const poison = this.poison.callFailed(items, error, tookMs);
    const isWorthDividing = error.blame !== "backend" || this.judge.hasSucceededSince(first);
    const judged = this.judge.decide(first, error);
    return { error: this.counted(error, poison === "poison" ? "entry" : judged), poison, isWorthDividing };
  }

  /** The same for a call that one of several servers did not take its share of. Its entries are retried alone. */
  blamePartly({ items }: SendGroup, error: AttemptError): AttemptError {
    return this.counted(error, this.judge.decide(items[0]!, error));
  }

  private counted(error: AttemptError, blame: Blame): AttemptError {
    const blamed = error.blame === blame ? error : { ...error, blame };
    this.services.metrics.callFailed(blame);
    this.services.recent.failed(blamed);
    return blamed;
  }

  /** Decides on the entries of a failed call. */
  failed({ items }: SendGroup, { error, poison, isWorthDividing }: JudgedFailure, isLogged: boolean): GroupOutcome {
    const counts = error.blame === "entry";
    if (isWorthDividing) sendFewerTogether(items);
    const delays = new Map<number, number>();
    const isPoison = poison === "poison";
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
      error,
      counts: error.blame === "entry",
      isPoison: false,
      isAlone: items.length === 1,
      requestItems: recordsOf(items),
    };
    let from = 0;
    const outcomes = outcomeOfEach(items, (item, i) => {
      const batch = batches[i]!;
      const own = marks.subarray(from, (from += batch.count));
      if (own.every((mark) => mark === 0)) {
        this.services.bisections.delivered(item);
        return { kind: "delivered", sent: batch };
      }
      item.maxTogether = 1;
      const isOneShare = isUniform(own);
      const outcome = this.failedEntry(item, isOneShare ? failure : { ...failure, counts: false }, delays);
      if (isOneShare || outcome.kind !== "retry") return outcome;
      return { kind: "divide", batch, marks: own, delayMs: outcome.delayMs };
    });
    this.log(error, delays);
    return outcomes;
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
      item.maxTogether = 1;
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

/** How many times fewer entries are sent together after each failure but the first, so that the bad ones are soon alone. */
const DIVISOR = 8;

/** The first failure may be the beginning of an outage, which must not end in many small requests. */
function sendFewerTogether(items: readonly QueueItem[]): void {
  if (items.length === 1) return;
  const fewer = Math.max(1, Math.floor(items.length / DIVISOR));
  for (const item of items) item.maxTogether = item.maxTogether === Number.POSITIVE_INFINITY ? items.length : fewer;
}

/** Whether the whole request went to one server and its refusal is final by the config. */
export function isRefusedPermanently({ kind }: AttemptError, { marks }: Undelivered): boolean {
  return kind === "permanent" && isUniform(marks);
}

function isUniform(marks: Uint16Array): boolean {
  return marks.every((mark) => mark === marks[0]);
}
