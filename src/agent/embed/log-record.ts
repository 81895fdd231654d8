import { type WireWriter, writeKeyValue, writeValue } from "#otlp/bytes";
import { MAX_SEVERITY_NUMBER, SEVERITY_NUMBERS } from "#otlp/signals";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_EVENT_NAME_TAG,
  LOG_OBSERVED_TIME_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_SEVERITY_TEXT_TAG,
  LOG_SPAN_ID_TAG,
  LOG_TIME_TAG,
  LOG_TRACE_ID_TAG,
} from "#otlp/tags";
import { telemetryValue, UNREADABLE } from "./telemetry-value.js";

/** The six severity names that OpenTelemetry has numbers for. */
export type SeverityName = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

/** A log record as a program writes it. Values can be of any type: see `telemetryValue`. */
export interface LogInput {
  /** The name of the event, such as "order.paid". */
  readonly name?: string;
  readonly body?: unknown;
  /** Any string; the six severity names, in any case, also set the number. */
  readonly severity?: SeverityName | (string & {});
  /** OpenTelemetry's severity number, 1 to 24. */
  readonly severityNumber?: number;
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** 32 and 16 hex digits. An invalid id is kept as attribute `trace_id` or `span_id`. */
  readonly traceId?: string;
  readonly spanId?: string;
  /** Milliseconds since the epoch, a Date, or nanoseconds as a bigint; default: now. */
  readonly timestamp?: number | bigint | Date;
}

const NUMBERS: Readonly<Record<string, number>> = SEVERITY_NUMBERS;

/** Writes the fields of an OTLP LogRecord. Throws when `record` is not an object, or one of its getters throws. */
export function writeLogRecord(writer: WireWriter, record: LogInput, nowMs: number): void {
  if (typeof record !== "object" || record === null) throw new TypeError("a log record is an object with a body");
  const now = nanoseconds(nowMs);
  writer.byte(LOG_TIME_TAG);
  writer.fixed64(record.timestamp === undefined ? now : timeOf(record.timestamp, now));
  writeSeverity(writer, record);
  if (record.body !== undefined)
    writeMessage(writer, LOG_BODY_TAG, () => writeValue(writer, telemetryValue(record.body)));
  writeAttributes(writer, record.attributes);
  writeId(writer, LOG_TRACE_ID_TAG, record.traceId, 32, "trace_id");
  writeId(writer, LOG_SPAN_ID_TAG, record.spanId, 16, "span_id");
  writer.byte(LOG_OBSERVED_TIME_TAG);
  writer.fixed64(now);
  if (record.name !== undefined) writeText(writer, LOG_EVENT_NAME_TAG, textOf(record.name));
}

function writeSeverity(writer: WireWriter, { severity, severityNumber }: LogInput): void {
  const text = severity === undefined ? "" : textOf(severity);
  const number = severityNumber ?? NUMBERS[text] ?? NUMBERS[text.toLowerCase()] ?? 0;
  if (Number.isInteger(number) && number > 0 && number <= MAX_SEVERITY_NUMBER) {
    writer.byte(LOG_SEVERITY_NUMBER_TAG);
    writer.varint(number);
  }
  if (text !== "") writeText(writer, LOG_SEVERITY_TEXT_TAG, text);
}

/** Accepts a Map or an object. Attributes whose value is undefined are skipped. */
export function writeAttributes(
  writer: WireWriter,
  attributes: Readonly<Record<string, unknown>> | undefined,
  tag = LOG_ATTRIBUTES_TAG,
): void {
  if (attributes === undefined || attributes === null) return;
  if (attributes instanceof Map) return writeAttributes(writer, Object.fromEntries(attributes), tag);
  for (const key of Object.keys(attributes)) {
    const value = readAttribute(attributes, key);
    if (value !== undefined) writeAttribute(writer, key, value, tag);
  }
}

/** An attribute whose getter throws must not cost the program its record. */
function readAttribute(attributes: Readonly<Record<string, unknown>>, key: string): unknown {
  try {
    return attributes[key];
  } catch {
    return UNREADABLE;
  }
}

function writeAttribute(writer: WireWriter, key: string, value: unknown, tag: number): void {
  const converted = telemetryValue(value);
  writer.byte(tag);
  writer.begin(key.length + (typeof converted === "string" ? converted.length : 8) + 6);
  writeKeyValue(writer, key, converted);
  writer.end();
}

function writeId(writer: WireWriter, tag: number, id: string | undefined, digits: number, otherwise: string): void {
  if (id === undefined || id === null || id === "") return;
  if (typeof id !== "string" || id.length !== digits || !HEX.test(id)) {
    return writeAttribute(writer, otherwise, id, LOG_ATTRIBUTES_TAG);
  }
  writer.byte(tag);
  writer.lengthDelimited(Buffer.from(id, "hex"));
}

const HEX = /^[0-9a-f]+$/i;

function writeText(writer: WireWriter, tag: number, text: string): void {
  writer.byte(tag);
  writer.text(text);
}

/** Some objects have no text, such as those without a prototype. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "[cannot be read]";
  }
}

function writeMessage(writer: WireWriter, tag: number, body: () => void): void {
  writer.byte(tag);
  writer.begin();
  body();
  writer.end();
}

let lastMs = 0;
let lastNanoseconds = 0n;

/** Caches the last conversion: many records have the same millisecond. */
function nanoseconds(ms: number): bigint {
  if (ms !== lastMs) {
    lastNanoseconds = BigInt(Math.trunc(ms)) * 1_000_000n + BigInt(Math.round((ms % 1) * 1_000_000));
    lastMs = ms;
  }
  return lastNanoseconds;
}

/** An invalid time becomes the current time: losing the record would be worse. */
function timeOf(time: number | bigint | Date, now: bigint): bigint {
  if (typeof time === "bigint") return time >= 0n && time < 1n << 64n ? time : now;
  const ms = millisecondsOf(time);
  return ms >= 0 && ms < MAX_TIME_MS ? nanoseconds(ms) : now;
}

function millisecondsOf(time: number | Date): number {
  try {
    return Number(time);
  } catch {
    return Number.NaN;
  }
}

/** The latest time that fits into 64 bits of nanoseconds, in milliseconds. */
const MAX_TIME_MS = 18_446_744_073_709;
