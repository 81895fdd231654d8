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
import { RequestIds } from "../record-facts.js";
import { bodyPieces, bodyTemplate, type WebhookConfig, webhookSchema } from "./config.js";
import type { RenderTemplate, TemplateFacts } from "./template.js";
import { type FactName, type WrittenFacts, writeFacts } from "./written-facts.js";

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
  private readonly pieces: ReturnType<typeof bodyPieces>;
  private readonly readAnswer: ReturnType<typeof answerReader>;

  constructor(config: WebhookConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.render = bodyTemplate(config);
    this.pieces = bodyPieces(config);
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
    const all = writeFacts(batch);
    const request = (records: readonly number[], facts: RequestFacts): RecordRequest => {
      const id = ids.idOf(facts.json);
      return { records, send: () => this.post(facts, id, abort, { ...options, idempotencyKey: id }) };
    };
    const places = Array.from({ length: all.count }, (_, i) => i);
    if (this.config.per === "batch") return [request(places, factsOfBatch(batch, all))];
    return places.map((i) => request([i], { json: all.of(i), of: (name) => all.fact(i, name as FactName) }));
  }

  private post(facts: RequestFacts, id: string, abort: AbortSignal, options: SendOptions): Promise<void> {
    const body = this.bodyOf(facts, id);
    return this.poster.post([body], abort, options, this.readAnswer, this.signatureOf(body));
  }

  private bodyOf(facts: RequestFacts, id: string): Buffer {
    const { pieces } = this;
    if (pieces === undefined) {
      const values = JSON.parse(Buffer.prototype.utf8Slice.call(facts.json, 0, facts.json.length)) as TemplateFacts;
      return Buffer.from(JSON.stringify(this.render({ ...values, id })));
    }
    const parts = pieces.map((piece) => {
      if (typeof piece !== "string") return piece;
      return piece === "id" ? Buffer.from(JSON.stringify(id)) : facts.of(piece);
    });
    return Buffer.concat(parts);
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

/** The facts that a request is made of, without its id. */
interface RequestFacts {
  /** An object with all of them. */
  readonly json: Uint8Array;
  /** Returns the JSON of one of them. */
  of(name: string): Uint8Array;
}

function factsOfBatch({ signal, count }: Batch, { json: records }: WrittenFacts): RequestFacts {
  const start = Buffer.from(`{"signal":"${signal}","count":${count},"records":[`);
  const json = Buffer.concat([start, records, Buffer.from("]}")]);
  const values: Readonly<Record<string, Uint8Array>> = {
    signal: Buffer.from(JSON.stringify(signal)),
    count: Buffer.from(String(count)),
    records: json.subarray(start.length - 1, json.length - 1),
  };
  return { json, of: (name) => values[name]! };
}
