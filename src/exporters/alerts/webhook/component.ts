import { createHmac } from "node:crypto";
import { answerReader, HttpPoster, piecesOf, type RecordRequest, recordsOfPiece, sendEach } from "#net/sending";
import { WireWriter } from "#otlp/bytes";
import { inTurns, turns } from "#work";
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
import { type FactName, MEAN_GROWTH, type WrittenFacts, writeFacts } from "./written-facts.js";

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
  /** Memory of the last request, for the next one: fresh memory costs as much as writing to it. */
  private spare: WireWriter | undefined;

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
    const out = this.spare ?? new WireWriter(batch.byteLength * MEAN_GROWTH);
    this.spare = undefined;
    await sendEach(this.requestsOf(batch, out, abort, options), batch.count);
    // A success means that all bytes have been sent, so nothing refers to them any more.
    if (out.bytes.length <= MAX_SPARE_BYTES) this.spare = out;
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  private requestsOf(
    batch: Batch,
    out: WireWriter,
    abort: AbortSignal,
    options: SendOptions | undefined,
  ): RecordRequest[] {
    const ids = new RequestIds(options?.idempotencyKey);
    const post = async (facts: RequestFacts): Promise<void> => {
      if (!turns.hasTime) await turns.next(); // a record may be so long that its hash alone takes many milliseconds
      const id = ids.idOf(...facts.json);
      if (!turns.hasTime) await turns.next();
      await this.post(facts, id, abort, { ...options, idempotencyKey: id });
    };
    const size = recordsOfPiece(batch);
    const pages = piecesOf(batch, size);
    const places = Array.from({ length: batch.count }, (_, i) => i);
    // Requests are made in their order, so each page is written when its first request is due.
    if (this.config.per === "batch")
      return pagesOf(places, size).map((records) => ({
        records,
        send: async () => {
          if (!turns.hasTime) await turns.next();
          const page: Batch = pages.next().value;
          await post(factsOfBatch(page, await inTurns(writeFacts(page, out))));
        },
      }));
    let facts: WrittenFacts | undefined;
    return places.map((place) => ({
      records: [place],
      send: async () => {
        const i = place % size;
        if (!turns.hasTime) await turns.next();
        if (i === 0) {
          facts = undefined; // should the next page fail, its records must not be sent as those of this one
          facts = await inTurns(writeFacts(pages.next().value, out));
        }
        if (facts === undefined) throw new Error("the facts of the records before it could not be written");
        const page = facts;
        await post({ json: [page.of(i)], of: (name) => [page.fact(i, name as FactName)] });
      },
    }));
  }

  private post(facts: RequestFacts, id: string, abort: AbortSignal, options: SendOptions): Promise<void> {
    const body = this.bodyOf(facts, id);
    return this.poster.post(body, abort, options, this.readAnswer, this.signatureOf(body));
  }

  /** Returns a body in parts: long ones are not copied, because fresh memory costs more than making them. */
  private bodyOf(facts: RequestFacts, id: string): readonly Uint8Array[] {
    const { pieces } = this;
    if (pieces === undefined) {
      const values = JSON.parse(Buffer.concat(facts.json).toString()) as TemplateFacts;
      return [Buffer.from(JSON.stringify(this.render({ ...values, id })))];
    }
    const parts = pieces.flatMap((piece) => {
      if (typeof piece !== "string") return [piece];
      return piece === "id" ? [Buffer.from(JSON.stringify(id))] : facts.of(piece);
    });
    return parts.some(({ length }) => length > MAX_COPIED) ? parts : [Buffer.concat(parts)];
  }

  private signatureOf(body: readonly Uint8Array[]): Record<string, string> {
    const { signature } = this.config;
    if (signature === undefined) return {};
    const { secret, algorithm, header, timestamp_header: timeHeader } = signature;
    const hmac = createHmac(algorithm, secret);
    const time = String(Math.floor(this.context.clock.now() / 1000));
    if (timeHeader !== "") hmac.update(`${time}.`);
    for (const part of body) hmac.update(part);
    const signed = { [header]: `${algorithm}=${hmac.digest("hex")}` };
    return timeHeader === "" ? signed : { ...signed, [timeHeader]: time };
  }
}

function pagesOf(places: readonly number[], size: number): (readonly number[])[] {
  return Array.from({ length: Math.ceil(places.length / size) }, (_, i) => places.slice(i * size, (i + 1) * size));
}

const MAX_COPIED = 16 * 1024;
const MAX_SPARE_BYTES = 4 * 1024 * 1024;

/** The facts that a request is made of, without its id. Each is JSON in one or more parts. */
interface RequestFacts {
  /** An object with all of them. */
  readonly json: readonly Uint8Array[];
  /** Returns one of them. */
  of(name: string): readonly Uint8Array[];
}

function factsOfBatch({ signal, count }: Batch, { json: records }: WrittenFacts): RequestFacts {
  const values: Readonly<Record<string, readonly Uint8Array[]>> = {
    signal: [Buffer.from(JSON.stringify(signal))],
    count: [Buffer.from(String(count))],
    records: [OPEN_LIST, records, CLOSE_LIST],
  };
  const start = Buffer.from(`{"signal":"${signal}","count":${count},"records":[`);
  return { json: [start, records, END], of: (name) => values[name]! };
}

const OPEN_LIST = Buffer.from("[");
const CLOSE_LIST = Buffer.from("]");
const END = Buffer.from("]}");
