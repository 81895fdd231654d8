import { createHmac } from "node:crypto";
import { answerReader, HttpPoster, type RecordRequest, sendEach } from "#net/sending";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  type SendOptions,
  SIGNALS,
} from "../../../plugin.js";
import { publicLookup } from "../public-addresses.js";
import { factsOf, RequestIds } from "../record-facts.js";
import { bodyTemplate, type WebhookConfig, webhookSchema } from "./config.js";
import type { RenderTemplate, TemplateFacts } from "./template.js";

/** POSTs JSON that a template makes. */
export const webhookExporter = defineExporter<WebhookConfig>({
  type: "webhook",
  summary: "POSTs JSON made by a template for each record or batch, signed if wanted.",
  signals: SIGNALS,
  defaults: { timeout: "30s", sending_queue: { merge_backlog: false } },
  schema: webhookSchema,
  create: (config, context) => new WebhookExporter(config, context),
});

class WebhookExporter implements Exporter {
  private readonly config: WebhookConfig;
  private readonly context: ExporterContext;
  private readonly poster: HttpPoster;
  private readonly render: RenderTemplate;
  private readonly readAnswer: ReturnType<typeof answerReader>;

  constructor(config: WebhookConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.render = bodyTemplate(config);
    this.readAnswer = answerReader(context.clock);
    const url = new URL(config.endpoint);
    const lookup = config.allow_private_addresses ? undefined : publicLookup;
    const headers = { "Content-Type": "application/json" };
    this.poster = new HttpPoster(url, config, headers, context, { lookup, peer: url.origin });
  }

  get metadataKeys(): readonly string[] {
    return this.poster.metadataKeys;
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    await sendEach(this.requestsOf(batch, abort, options), batch.count);
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  private requestsOf(batch: Batch, abort: AbortSignal, options: SendOptions | undefined): RecordRequest[] {
    const ids = new RequestIds(options?.idempotencyKey);
    const all = factsOf(batch);
    const request = (records: readonly number[], facts: TemplateFacts): RecordRequest => {
      const id = ids.idOf(JSON.stringify(facts));
      return { records, send: () => this.post({ ...facts, id }, abort, { ...options, idempotencyKey: id }) };
    };
    if (this.config.per === "record") return all.map((facts, i) => request([i], { ...facts }));
    const { signal, count } = batch;
    return [request([...all.keys()], { signal, count, records: all })];
  }

  private post(facts: TemplateFacts, abort: AbortSignal, options: SendOptions): Promise<void> {
    const body = Buffer.from(JSON.stringify(this.render(facts)));
    return this.poster.post([body], abort, options, this.readAnswer, this.signatureOf(body));
  }

  private signatureOf(body: Buffer): Record<string, string> {
    const { signature } = this.config;
    if (signature === undefined) return {};
    const { secret, algorithm, header, timestamp_header: timeHeader } = signature;
    const hmac = createHmac(algorithm, secret);
    const time = String(Math.floor(this.context.clock.now() / 1000));
    if (timeHeader !== "") hmac.update(`${time}.`);
    const signed = { [header]: `${algorithm}=${hmac.update(body).digest("hex")}` };
    return timeHeader === "" ? signed : { ...signed, [timeHeader]: time };
  }
}
