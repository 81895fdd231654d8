import { MAX_VALUE_DEPTH, WireWriter } from "#otlp/bytes";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_FLAGS_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_SEVERITY_TEXT_TAG,
  LOG_SPAN_ID_TAG,
  LOG_TIME_TAG,
  LOG_TRACE_ID_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
} from "#otlp/tags";
import { EntryGrowth } from "./entry-growth.js";
import { copyValue, type LogMap, type LogValue, writeLogMap, writeLogValue } from "./log-value.js";

/** A log record on its way through operators. */
export class LogEntry {
  body: LogValue;
  attributes: LogMap;
  /** Shared between entries until one of them changes it: see `ownResource`. */
  resource: LogMap;
  /** Nanoseconds since the epoch; undefined if unknown. */
  timestamp: bigint | undefined;
  severityNumber = 0;
  severityText = "";
  traceId: Uint8Array | undefined;
  spanId: Uint8Array | undefined;
  traceFlags: number | undefined;
  scopeName = "";
  /** Where the entry was read, for receivers that must know which entries are still held. */
  readonly origin: unknown;
  growth: EntryGrowth = new EntryGrowth();
  private hasOwnResource = false;

  constructor(body: LogValue, attributes: LogMap, resource: LogMap, origin: unknown) {
    this.body = body;
    this.attributes = attributes;
    this.resource = resource;
    this.origin = origin;
  }

  /** Returns a resource that can be changed for this entry alone. */
  ownResource(): LogMap {
    if (!this.hasOwnResource) {
      this.resource = copyValue(this.resource) as LogMap;
      this.hasOwnResource = true;
    }
    return this.resource;
  }

  /** A deep copy. */
  copy(): LogEntry {
    const copy = new LogEntry(copyValue(this.body), copyValue(this.attributes) as LogMap, this.resource, this.origin);
    copy.timestamp = this.timestamp;
    copy.severityNumber = this.severityNumber;
    copy.severityText = this.severityText;
    copy.traceId = this.traceId;
    copy.spanId = this.spanId;
    copy.traceFlags = this.traceFlags;
    copy.scopeName = this.scopeName;
    copy.growth = this.growth.copy();
    return copy;
  }
}

/** Writes the fields of a log record, except the observed time. */
export function writeEntry(writer: WireWriter, entry: LogEntry): void {
  if (entry.timestamp !== undefined) {
    writer.byte(LOG_TIME_TAG);
    writer.fixed64(entry.timestamp);
  }
  writeSeverity(writer, entry.severityNumber, entry.severityText);
  if (entry.body !== null) {
    writer.byte(LOG_BODY_TAG);
    writer.begin(typeof entry.body === "string" ? entry.body.length + 4 : 100);
    writeLogValue(writer, entry.body, MAX_VALUE_DEPTH);
    writer.end();
  }
  writeLogMap(writer, LOG_ATTRIBUTES_TAG, entry.attributes);
  if (entry.traceFlags !== undefined) {
    writer.byte(LOG_FLAGS_TAG);
    writer.fixed32(entry.traceFlags);
  }
  if (entry.traceId !== undefined) {
    writer.byte(LOG_TRACE_ID_TAG);
    writer.lengthDelimited(entry.traceId);
  }
  if (entry.spanId !== undefined) {
    writer.byte(LOG_SPAN_ID_TAG);
    writer.lengthDelimited(entry.spanId);
  }
}

export function writeSeverity(writer: WireWriter, number: number, text: string): void {
  if (number !== 0) {
    writer.byte(LOG_SEVERITY_NUMBER_TAG);
    writer.varint(number);
  }
  if (text !== "") {
    writer.byte(LOG_SEVERITY_TEXT_TAG);
    writer.text(text);
  }
}

/** The encoded InstrumentationScope with this name. */
export function encodeScopeName(name: string): Uint8Array {
  return encodeScope(name, "", {});
}

/** Encodes a scope. An empty version is left out. */
export function encodeScope(name: string, version: string, attributes: LogMap): Uint8Array {
  const writer = new WireWriter();
  writer.byte(SCOPE_NAME_TAG);
  writer.text(name);
  if (version !== "") {
    writer.byte(SCOPE_VERSION_TAG);
    writer.text(version);
  }
  writeLogMap(writer, SCOPE_ATTRIBUTES_TAG, attributes);
  return Buffer.from(writer.written());
}
