import { decodeMessage, MESSAGES } from "#otlp/bytes";
import {
  jsonText,
  type KeyValueTree,
  type PlainAttributes,
  plainAttributes,
  plainObject,
  plainValueAt,
  plainValueText,
  treeHex,
} from "#otlp/json";
import { SPAN_KIND_SYMBOLS, STATUS_CODES } from "#otlp/signals";
import { LOG_ATTRIBUTES_TAG } from "#otlp/tags";
import { LogFields } from "#otlp/views";
import type { Tree } from "../../../plugin.js";
import { textLength } from "../record-pages.js";
import type { SplunkHecConfig } from "./config.js";
import { addField, defaultMetadata, eventText, type HecMetadata, readMetadata, setField } from "./event-head.js";

/** The parts that all events of a resource share. */
interface HecResource {
  readonly metadata: HecMetadata;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields as JSON. */
  readonly text: string;
}

/** Writes log records and spans as events. What records of one resource share is computed once for them. */
export class RecordEvents {
  private readonly config: SplunkHecConfig;
  private known: PlainAttributes | undefined;
  private shared: HecResource | undefined;

  constructor(config: SplunkHecConfig) {
    this.config = config;
  }

  /** Returns undefined for a log record without a body: Splunk refuses such events. */
  log(b: Uint8Array, start: number, end: number, resource: PlainAttributes): string | undefined {
    log.read(b, start, end);
    const body = plainValueAt(b, log.bodyStart, log.bodyEnd);
    if (body === null || body === "") return undefined;
    const names = this.config.otel_to_hec_fields;
    const shared = this.resourceOf(resource, addField);
    const fields: Record<string, unknown> = {};
    if (log.spanEnd > log.spanStart) fields["span_id"] = hexIn(b, log.spanStart, log.spanEnd);
    if (log.traceEnd > log.traceStart) fields["trace_id"] = hexIn(b, log.traceStart, log.traceEnd);
    if (log.severityEnd > log.severityStart)
      fields[names.severity_text] = textIn(b, log.severityStart, log.severityEnd);
    if (log.severityNumber > 0) fields[names.severity_number] = log.severityNumber;
    if (log.nameEnd > log.nameStart) fields[names.name] = textIn(b, log.nameStart, log.nameEnd);
    for (const key in fields) if (Object.hasOwn(shared.fields, key)) delete fields[key];
    const attributes = plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG);
    const metadata = readMetadata(attributes, shared.metadata, this.config.otel_attrs_to_hec_metadata, (key, value) =>
      addField(fields, key, value),
    );
    const nanos = nanosAt(b, log.timeAt) || nanosAt(b, log.observedAt);
    return eventText(Number(nanos) / 1e9, metadata, jsonText(body), fieldsText(shared, fields));
  }

  /** The bytes that the body of a log record has in an event, at least: counting costs less than writing. */
  bodyLength(b: Uint8Array, start: number, end: number): number {
    log.read(b, start, end);
    return textLength(b, log.bodyStart, log.bodyEnd);
  }

  /** The body of a log record as a line. */
  rawLog(b: Uint8Array, start: number, end: number): string {
    log.read(b, start, end);
    return `${plainValueText(plainValueAt(b, log.bodyStart, log.bodyEnd))}\n`;
  }

  span(b: Uint8Array, start: number, end: number, resource: PlainAttributes): string {
    const { metadata, text } = this.resourceOf(resource, addText);
    const span = decodeMessage(SPAN, b, start, end);
    return eventText(Number(span["startTimeUnixNano"] ?? 0n) / 1e9, metadata, spanText(span), text);
  }

  private resourceOf(attributes: PlainAttributes, add: typeof addField): HecResource {
    if (this.shared !== undefined && this.known === attributes) return this.shared;
    const fields: Record<string, unknown> = {};
    const metadata = readMetadata(
      attributes,
      defaultMetadata(this.config),
      this.config.otel_attrs_to_hec_metadata,
      (key, value) => add(fields, key, value),
    );
    this.known = attributes;
    this.shared = { metadata, fields, text: jsonText(fields) };
    return this.shared;
  }
}

const log = new LogFields();
const SPAN = MESSAGES["Span"]!;

/** The fields of a resource and of a record, which hide those of the resource. */
function fieldsText({ fields: shared, text }: HecResource, fields: Readonly<Record<string, unknown>>): string {
  const isHidden = (key: string) => Object.hasOwn(shared, key);
  if (Object.keys(fields).some(isHidden)) return jsonText(Object.assign(Object.create(null), shared, fields));
  const own = jsonText(fields);
  if (text === "{}") return own;
  return own === "{}" ? text : `${text.slice(0, -1)},${own.slice(1)}`;
}

function addText(fields: Record<string, unknown>, key: string, value: unknown): void {
  setField(fields, key, plainValueText(value));
}

/** Times are written by hand: they have more digits than a number can hold. */
function spanText(span: Tree): string {
  const { message = "", code = 0 } = (span["status"] ?? {}) as { message?: string; code?: number };
  const name = STATUS_CODES[code];
  const head = jsonText({
    trace_id: treeHex(span["traceId"]),
    span_id: treeHex(span["spanId"]),
    parent_span_id: treeHex(span["parentSpanId"]),
    name: span["name"] ?? "",
    ...attributesOf(span),
    kind: SPAN_KIND_SYMBOLS[(span["kind"] ?? 0) as number] ?? "",
    status: { message, code: name === undefined ? "" : `STATUS_CODE_${name.toUpperCase()}` },
  }).slice(0, -1);
  const times = `"start_time":${span["startTimeUnixNano"] ?? 0},"end_time":${span["endTimeUnixNano"] ?? 0}`;
  const events = listText("events", span["events"], (event) => {
    const text = jsonText({ ...attributesOf(event), name: event["name"] ?? "" }).slice(0, -1);
    return `${text},"timestamp":${event["timeUnixNano"] ?? 0}}`;
  });
  const links = listText("links", span["links"], (link) =>
    jsonText({
      ...attributesOf(link),
      trace_id: treeHex(link["traceId"]),
      span_id: treeHex(link["spanId"]),
      trace_state: link["traceState"] ?? "",
    }),
  );
  return `${head},${times}${events}${links}}`;
}

function listText(name: string, list: unknown, write: (each: Tree) => string): string {
  const trees = (list ?? []) as readonly Tree[];
  return trees.length === 0 ? "" : `,"${name}":[${trees.map(write).join(",")}]`;
}

function attributesOf(tree: Tree): object {
  const list = (tree["attributes"] ?? []) as unknown as readonly KeyValueTree[];
  return list.length === 0 ? {} : { attributes: plainObject(list) };
}

function hexIn(b: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.hexSlice.call(b, start, end);
}

function textIn(b: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.utf8Slice.call(b, start, end);
}

function nanosAt(b: Uint8Array, at: number): bigint {
  return at < 0 ? 0n : new DataView(b.buffer, b.byteOffset + at, 8).getBigUint64(0, true);
}
