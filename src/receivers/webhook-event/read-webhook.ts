import { encodeAttributes, encodeScope, LogBatchWriter, type LogMap, newLogMap, setValue } from "#logs/entries";
import { validUtf8 } from "#otlp/bytes";
import { LOG_ATTRIBUTES_TAG, RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { ReceivedHead } from "#receiving/requests";
import { packageVersion } from "#system";
import { JsonReader } from "#text/json";
import { compilePattern, type Pattern } from "#text/patterns";
import type { Steps } from "#work";
import { type Batch, MalformedError, type ReceiverContext } from "../../plugin.js";
import type { WebhookEventConfig } from "./config.js";

const NEWLINE = 0x0a;
/** Every record repeats the headers, so a request with long headers and many lines may grow to this only. */
const MAX_BATCH_BYTES = 64 * 1024 * 1024;
/** Headers that the Collector's server does not show. */
const HIDDEN_HEADERS = new Set(["host", "transfer-encoding", "trailer"]);

/** Turns requests into batches of log records. */
export class WebhookReader {
  private readonly config: WebhookEventConfig;
  private readonly context: ReceiverContext;
  private readonly scope: Uint8Array;
  private readonly headerPattern: Pattern | undefined;

  constructor(config: WebhookEventConfig, context: ReceiverContext) {
    this.config = config;
    this.context = context;
    const attributes = { source: context.id, receiver: "webhook_event" };
    this.scope = encodeScope("otlp/webhook_event", packageVersion(), attributes);
    const { header_attribute_regex: pattern } = config;
    this.headerPattern = pattern === "" ? undefined : compilePattern(pattern);
  }

  /** Throws a `MalformedError` if the request has too many records. Bytes that are no UTF-8 are replaced. */
  *read(head: ReceivedHead, body: Buffer, maxRecords: number): Steps<Batch> {
    const text = yield* validUtf8(body);
    const resource = encodeAttributes(queryOf(head), RESOURCE_ATTRIBUTES_TAG);
    const writer = new LogBatchWriter(resource, this.scope, text.length + 256);
    writer.observedAt(this.context.clock.now());
    const attributes = encodeAttributes(this.headersOf(head), LOG_ATTRIBUTES_TAG);
    for (const record of this.recordsOf(text)) {
      writer.addText(record, 0, record.length, attributes);
      if (writer.count > maxRecords || writer.byteLength > MAX_BATCH_BYTES)
        throw new MalformedError("the request has too many records; send it in parts", -1);
      yield;
    }
    return writer.finish();
  }

  private recordsOf(body: Buffer): Iterable<Buffer> {
    if (this.config.split_logs_at_newline) return linesOf(body);
    return this.config.split_logs_at_json_boundary ? jsonOf(body) : [body];
  }

  /** Names are written as the Collector's server writes them. */
  private headersOf(head: ReceivedHead): LogMap {
    const attributes = newLogMap();
    const pattern = this.headerPattern;
    if (pattern === undefined) return attributes;
    const isCompressed = head.headers["content-encoding"] !== undefined;
    for (const [name, values = []] of Object.entries(head.headersDistinct)) {
      if (HIDDEN_HEADERS.has(name) || (isCompressed && /^content-(?:encoding|length)$/.test(name))) continue;
      const shown = name.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
      if (pattern.test(shown)) attributes[`header.${shown}`] = values;
    }
    return attributes;
  }
}

/** The text behind the last newline is a line too, even an empty one. */
function* linesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at <= body.length; ) {
    const found = body.indexOf(NEWLINE, at);
    const end = found < 0 ? body.length : found;
    yield body.subarray(at, end);
    at = end + 1;
  }
}

/**
 * The JSON values of the body. What follows them and is no JSON is one more record, so nothing of a request gets lost; a
 * body without any is a record.
 */
function* jsonOf(body: Buffer): Generator<Buffer> {
  const values = new JsonReader(body, (reason, at) => new MalformedError(reason, at));
  if (!values.hasNext) yield body;
  for (let from = 0; values.hasNext; from = values.end) {
    if (!isJson(values)) {
      yield from === 0 ? body : body.subarray(values.start);
      return;
    }
    yield body.subarray(values.start, values.end);
  }
}

/** Larger values take too long to parse; they count as JSON. */
const MAX_PARSED_BYTES = 1024 * 1024;

function isJson(values: JsonReader): boolean {
  try {
    values.skip();
    if (values.end - values.start <= MAX_PARSED_BYTES) values.parse();
    return true;
  } catch {
    return false;
  }
}

/** The parameters of the URL. Each has its first value, unless that is empty. */
function queryOf({ url = "/" }: ReceivedHead): LogMap {
  const attributes = newLogMap();
  const start = url.indexOf("?");
  if (start < 0) return attributes;
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (value !== "" && !seen.has(name)) setValue(attributes, name, value);
    seen.add(name);
  }
  return attributes;
}
