import { createHash } from "node:crypto";
import { type Clock, type Logger, MAX_CLOCK_STEP_MS, SteadyTime } from "#contract";
import { type AttemptError, type Entry, type Failure, ruleOf } from "#contract/operations";
import type { Batch } from "#otlp";
import { maskText } from "#text";
import type { DeadLetterCause, QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { isEntryGone, type QueueStore, type StoreError } from "../store/store.js";
import { excerptOf } from "./batch-excerpt.js";
import type { DeadLetterFilter } from "./dead-letter-filter.js";
import { FailureLog } from "./failure-log.js";
import type { FailureNotifier } from "./failure-notifier.js";
import type { DeadLetterForwarder } from "./forwarder.js";

interface DeadLetterWriterServices {
  readonly store: QueueStore;
  readonly filter: DeadLetterFilter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  /** Maximum number of log lines for single dead letters in ten seconds; 0 means no limit. */
  readonly maxLogLines: number;
  readonly notifier: FailureNotifier;
  readonly forwarder?: Pick<DeadLetterForwarder, "add"> | undefined;
  /** Counts and logs an entry that the store cannot read any more. */
  readonly onUnreadable: (entry: Entry, cause: StoreError) => void;
}

/** The result of dead-lettering an entry. `unwritten`: it is still pending and must be written again later. */
export type WriteOutcome = "saved" | "discarded" | "gone" | "unwritten";

/**
 * Turns entries into dead letters: asks the filter, adds facts that help people find and understand them, writes,
 * counts and logs. Never rejects: an error of the store is counted, and the pipeline continues.
 */
export class DeadLetterWriter {
  private readonly services: DeadLetterWriterServices;
  private readonly log: FailureLog;
  private readonly time: SteadyTime;

  constructor(services: DeadLetterWriterServices) {
    this.services = services;
    this.time = new SteadyTime(services.clock, { followsBack: false });
    this.log = new FailureLog(services.logger, services.clock, services.maxLogLines);
  }

  /** Dead-letters a pending entry, or only its `remaining` records if others were taken. */
  async write(item: QueueItem, cause: DeadLetterCause, remaining = allOf): Promise<WriteOutcome> {
    const { store, metrics, logger } = this.services;
    try {
      const whole = item.batch ?? (await store.payload(item.ref));
      const batch = remaining(whole);
      const { failure } = this.failureOf(item.entry.exporter, batch, cause, requestItemsOf(item.entry, cause));
      const size = batch === whole ? {} : { items: batch.count, bytes: batch.byteLength };
      const failed: Entry = { ...item.entry, ...size, state: "failed", failure };
      const save = batch === whole ? () => store.fail(item.ref, failed) : () => replaceWith(store, item, failed, batch);
      const written = await this.saveOrDiscard(item, batch, failed, cause, save);
      metrics.sendFailed[item.entry.signal].add(cause.lost ?? failed.items);
      if (cause.reason === "retry_exhausted") metrics.exhausted.add(1);
      if (failed.replays > 0) metrics.replaysFailed.add(1);
      if (written === "saved") this.countAndLog(failed, cause);
      else this.log.write(failed, cause, failure.names, DISCARDED);
      return written;
    } catch (error) {
      if (isEntryGone(error)) {
        this.reportUnreadable(item.entry, error);
        return "gone";
      }
      metrics.deadLetterWriteFailures.add(1);
      logger.error({ id: item.entry.id, err: error }, "a dead letter could not be written; it stays in the queue");
      return "unwritten";
    }
  }

  /** Reports an entry that cannot even become a dead letter. */
  reportUnreadable(entry: Entry, cause: StoreError): void {
    this.services.onUnreadable(entry, cause);
  }

  /** Returns the facts about the failure that are kept with a dead letter. */
  failureOf(
    exporter: string,
    batch: Batch,
    cause: DeadLetterCause,
    requestItems?: number,
  ): { readonly failure: Failure } {
    const { reason, category, rejected } = cause;
    const error = maskedError(cause.error);
    const signature = signatureOf(exporter, error);
    const at = this.services.clock.now();
    const behind = Math.round(this.time.now() - at);
    const details = {
      ...(behind > MAX_CLOCK_STEP_MS && { clockBehindMs: behind }),
      ...(requestItems !== undefined && { requestItems }),
      ...(rejected !== undefined && { rejected }),
    };
    return {
      failure: { at, reason, rule: ruleOf(cause), category, error, ...details, signature, ...excerptOf(batch) },
    };
  }

  /** Counts and logs a dead letter that has been written. */
  countAndLog(entry: Entry, cause: DeadLetterCause): void {
    this.services.metrics.deadLettered(cause.reason, ruleOf(cause), cause.error.class, entry.calls);
    this.services.metrics.messages.deadLettered(entry);
    const what = "could not be delivered: kept as a dead letter";
    this.log.write(entry, cause, entry.failure?.names ?? [], what);
    this.services.notifier.add(entry);
    this.services.forwarder?.add(entry);
  }

  async stop(): Promise<void> {
    this.log.flush();
    await this.services.notifier.stop();
  }

  private async saveOrDiscard(
    item: QueueItem,
    batch: Batch,
    failed: Entry,
    cause: DeadLetterCause,
    save: () => Promise<unknown>,
  ): Promise<"saved" | "discarded"> {
    const { store, filter, metrics } = this.services;
    const { exporter, attempts } = failed;
    if (filter.decide(batch, { exporter, cause, attempts }) === "save") {
      await save();
      return "saved";
    }
    store.ack(item.ref);
    metrics.filteredOut.add(1);
    return "discarded";
  }
}

/** Errors of backends are masked already; those of processors and replays are not. */
function maskedError(error: AttemptError): AttemptError {
  return { ...error, class: maskText(error.class), message: maskText(error.message) };
}

const allOf = (batch: Batch): Batch => batch;

/** The dead letter keeps the id of the entry that it replaces. */
function replaceWith(store: QueueStore, { ref }: QueueItem, failed: Entry, batch: Batch): Promise<unknown> {
  const { pipeline, source, enqueuedAt, generation, ...fields } = failed;
  return store.replace(ref, [{ batch, pipeline, source, enqueuedAt, generation, fields }]);
}

/** The number of records in the request that failed with this error, if other entries were in it. */
function requestItemsOf({ lastError, history }: Entry, { error }: DeadLetterCause): number | undefined {
  return error === lastError ? history.at(-1)?.requestItems : undefined;
}

const DISCARDED = "could not be delivered: discarded, as dead_letter.filter says";

/**
 * Returns a hash that is the same for similar failures: same exporter, error class and message, ignoring ids, numbers,
 * addresses and times in the message. Stable across restarts and versions of the agent.
 */
export function signatureOf(exporter: string, error: AttemptError): string {
  const text = JSON.stringify([exporter, error.class, normalizeMessage(error.message)]);
  return createHash("sha256").update(text).digest("hex").slice(0, SIGNATURE_LENGTH);
}

const SIGNATURE_LENGTH = 12;
/** The rest of a long message seldom adds anything, because backends echo whole requests. */
const MAX_MESSAGE_LENGTH = 500;

/** Replaces the parts of a message that vary between similar failures with placeholders. */
function normalizeMessage(message: string): string {
  return (
    message
      .slice(0, MAX_MESSAGE_LENGTH)
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<id>")
      .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>")
      .replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, "<address>")
      .replace(/\b(?:0x)?(?=[a-z]*\d)[0-9a-f]{8,}\b/gi, "<id>")
      // At most 1,000 characters, because marks are longer than some of what they replace.
      .replace(/[A-Za-z0-9_-]*\d[A-Za-z0-9_-]*/g, (word) => (word.length >= 20 ? "<id>" : word.replace(/\d+/g, "<n>")))
      .replace(/\s+/g, " ")
      .trim()
  );
}
