import { decodeMessage, MESSAGES, message, type WireWriter } from "#otlp/bytes";
import { PlainJsonWriter, plainAttributes, plainValue, treeHex, treeText, writeAscii, writeHex } from "#otlp/json";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import { LogFields } from "#otlp/views";
import type { Tree } from "../../plugin.js";
import type { Stream } from "./known-streams.js";
import { logfmtOf } from "./logfmt-line.js";
import { without } from "./stream-labels.js";

const QUOTE = 34;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** A scope's message in the bytes, and its JSON once a line has needed it. */
export interface LineScope {
  readonly start: number;
  readonly end: number;
  json?: Uint8Array;
}

/** Writes records as lines, one after the other, with the field names of the Collector's exporter. */
export class LineWriter {
  private readonly bytes: Uint8Array;
  private readonly out: WireWriter;
  private readonly json: PlainJsonWriter;
  private readonly fields = new LogFields();

  constructor(bytes: Uint8Array, out: WireWriter) {
    this.bytes = bytes;
    this.out = out;
    this.json = new PlainJsonWriter(bytes, out);
  }

  /** Writes the line of the record [start, end). Invalid UTF-8 may remain in it. */
  write(start: number, end: number, stream: Stream, scope: LineScope): void {
    if (stream.format === "json") this.writeJson(start, end, stream, scope);
    else if (stream.format === "raw") this.writeBody(start, end);
    else {
      const line = Buffer.from(this.logfmt(start, end, stream, scope));
      this.out.copy(line, 0, line.length);
    }
  }

  private writeJson(start: number, end: number, stream: Stream, scope: LineScope): void {
    const { bytes: b, out, json, fields } = this;
    fields.read(b, start, end);
    const lineStart = out.length;
    this.text(NAME, fields.nameStart, fields.nameEnd);
    if (fields.bodyStart > 0) this.body(fields.bodyStart, fields.bodyEnd);
    this.id(TRACE_ID, fields.traceStart, fields.traceEnd);
    this.id(SPAN_ID, fields.spanStart, fields.spanEnd);
    this.text(SEVERITY, fields.severityStart, fields.severityEnd);
    if (fields.flags !== 0) writeAscii(`,"flags":${fields.flags}`, out);
    const labelStart = out.length;
    writeLabel(out, ATTRIBUTES);
    if (!json.map(start, end, LOG_ATTRIBUTES_TAG, stream.leftOut)) out.length = labelStart;
    this.part(RESOURCES, stream.resource.json);
    this.part(SCOPE, (scope.json ??= this.scopeJson(scope)));
    if (out.length === lineStart) out.byte(OPEN_OBJECT);
    else out.bytes[lineStart] = OPEN_OBJECT; // every label begins with a comma
    out.byte(CLOSE_OBJECT);
  }

  private text(label: Uint8Array, start: number, end: number): void {
    if (start === end) return;
    writeLabel(this.out, label);
    this.json.text(start, end);
  }

  private id(label: Uint8Array, start: number, end: number): void {
    if (start === end) return;
    writeLabel(this.out, label);
    writeHex(this.bytes, start, end, this.out);
  }

  /** A body without a value counts as missing. */
  private body(start: number, end: number): void {
    const { out } = this;
    const labelStart = out.length;
    writeLabel(out, BODY);
    if (!this.json.valueUnlessNull(start, end)) out.length = labelStart;
  }

  private part(label: Uint8Array, json: Uint8Array): void {
    if (json.length === 0) return;
    writeLabel(this.out, label);
    this.out.copy(json, 0, json.length);
  }

  private scopeJson({ start, end }: LineScope): Uint8Array {
    const { bytes: b, out, json } = this;
    const from = out.length;
    const [nameStart, nameEnd] = message(b, start, end, SCOPE_NAME_TAG);
    const [versionStart, versionEnd] = message(b, start, end, SCOPE_VERSION_TAG);
    if (nameStart < nameEnd) {
      writeLabel(out, NAME);
      json.text(nameStart, nameEnd);
    }
    if (versionStart < versionEnd) {
      writeLabel(out, VERSION);
      json.text(versionStart, versionEnd);
    }
    const labelStart = out.length;
    writeLabel(out, ATTRIBUTES);
    if (!json.map(start, end, SCOPE_ATTRIBUTES_TAG)) out.length = labelStart;
    const isEmpty = out.length === from;
    if (!isEmpty) {
      out.bytes[from] = OPEN_OBJECT;
      out.byte(CLOSE_OBJECT);
    }
    const written = Uint8Array.from(out.bytes.subarray(from, out.length));
    out.length = from;
    return written;
  }

  /** Writes only the body: a text as it is, any other value as JSON without quotes around it. */
  private writeBody(start: number, end: number): void {
    const { bytes: b, out } = this;
    const [bodyStart, bodyEnd] = message(b, start, end, LOG_BODY_TAG);
    if (bodyStart === bodyEnd) return;
    const [textStart, textEnd] = message(b, bodyStart, bodyEnd, STRING_VALUE_TAG);
    if (textStart < textEnd) return out.copy(b, textStart, textEnd);
    const from = out.length;
    if (!this.json.valueUnlessNull(bodyStart, bodyEnd) || out.bytes[from] !== QUOTE) return;
    out.bytes.copyWithin(from, from + 1, out.length - 1);
    out.length -= 2;
  }

  private logfmt(start: number, end: number, { resource, taken }: Stream, scope: LineScope): string {
    const { bytes: b } = this;
    const log = decodeMessage(MESSAGES["LogRecord"]!, b, start, end);
    const owner = decodeMessage(MESSAGES["Scope"]!, b, scope.start, scope.end);
    return logfmtOf({
      body: log["body"] === undefined ? undefined : (plainValue(log["body"] as Tree) ?? undefined),
      eventName: treeText(log["eventName"]),
      traceId: treeHex(log["traceId"]),
      spanId: treeHex(log["spanId"]),
      severity: treeText(log["severityText"]),
      flags: Number(log["flags"] ?? 0),
      attributes: without(plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG), taken),
      resource: resource.plain,
      scope: {
        name: treeText(owner["name"]),
        version: treeText(owner["version"]),
        attributes: plainAttributes(b, scope.start, scope.end, SCOPE_ATTRIBUTES_TAG),
      },
    });
  }
}

const [NAME, VERSION, BODY, TRACE_ID, SPAN_ID, SEVERITY, ATTRIBUTES, RESOURCES, SCOPE] = [
  "name",
  "version",
  "body",
  "traceid",
  "spanid",
  "severity",
  "attributes",
  "resources",
  "instrumentation_scope",
].map((name) => Buffer.from(`,"${name}":`)) as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer];

function writeLabel(out: WireWriter, label: Uint8Array): void {
  out.copy(label, 0, label.length);
}
