import { type Clock, type Logger, limitedLog } from "#contract";
import type { AttemptError, Entry } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import { maskRecordText } from "#text";
import type { QueueMetrics } from "../entry/queue-metrics.js";

interface FailureNotifierServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
}

type NotifySettings = CompleteSettings["dead_letter"]["notify"];

/** Maximum number of kinds of failures per interval, and of entries listed for each (`MAX_ENTRIES`). */
const MAX_KINDS = 10;
const MAX_ENTRIES = 5;
const TIMEOUT_MS = 5000;

/** Similar failures, which are reported together. */
interface SimilarFailures {
  readonly first: Entry;
  count: number;
  readonly entries: object[];
}

/**
 * Sends HTTP notifications about dead letters: the first at once, later ones together, with one request for each kind
 * of failure and interval. The content of entries is not sent. Nothing waits for a notification. A failed one is
 * counted and logged, but not repeated, because the dead letters are still there.
 */
export class FailureNotifier {
  private readonly settings: NotifySettings;
  private readonly services: FailureNotifierServices;
  private readonly logFailure: (error: unknown) => void;
  private kinds = new Map<string, SimilarFailures>();
  private cancelTimer: (() => void) | undefined;
  private underWay: Promise<void> = Promise.resolve();

  constructor(settings: NotifySettings, services: FailureNotifierServices) {
    this.settings = settings;
    this.services = services;
    this.logFailure = limitedLog(services.clock, (error, suppressed) =>
      services.logger.warn(
        { err: error, suppressed },
        "the notification about dead letters failed (dead_letter.notify)",
      ),
    );
  }

  /** To be called when an entry has become a dead letter. */
  add(entry: Entry): void {
    if (this.settings.url === "" || entry.failure === undefined) return;
    this.count(entry, entry.failure.signature);
    this.cancelTimer ??= this.services.clock.after(0, () => this.notify());
  }

  /** Resolves when the pending notifications have been sent. */
  async stop(): Promise<void> {
    this.cancelTimer?.();
    this.send();
    await this.underWay;
  }

  private count(entry: Entry, signature: string): void {
    const kind = this.kinds.get(signature);
    if (kind !== undefined) {
      kind.count += 1;
      if (kind.entries.length < MAX_ENTRIES) kind.entries.push(summaryOf(entry));
    } else if (this.kinds.size < MAX_KINDS)
      this.kinds.set(signature, { first: entry, count: 1, entries: [summaryOf(entry)] });
  }

  private notify(): void {
    const isQuiet = this.kinds.size === 0;
    this.send();
    this.cancelTimer = isQuiet ? undefined : this.services.clock.after(this.settings.interval, () => this.notify());
  }

  private send(): void {
    const kinds = [...this.kinds.values()];
    this.kinds = new Map();
    for (const kind of kinds) this.underWay = this.underWay.then(() => this.post(kind));
  }

  private async post(kind: SimilarFailures): Promise<void> {
    const { url, headers } = this.settings;
    const { metrics } = this.services;
    try {
      const body = JSON.stringify(notificationOf(kind));
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const allHeaders = { "content-type": "application/json", ...headers };
      const { ok, status } = await fetch(url, { method: "POST", headers: allHeaders, body, signal });
      if (!ok) throw new Error(`the answer was ${status}`);
      metrics.notified(true);
    } catch (error) {
      metrics.notified(false);
      this.logFailure(error);
    }
  }
}

/** Returns a text for chats (`text`) and the fields of a Sentry event, where similar failures become one issue. */
function notificationOf({ first, count, entries }: SimilarFailures): object {
  const { exporter, failure } = first;
  const { at, reason, rule, category, error, signature } = failure!;
  const many = count === 1 ? "1 entry" : `${count} entries`;
  const text = `${many} of ${exporter} could not be delivered (${reason}): ${errorText(error)}`;
  return {
    text,
    message: text,
    level: "error",
    logger: "sluice",
    timestamp: new Date(at).toISOString(),
    tags: { exporter, reason, rule, category, error_class: error.class },
    fingerprint: ["sluice", signature],
    extra: { failed: count, entries },
  };
}

/** Most messages already begin with the class. */
function errorText({ class: name, message }: AttemptError): string {
  return message.startsWith(name) ? message : `${name}: ${message}`;
}

function summaryOf({ id, pipeline, signal, items, attempts, calls, failure }: Entry): object {
  const { at, names } = failure!;
  return {
    id,
    pipeline,
    signal,
    items,
    attempts,
    calls,
    at: new Date(at).toISOString(),
    events: names.map(maskRecordText),
  };
}
