import { isUtf8 } from "node:buffer";
import { compress } from "#codecs/compression";
import { chooseRefusal, copyRefusal } from "#contract/errors";
import type { Http1Answer, HttpClientConfig } from "#net";
import { parseRetryAfter, refusalOfHttp, refusalOfUnreadable } from "#net/otlp";
import { HttpPoster, PostersInTurn, plainText } from "#net/sending";
import { WireWriter } from "#otlp/bytes";
import { jsonText } from "#otlp/json";
import { SliceTimer } from "#work";
import {
  type Batch,
  type Exporter,
  type ExporterContext,
  isRefusal,
  Refusal,
  type SendOptions,
  type Signal,
} from "../../plugin.js";

/** The fields of a document; undefined ones are left out. */
export type DocumentSource = Record<string, unknown>;

/** A document for an index, and the records of the batch that it contains. */
export type BulkDocument = PlainDocument | WrittenDocument;

/** A document that is written directly from the bytes of the batch. */
interface WrittenDocument {
  readonly records: readonly number[];
  /** Writes the line of the action and that of the document. Invalid UTF-8 may remain in them. */
  write(out: WireWriter): void;
}

interface PlainDocument {
  readonly records: readonly number[];
  readonly action: "create" | "index";
  /** The parameters of the action: `_index`, `_id`, `pipeline`, `dynamic_templates`. */
  readonly target: Readonly<Record<string, unknown>>;
  readonly source: Readonly<Record<string, unknown>>;
}

/** Records that cannot be made into a document, and the reason. */
export interface UnfitRecords {
  readonly records: readonly number[];
  readonly problem: string;
}

interface BulkSenderSettings {
  /** URLs of the servers, without `_bulk`. */
  readonly urls: readonly URL[];
  readonly client: HttpClientConfig;
  readonly headers: Readonly<Record<string, string>>;
  readonly compression: "gzip" | "none";
  readonly pipeline: string;
}

/** Approximate maximum size of a request. Servers accept 100 MB by default, and perform best at a tenth of that. */
const MAX_BULK_LENGTH = 5 * 1024 * 1024;

/** A document is about this many times as long as its share of the batch. */
const MEAN_GROWTH = 4;

/** Limits the answer to these fields; otherwise the answer to a large request would be larger than the request. */
const FILTER_PATH = "errors,items.*.status,items.*.error.type,items.*.error.reason";

/** Sends documents with the bulk API of Elasticsearch and OpenSearch, which reports a status for each document. */
class BulkSender {
  private readonly settings: BulkSenderSettings;
  private readonly context: ExporterContext;
  private readonly servers: PostersInTurn;

  constructor(settings: BulkSenderSettings, context: ExporterContext) {
    this.settings = settings;
    this.context = context;
    this.servers = new PostersInTurn(settings.urls.map((url) => this.posterOf(url)));
  }

  get metadataKeys(): readonly string[] {
    return this.servers.metadataKeys;
  }

  start(): Promise<void> {
    return this.servers.start();
  }

  stop(): void {
    this.servers.stop();
  }

  /**
   * Resolves when every document is in its index. Documents are made while they are sent, so they are never all in
   * memory as text. A document may be large, so other work gets its turn while documents are made and written.
   */
  async send(
    documents: Iterable<BulkDocument | UnfitRecords>,
    batch: Batch,
    abort: AbortSignal,
    options: SendOptions | undefined,
  ): Promise<void> {
    const outcome = new BulkOutcome(batch.count);
    const capacity = Math.min(batch.byteLength * MEAN_GROWTH, MAX_BULK_LENGTH);
    const rest = documents[Symbol.iterator]();
    const timer = new SliceTimer();
    let isEnd = false;
    for (let isFirst = true; !isEnd; isFirst = false) {
      const bulk = await nextBulk(rest, outcome, timer, capacity);
      isEnd = bulk.isEnd;
      if (bulk.records.length === 0) continue;
      const error = await this.sendOne(bulk, outcome, abort, options);
      if (error === undefined) continue;
      if (isFirst) throw error;
      outcome.refused(bulk.records.flat(), "request", error);
      for (;;) {
        const next = rest.next();
        if (next.done) break;
        outcome.refused(next.value.records, "request", error);
      }
      break;
    }
    const refusal = outcome.refusal();
    if (refusal !== undefined) throw refusal;
  }

  private posterOf(base: URL): HttpPoster {
    const { client, headers, compression, pipeline } = this.settings;
    const url = new URL(base);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/_bulk`;
    url.searchParams.set("filter_path", FILTER_PATH);
    if (pipeline !== "") url.searchParams.set("pipeline", pipeline);
    const own = {
      "Content-Type": "application/x-ndjson",
      ...(compression !== "none" && { "Content-Encoding": compression }),
      ...headers,
    };
    return new HttpPoster(url, client, own, this.context);
  }

  /** Returns the refusal if the request as a whole failed. The outcome of each document is added to `outcome`. */
  private async sendOne(
    { records, bytes }: Bulk,
    outcome: BulkOutcome,
    abort: AbortSignal,
    options: SendOptions | undefined,
  ): Promise<Refusal | undefined> {
    const { compression } = this.settings;
    const body = compression === "none" ? bytes : await compress(compression, bytes);
    const read = (answer: Http1Answer) => this.readItems(answer, records.length);
    try {
      const items = await this.servers.use((poster) => poster.post([body], abort, options, read));
      for (const [i, item] of items.entries()) noteItem(item, records[i]!, outcome);
      return undefined;
    } catch (error) {
      if (isRefusal(error)) return error;
      throw error;
    }
  }

  private readItems({ status, headers, body }: Http1Answer, expected: number): readonly BulkItem[] {
    if (status < 200 || status >= 300)
      throw refusalOfHttp(
        status,
        plainText(body),
        parseRetryAfter(headers.get("retry-after"), this.context.clock.now()),
      );
    const items = itemsOf(body);
    if (items?.length === expected) return items;
    throw refusalOfUnreadable("_bulk", `it has ${items?.length ?? "no"} items for ${expected} documents`);
  }
}

interface Bulk {
  /** The records of each document. */
  readonly records: readonly (readonly number[])[];
  readonly bytes: Uint8Array;
  readonly isEnd: boolean;
}

async function nextBulk(
  rest: Iterator<BulkDocument | UnfitRecords>,
  outcome: BulkOutcome,
  timer: SliceTimer,
  capacity: number,
): Promise<Bulk> {
  const records: (readonly number[])[] = [];
  const out = new WireWriter(capacity);
  while (out.length < MAX_BULK_LENGTH) {
    if (timer.isOver) await timer.nextSlice();
    const { done, value } = rest.next();
    if (done) return { records, bytes: validUtf8(out.written()), isEnd: true };
    if ("problem" in value) {
      outcome.refused(value.records, value.problem, new Refusal("permanent", value.problem, { category: "schema" }));
      continue;
    }
    records.push(value.records);
    if ("write" in value) value.write(out);
    else await writePlain(value, out, timer);
  }
  return { records, bytes: validUtf8(out.written()), isEnd: false };
}

async function writePlain(
  { action, target, source }: PlainDocument,
  out: WireWriter,
  timer: SliceTimer,
): Promise<void> {
  if (timer.isOver) await timer.nextSlice();
  const text = `${jsonText({ [action]: target })}\n${jsonText(source)}\n`;
  if (timer.isOver) await timer.nextSlice();
  const lines = Buffer.from(text);
  out.copy(lines, 0, lines.length);
}

/** Replaces invalid UTF-8, which ends at the next quote at the latest, by U+FFFD. */
function validUtf8(bytes: Uint8Array): Uint8Array {
  return isUtf8(bytes) ? bytes : Buffer.from(Buffer.prototype.utf8Slice.call(bytes, 0, bytes.length));
}

interface BulkItem {
  readonly status: number;
  readonly error?: { readonly type?: string; readonly reason?: string };
}

function itemsOf(body: Buffer): readonly BulkItem[] | undefined {
  try {
    const { items } = JSON.parse(body.toString("utf8")) as { items: readonly Readonly<Record<string, BulkItem>>[] };
    return items.map((item) => Object.values(item)[0]!);
  } catch {
    return undefined;
  }
}

/** The index or a permission is missing, or writing is blocked for now: the document itself is not at fault. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 408, 429]);
/** A document with this id exists: an earlier attempt has stored it. */
const CONFLICT = 409;

function noteItem({ status, error }: BulkItem, records: readonly number[], outcome: BulkOutcome): void {
  if ((status >= 200 && status < 300) || status === CONFLICT) return;
  const type = error?.type ?? "";
  const message = `${status} ${type}: ${error?.reason ?? ""}`;
  if (status >= 500 || RETRYABLE_STATUSES.has(status)) {
    const blame = RETRYABLE_STATUSES.has(status) ? ({ blame: "backend" } as const) : {};
    const refusal = new Refusal("transient", message, { status: `HTTP ${status}`, ...blame });
    return outcome.refused(records, "retry", refusal);
  }
  outcome.refused(
    records,
    `${status} ${type}`,
    new Refusal("permanent", message, { status: `HTTP ${status}`, category: "schema" }),
  );
}

const MAX_SHARES = 65_535;

/**
 * The outcome of each record of a batch that was sent as documents. Records refused for the same reason form a share.
 * The queue sends each share again by itself, and does not send accepted records again.
 */
class BulkOutcome {
  private readonly marks: Uint16Array;
  private readonly shares = new Map<string, { readonly mark: number; readonly refusal: Refusal }>();

  constructor(recordCount: number) {
    this.marks = new Uint16Array(recordCount);
  }

  /** Notes why records were refused; `reason` is equal for records that belong to the same share. */
  refused(records: readonly number[], reason: string, refusal: Refusal): void {
    let share = this.shares.get(reason);
    if (share === undefined) {
      share = { mark: Math.min(this.shares.size + 1, MAX_SHARES), refusal };
      this.shares.set(reason, share);
    }
    for (const record of records) this.marks[record] = share.mark;
  }

  /**
   * Returns the refusal of the batch, or undefined if everything was accepted. If all records share one reason, its
   * refusal is returned.
   */
  refusal(): Refusal | undefined {
    const refusals = [...this.shares.values()].map(({ refusal }) => refusal);
    if (refusals.length === 0) return undefined;
    const chosen = refusals.reduce(chooseRefusal);
    if (refusals.length === 1 && this.marks.every((mark) => mark === 1)) return chosen;
    const kind = chosen.kind === "permanent" ? "transient" : chosen.kind;
    return copyRefusal(chosen, { kind, undelivered: { marks: this.marks, isOutage: false } });
  }
}

/** Makes the documents of a batch at the time `now`. */
type DocumentsOf = (batch: Batch, now: number) => Iterable<BulkDocument | UnfitRecords>;

/** Stores the documents of a batch in any server with the bulk API. */
export class BulkExporter implements Exporter {
  private readonly documentsOf: DocumentsOf;
  private readonly context: ExporterContext;
  private readonly sender: BulkSender;

  constructor(settings: BulkSenderSettings, context: ExporterContext, documentsOf: DocumentsOf) {
    this.documentsOf = documentsOf;
    this.context = context;
    this.sender = new BulkSender(settings, context);
  }

  get metadataKeys(): readonly string[] {
    return this.sender.metadataKeys;
  }

  start(): Promise<void> {
    return this.sender.start();
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    await this.sender.send(this.documentsOf(batch, this.context.clock.now()), batch, abort, options);
  }

  async stop(): Promise<void> {
    this.sender.stop();
  }
}

/** Only a log record has a body that could become the document. */
export function refusesBodymap(mode: string, signal: Signal): string | undefined {
  return mode === "bodymap" && signal !== "logs" ? "the mapping mode bodymap is only for logs" : undefined;
}
