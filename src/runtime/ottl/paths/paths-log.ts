import { after, varint, WireWriter } from "#otlp/bytes";
import { LOG_BODY_TAG } from "#otlp/tags";
import type { Pattern } from "#text/patterns";
import { plainText } from "../values/conversions.js";
import { OttlError } from "../values/error.js";
import { encodedSize } from "../values/limits.js";
import { isMap, type OttlValue, sameValue, typeName } from "../values/value.js";
import { checkStorable, mayMatchEncoded, readOttlValue, writeOttlValue } from "../values/wire-value.js";
import type { EditableMessage } from "./editable-message.js";
import { typeMismatch } from "./field-access.js";
import { getAtKeys, setAtKeys } from "./indexing.js";
import type { PathAccess, PathKey, SelectMessage } from "./path-access.js";
import { fieldPaths, type PathTable, pathWithoutKeys } from "./path-table.js";

const record: SelectMessage = (ctx) => ctx.record;

const BODY_FIELD = 5;

export const LOG_PATHS: PathTable = {
  ...fieldPaths(record, {
    time: ["timeUnixNano", "time"],
    time_unix_nano: ["timeUnixNano", "uint64"],
    observed_time: ["observedTimeUnixNano", "time"],
    observed_time_unix_nano: ["observedTimeUnixNano", "uint64"],
    severity_number: ["severityNumber", "int32"],
    severity_text: ["severityText", "text"],
    dropped_attributes_count: ["droppedAttributesCount", "uint32"],
    flags: ["flags", "uint32"],
    trace_id: ["traceId", "traceId"],
    "trace_id.string": ["traceId", "traceIdText"],
    span_id: ["spanId", "spanId"],
    "span_id.string": ["spanId", "spanIdText"],
    event_name: ["eventName", "text"],
  }),
  body: { type: "any", keys: "any", compile: (keys) => (keys.length === 0 ? wholeBody() : bodyAtKeys(keys)) },
  "body.string": pathWithoutKeys("string", bodyText()),
};

function readBody(message: EditableMessage): OttlValue {
  const { edits, bytes, start, end, lastBody } = message;
  if (edits !== undefined) {
    if (edits.bodyText !== undefined) return edits.bodyText;
    const edited = edits.fields.get(BODY_FIELD);
    if (edited !== undefined) return edited.length === 0 ? null : readBodyAt(edited, 1);
  }
  if (lastBody.at >= start && lastBody.at < end && lastBody.bytes === bytes) return lastBody.text;
  const at = message.find(LOG_BODY_TAG);
  const value = at < 0 ? null : readBodyAt(bytes, at);
  if (typeof value === "string") {
    lastBody.bytes = bytes;
    lastBody.at = at;
    lastBody.text = value;
  }
  return value;
}

function readBodyAt(bytes: Uint8Array, at: number): OttlValue {
  const size = varint(bytes, at);
  return readOttlValue(bytes, after, after + size);
}

function mayMatchBody(message: EditableMessage, pattern: Pattern): boolean {
  const { edits, bytes } = message;
  if (edits !== undefined && (edits.bodyText !== undefined || edits.fields.has(BODY_FIELD))) return true;
  const at = message.find(LOG_BODY_TAG);
  if (at < 0) return true;
  const size = varint(bytes, at);
  return mayMatchEncoded(bytes, after, after + size, pattern);
}

function writeBody(message: EditableMessage, value: OttlValue): void {
  const current = readBody(message);
  checkStorable(value, current);
  if (sameValue(current, value)) return;
  const edits = message.edit();
  if (typeof value === "string") {
    edits.noteFieldSize("body", value.length);
    edits.bodyText = value.toWellFormed(); // as it would be read again: UTF-8 cannot encode a lone surrogate
    edits.fields.delete(BODY_FIELD);
    return;
  }
  edits.noteFieldSize("body", encodedSize(value));
  edits.bodyText = undefined;
  scratch.clear();
  scratch.byte(LOG_BODY_TAG);
  scratch.begin();
  writeOttlValue(scratch, value);
  scratch.end();
  edits.fields.set(BODY_FIELD, Buffer.from(scratch.written())); // small buffers share a block of memory
}

const scratch = new WireWriter(4096);

function wholeBody(): PathAccess {
  return {
    get: (ctx) => readBody(ctx.record),
    set: (ctx, value) => writeBody(ctx.record, value),
    mayMatch: (ctx, pattern) => mayMatchBody(ctx.record, pattern),
  };
}

function bodyAtKeys(keys: readonly PathKey[]): PathAccess {
  const indexable = (message: EditableMessage): OttlValue => {
    const body = readBody(message);
    if (isMap(body) || Array.isArray(body)) return body;
    throw new OttlError(`a body that is ${typeName(body)} cannot be indexed`);
  };
  return {
    get: (ctx) => getAtKeys(indexable(ctx.record), keys, ctx),
    set: (ctx, value) => writeBody(ctx.record, setAtKeys(indexable(ctx.record), keys, 0, ctx, value)),
  };
}

function bodyText(): PathAccess {
  return {
    get: (ctx) => plainText(readBody(ctx.record)),
    set: (ctx, value) => {
      if (typeof value !== "string") throw typeMismatch("string", value);
      writeBody(ctx.record, value);
    },
  };
}
