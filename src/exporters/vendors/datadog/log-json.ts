import { bodyEnd, nextBody, type WireWriter } from "#otlp/bytes";
import { DocumentJson, KeySet, labelOf, membersOf, plainValueAt, plainValueText } from "#otlp/json";
import { SEVERITY_NUMBER_NAMES } from "#otlp/signals";
import { LOG_ATTRIBUTES_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { LogFields } from "#otlp/views";
import type { RecordOwner, RecordPage } from "../record-pages.js";
import { hostOf, tagsOf } from "./tags.js";

/** Writes log records as a list of Datadog's logs API, directly from their bytes. */
export class DatadogLogWriter {
  private readonly bytes: Uint8Array;
  private readonly json: DocumentJson;
  private readonly hostname: string;
  private owner: RecordOwner | undefined;
  private shared: Uint8Array = new Uint8Array(0);

  constructor(bytes: Uint8Array, out: WireWriter, hostname: string) {
    this.bytes = bytes;
    this.json = new DocumentJson(bytes, out);
    this.hostname = hostname;
  }

  write(page: RecordPage): void {
    const { out } = this.json;
    let separator = OPEN_LIST;
    page.each((start, end, owner) => {
      out.byte(separator);
      separator = COMMA;
      this.writeLog(start, end, owner);
    });
    out.byte(CLOSE_LIST);
  }

  private writeLog(start: number, end: number, owner: RecordOwner): void {
    const { json, bytes: b } = this;
    const { out } = json;
    log.read(b, start, end);
    const from = out.length;
    if (json.values.map(start, end, LOG_ATTRIBUTES_TAG, OWN_NAMES)) out.length--;
    json.raw(MESSAGE);
    this.writeBody();
    json.raw(this.sharedOf(owner));
    this.writeSeverity();
    json.id(TRACE_ID, log.traceStart, log.traceEnd);
    json.id(SPAN_ID, log.spanStart, log.spanEnd);
    if (log.traceEnd - log.traceStart === 16) this.writeDecimalId(DD_TRACE_ID, log.traceStart + 8);
    if (log.spanEnd - log.spanStart === 8) this.writeDecimalId(DD_SPAN_ID, log.spanStart);
    const timeAt = json.hasTime(log.timeAt) ? log.timeAt : log.observedAt;
    if (json.hasTime(timeAt)) json.isoTime(TIMESTAMP, timeAt);
    json.close(from);
  }

  /** A body that is no text is written as JSON in a text: the API takes a text as the message. */
  private writeBody(): void {
    const { json, bytes: b } = this;
    const textStart = nextBody(b, log.bodyStart, log.bodyEnd, STRING_VALUE_TAG);
    if (textStart >= 0) return json.values.text(textStart, bodyEnd);
    const text = plainValueText(plainValueAt(b, log.bodyStart, log.bodyEnd));
    json.raw(Buffer.from(JSON.stringify(text)));
  }

  private writeSeverity(): void {
    const { json } = this;
    const { severityNumber: number } = log;
    json.text(SEVERITY_TEXT, log.severityStart, log.severityEnd);
    if (number > 0) json.raw(STATUSES[number] ?? NOTHING);
    else json.text(STATUS, log.severityStart, log.severityEnd);
  }

  /** Datadog's own ids are the decimals of 64 bits. */
  private writeDecimalId(label: Uint8Array, at: number): void {
    const { json, bytes: b } = this;
    json.raw(label);
    let id = 0n;
    for (let i = 0; i < 8; i++) id = (id << 8n) | BigInt(b[at + i]!);
    json.raw(Buffer.from(`"${id}"`));
  }

  private sharedOf(owner: RecordOwner): Uint8Array {
    if (owner === this.owner) return this.shared;
    const { resource } = owner;
    const host = hostOf(resource, this.hostname);
    const service = plainValueText(resource["service.name"]);
    this.owner = owner;
    this.shared = membersOf({
      ddsource: "otlp",
      ddtags: tagsOf(resource, false).join(","),
      hostname: host || undefined,
      service: service || undefined,
    });
    return this.shared;
  }
}

const log = new LogFields();
const COMMA = 44;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const NOTHING = Buffer.alloc(0);
const MESSAGE = labelOf("message");
const TRACE_ID = labelOf("otel.trace_id");
const SPAN_ID = labelOf("otel.span_id");
const DD_TRACE_ID = labelOf("dd.trace_id");
const DD_SPAN_ID = labelOf("dd.span_id");
const TIMESTAMP = labelOf("@timestamp");
const STATUS = labelOf("status");
const SEVERITY_TEXT = labelOf("otel.severity_text");
/** Datadog's status and the severity, by number: info for INFO to INFO4. */
const STATUSES = SEVERITY_NUMBER_NAMES.map((name, number) =>
  Buffer.from(
    `,"status":"${String(name ?? "")
      // At most 6 characters.
      .replace(/\d+$/, "")
      .toLowerCase()}","otel.severity_number":${number}`,
  ),
);
/** Members of a log that an attribute of the same name must not repeat. */
const OWN_NAMES = new KeySet(
  `message ddsource ddtags hostname service status @timestamp dd.trace_id dd.span_id otel.trace_id otel.span_id
  otel.severity_text otel.severity_number`.split(/\s+/),
);
