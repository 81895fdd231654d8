import { answerReader, HttpPoster, type RecordRequest, sendEach } from "#net/sending";
import {
  type Batch,
  type Counter,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type SendOptions,
  SIGNALS,
} from "../../../plugin.js";
import { publicLookup } from "../public-addresses.js";
import { factsOf, RequestIds } from "../record-facts.js";
import { parseDsn, type SentryConfig, sentrySchema } from "./config.js";
import { eventsOf, type SentryEvent } from "./event.js";

/** Sends errors and dead letters to Sentry. */
export const sentryExporter = defineExporter<SentryConfig>({
  type: "sentry",
  summary: "Sends errors, exceptions and forwarded dead letters to Sentry, as events.",
  signals: SIGNALS,
  defaults: { timeout: "30s", sending_queue: { merge_backlog: false } },
  schema: sentrySchema,
  create: (config, context) => new SentryExporter(config, context),
});

class SentryExporter implements Exporter {
  private readonly config: SentryConfig;
  private readonly context: ExporterContext;
  private readonly poster: HttpPoster;
  private readonly readAnswer: ReturnType<typeof answerReader>;
  private readonly skipped: Counter;

  constructor(config: SentryConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.readAnswer = answerReader(context.clock);
    const { url, publicKey } = parseDsn(config.dsn)!;
    const headers = {
      "Content-Type": "application/x-sentry-envelope",
      "X-Sentry-Auth": `Sentry sentry_version=7, sentry_client=sluice/1, sentry_key=${publicKey}`,
    };
    const lookup = config.allow_private_addresses ? undefined : publicLookup;
    this.poster = new HttpPoster(url, config, headers, context, { lookup });
    this.skipped = context.metrics.counter(
      "sluice_sentry_skipped_items",
      { description: "Records that were not sent because they are neither errors nor dead letters." },
      { exporter: context.id },
    );
  }

  get metadataKeys(): readonly string[] {
    return this.poster.metadataKeys;
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const events = eventsOf(factsOf(batch), this.config);
    const ids = new RequestIds(options?.idempotencyKey);
    const requests = events.map(({ records, event }): RecordRequest => {
      const id = ids.idOf(JSON.stringify(event));
      return { records, send: () => this.post(id, event, abort, options) };
    });
    await sendEach(requests, batch.count);
    this.skipped.add(batch.count - events.reduce((sum, { records }) => sum + records.length, 0));
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  /** Sentry accepts an id once, so an event that is sent again after a lost answer appears once. */
  private post(id: string, event: SentryEvent, abort: AbortSignal, options?: SendOptions): Promise<void> {
    const payload = Buffer.from(JSON.stringify({ event_id: id, ...event }));
    const sentAt = new Date(this.context.clock.now()).toISOString();
    const head = `${JSON.stringify({ event_id: id, sent_at: sentAt })}\n`;
    const item = `${JSON.stringify({ type: "event", content_type: "application/json", length: payload.length })}\n`;
    const body = [Buffer.from(head + item), payload, Buffer.from("\n")];
    return this.poster.post(body, abort, { ...options, idempotencyKey: id }, this.readAnswer);
  }
}
