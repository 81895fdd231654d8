import type { Blame, Counter, Metrics } from "#contract";
import type { FailureReason, FailureRule } from "#contract/operations";
import { SHAPES } from "#otlp/bytes";
import { SIGNALS, type Signal } from "#otlp/signals";
import type { StoreStats } from "../store/store.js";
import { MessageMetrics } from "./message-metrics.js";

/** Later attempts share one label. */
const MAX_ATTEMPT_LABEL = 10;
const RETRY_DELAYS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600];
const STATE_NUMBERS: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 };

interface QueueReadings {
  readonly stats: () => StoreStats;
  readonly now: () => number;
  /** Size of the pending entries, in the unit of the sizer. */
  size(): number;
  /** 0 means no limit. */
  readonly capacity: number;
  readonly byteCapacity: number;
  readonly signals: readonly Signal[];
  inFlight(): number;
  /** Undefined if retries are not counted. */
  readonly waitingRetries?: () => number;
  breaker(): BreakerState;
  held(): number;
  paused(): boolean;
}

/** All metrics of one exporter's queue. They are listed in docs/operate/reliability.md. */
export class QueueMetrics {
  /** By event and source, for messages of brokers. */
  readonly messages: MessageMetrics;
  readonly sent: Readonly<Record<Signal, Counter>>;
  readonly sendFailed: Readonly<Record<Signal, Counter>>;
  readonly enqueueFailed: Readonly<Record<Signal, Counter>>;
  readonly exhausted: Counter;
  readonly permanent: Counter;
  readonly opened: Counter;
  readonly closed: Counter;
  readonly rejected: Counter;
  readonly deadLetterWriteFailures: Counter;
  readonly filteredOut: Counter;
  readonly forwardFailed: Counter;
  readonly replaysFailed: Counter;
  readonly dropped: Counter;
  readonly limiterAllowed: Counter;
  readonly limiterLimited: Counter;
  readonly bisections: Counter;
  readonly partialSuccess: Counter;
  readonly unreadable: Counter;
  readonly lost: Counter;
  readonly repaired: Counter;
  private readonly failedCalls: Readonly<Record<Blame, Counter>>;
  private readonly notifications: Readonly<Record<"sent" | "failed", Counter>>;
  private readonly healthChecks: Readonly<Record<"well" | "ill", Counter>>;
  private readonly id: string;
  private readonly prefix: string;
  private readonly metrics: Metrics;
  private readonly retries: readonly Counter[];
  private readonly attempts;
  private readonly retryDelay;
  private readonly removeGauges: (() => void)[] = [];

  /** A journal is no exporter: sums over exporters must not count its records too. */
  constructor(id: string, metrics: Metrics, isJournal = false) {
    this.prefix = isJournal ? "sluice_journal" : "otelcol_exporter";
    this.messages = new MessageMetrics(id, metrics);
    this.id = id;
    this.metrics = metrics;
    const count = (name: string, description: string, more = {}) =>
      metrics.counter(name, { description }, { exporter: id, ...more });
    this.sent = bySignal((noun) => count(`${this.prefix}_sent_${noun}`, "Records that the backend took."));
    this.sendFailed = bySignal((noun) =>
      count(`${this.prefix}_send_failed_${noun}`, "Records that were given up or rejected by the backend."),
    );
    this.enqueueFailed = bySignal((noun) =>
      count(`${this.prefix}_enqueue_failed_${noun}`, "Records that did not get into the queue."),
    );
    this.retries = Array.from({ length: MAX_ATTEMPT_LABEL }, (_, i) => {
      const attempt = i + 1 === MAX_ATTEMPT_LABEL ? `${MAX_ATTEMPT_LABEL}+` : String(i + 1);
      return count("sluice_exporter_retries", "Entries that were sent again, alone or with others.", { attempt });
    });
    const failed = "Failed calls that may succeed later, by cause: backend or entry.";
    this.failedCalls = {
      backend: count("sluice_exporter_failed_calls", failed, { blame: "backend" }),
      entry: count("sluice_exporter_failed_calls", failed, { blame: "entry" }),
    };
    this.exhausted = count("sluice_exporter_retries_exhausted", "Entries given up after their last retry.");
    this.permanent = count("sluice_exporter_permanent_failures", "Calls that were refused permanently.");
    this.opened = count("sluice_breaker_opened", "Times the circuit breaker opened.");
    this.closed = count("sluice_breaker_closed", "Times the circuit breaker closed.");
    this.rejected = count("sluice_breaker_rejected", "Times that an open circuit breaker prevented a send.");
    this.deadLetterWriteFailures = count(
      "sluice_dead_letter_write_failures",
      "Dead letters that could not be written; writing is retried.",
    );
    this.filteredOut = count(
      "sluice_dead_letters_filtered_out",
      "Entries that were given up and not kept as dead letters, because of dead_letter.filter.",
    );
    this.forwardFailed = count(
      "sluice_dead_letter_forward_failures",
      "Forwarded copies of other exporters' dead letters that could not be delivered.",
    );
    this.replaysFailed = count(
      "sluice_dead_letter_replays_failed",
      "Replayed entries that became dead letters again, counted each time.",
    );
    this.dropped = count("sluice_exporter_dropped", "Entries dropped because the config says so.");
    this.limiterAllowed = count("sluice_retry_limiter_allowed", "Retries that were made at once.");
    this.limiterLimited = count("sluice_retry_limiter_limited", "Retries above the rate limit.");
    this.bisections = count(
      "sluice_exporter_bisections",
      "Refused requests and entries that were split to find bad records.",
    );
    this.partialSuccess = count("sluice_exporter_partial_success", "Answers that rejected some of the records.");
    this.unreadable = count("sluice_queue_unreadable_entries", "Entries that were set aside because of damage.");
    this.lost = count(
      "sluice_queue_lost_entries",
      "Entries that were in the queue before the agent started and are lost.",
    );
    this.repaired = count(
      "sluice_queue_repaired_entries",
      "Dead letters that an older version had overwritten and that are listed again.",
    );
    const checks = "Health checks of the exporter while its circuit breaker was open.";
    this.healthChecks = {
      well: count("sluice_exporter_health_checks", checks, { result: "well" }),
      ill: count("sluice_exporter_health_checks", checks, { result: "ill" }),
    };
    const notifications = "Notifications about dead letters.";
    this.notifications = {
      sent: count("sluice_dead_letter_notifications", notifications, { result: "sent" }),
      failed: count("sluice_dead_letter_notifications", notifications, { result: "failed" }),
    };
    this.attempts = metrics.histogram(
      "sluice_dead_letter_attempts",
      {
        description: "Calls made for an entry before it became a dead letter.",
        boundaries: [0, 1, 2, 3, 5, 8, 13, 21],
      },
      { exporter: id },
    );
    this.retryDelay = metrics.histogram(
      "sluice_exporter_retry_delay",
      { description: "Seconds until an entry is sent again.", boundaries: RETRY_DELAYS },
      { exporter: id },
    );
  }

  /** Records the delay before an entry is sent again. */
  retryScheduled(delayMs: number): void {
    this.retryDelay.record(delayMs / 1000);
  }

  /** Counts an entry that is sent again; `call` is the number of earlier calls. */
  retried(call: number): void {
    this.retries[Math.min(call, MAX_ATTEMPT_LABEL) - 1]?.add(1);
  }

  /** Counts a call that was refused with a status of hold_on. */
  refused(errorClass: string): void {
    const description = "Calls refused with a status of hold_on; the entries wait in the queue.";
    const attributes = { exporter: this.id, error_class: boundedClass(errorClass) };
    this.metrics.counter("sluice_exporter_refused_calls", { description }, attributes).add(1);
  }

  healthChecked(isHealthy: boolean): void {
    this.healthChecks[isHealthy ? "well" : "ill"].add(1);
  }

  /** Counts records that a processor took out of its pipeline: saved as dead letters, or dropped. */
  setBack(reason: FailureReason, saved: number, dropped: number): void {
    const description = "Records that a processor made dead letters, by whether the exporter keeps them.";
    for (const [outcome, items] of Object.entries({ saved, dropped })) {
      const attributes = { exporter: this.id, reason, outcome };
      if (items > 0) this.metrics.counter("sluice_setback_items", { description }, attributes).add(items);
    }
  }

  notified(isSent: boolean): void {
    this.notifications[isSent ? "sent" : "failed"].add(1);
  }

  /** Counts a failed call by whose failure it was. */
  callFailed(blame: Blame): void {
    this.failedCalls[blame].add(1);
  }

  deadLettered(reason: FailureReason, rule: FailureRule, errorClass: string, calls: number): void {
    const description = "Entries that became dead letters.";
    const attributes = { exporter: this.id, reason, rule, error_class: boundedClass(errorClass) };
    this.metrics.counter("sluice_dead_letters", { description }, attributes).add(1);
    this.attempts.record(calls);
  }

  registerGauges(readings: QueueReadings): void {
    const { stats, now } = readings;
    const age = (at: number | undefined) => (at === undefined ? 0 : Math.max(0, now() - at) / 1000);
    const gauge = (name: string, description: string, value: () => number, more = {}) =>
      this.removeGauges.push(this.metrics.gauge(name, { description }, value, { exporter: this.id, ...more }));
    // One queue holds all signals of its exporter and does not count them separately.
    const signal = { data_type: readings.signals.length === 1 ? readings.signals[0]! : "all" };
    gauge(`${this.prefix}_queue_size`, "Size of the queue, in units of sending_queue.sizer.", readings.size, signal);
    // A capacity of 0 would make alerts on the ratio of size to capacity fire.
    if (readings.capacity > 0)
      gauge(
        `${this.prefix}_queue_capacity`,
        "Capacity of the queue, in units of the sizer.",
        () => readings.capacity,
        signal,
      );
    gauge(`${this.prefix}_in_flight_requests`, "Calls under way.", readings.inFlight, signal);
    if (readings.waitingRetries !== undefined)
      gauge("sluice_exporter_waiting_retries", "Entries that wait for a retry.", readings.waitingRetries);
    gauge("sluice_exporter_queue_bytes", "Bytes in the queue.", () => stats().pending.bytes);
    gauge(
      "sluice_exporter_queue_max_bytes",
      "Maximum number of bytes in the queue; 0: no limit.",
      () => readings.byteCapacity,
    );
    gauge("sluice_exporter_queue_oldest_age", "Age of the oldest entry in the queue, in seconds.", () =>
      age(stats().oldestPendingAt),
    );
    gauge("sluice_exporter_queue_unwritable", "1 while nothing can be written to the queue.", () =>
      stats().writeFailure === undefined ? 0 : 1,
    );
    if (stats().diskFreeBytes !== undefined) {
      gauge(
        "sluice_exporter_queue_disk_free",
        "Free bytes on the disk of the queue.",
        () => stats().diskFreeBytes ?? 0,
      );
      gauge(
        "sluice_exporter_queue_disk_ballast",
        "Bytes that the ballast of the queue's directory holds, for all queues in it.",
        () => stats().ballastBytes ?? 0,
      );
    }
    gauge(
      "sluice_queue_set_aside_entries",
      "Damaged entries set aside since the queue was created.",
      () => stats().corrupt,
    );
    gauge("sluice_breaker_state", "0 closed, 1 half open, 2 open.", () => STATE_NUMBERS[readings.breaker()]);
    gauge("sluice_exporter_held", "Signals held because the backend refuses all of them.", readings.held);
    gauge("sluice_exporter_paused", "1 while an operator has paused the exporter.", () => (readings.paused() ? 1 : 0));
    gauge("sluice_dead_letters_entries", "Number of dead letters.", () => stats().failed.entries);
    gauge("sluice_dead_letters_bytes", "Bytes of dead letters.", () => stats().failed.bytes);
    gauge("sluice_dead_letters_oldest_age", "Age of the oldest dead letter, in seconds.", () =>
      age(stats().oldestFailedAt),
    );
  }

  stop(): void {
    for (const remove of this.removeGauges.splice(0)) remove();
  }
}

function bySignal(make: (noun: string) => Counter): Readonly<Record<Signal, Counter>> {
  return Object.fromEntries(SIGNALS.map((signal) => [signal, make(SHAPES[signal].metricNoun)])) as Record<
    Signal,
    Counter
  >;
}

/** Error classes come from outside. Unusual ones share a name, to bound the number of series. */
function boundedClass(name: string): string {
  return /^(HTTP \d{3}|[A-Za-z][A-Za-z0-9_]{0,39})$/.test(name) ? name : "other";
}

export type BreakerState = "closed" | "open" | "half_open";
