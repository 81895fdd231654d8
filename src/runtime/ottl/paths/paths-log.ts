import { after, LENGTH_DELIMITED, varint } from "../../telemetry/bytes/wire.js";
import { WireWriter } from "../../telemetry/bytes/writer.js";
import { plainText } from "../values/conversions.js";
import { OttlError } from "../values/error.js";
import { isMap, type OttlValue, sameValue, typeName } from "../values/value.js";
import { checkStorable, readOttlValue, writeOttlValue } from "../values/wire-value.js";
import type { EditableMessage } from "./editable-message.js";
import { typeMismatch } from "./field-access.js";
import { getAtKeys, setAtKeys } from "./indexing.js";
import type { PathAccess, PathKey, SelectMessage } from "./path-access.js";
import { fieldPaths, type PathTable, pathWithoutKeys } from "./path-table.js";

const record: SelectMessage = (ctx) => ctx.record;

const BODY_FIELD = 5;
const BODY_TAG = (BODY_FIELD << 3) | LENGTH_DELIMITED;

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
  const edited = message.edits?.fields.get(BODY_FIELD);
  const bytes = edited ?? message.bytes;
  const at = edited === undefined ? message.find(BODY_TAG) : edited.length === 0 ? -1 : 1;
  if (at < 0) return null;
  const { lastText } = message;
  if (lastText.at === at && lastText.bytes === bytes) return lastText.text;
  const size = varint(bytes, at);
  const value = readOttlValue(bytes, after, after + size);
  if (typeof value === "string") rememberText(message, bytes, at, value);
  return value;
}

function rememberText({ lastText }: EditableMessage, bytes: Uint8Array, at: number, text: string): void {
  lastText.bytes = bytes;
  lastText.at = at;
  lastText.text = text;
}

function writeBody(message: EditableMessage, value: OttlValue): void {
  const current = readBody(message);
  checkStorable(value, current);
  if (sameValue(current, value)) return;
  scratch.clear();
  scratch.byte(BODY_TAG);
  scratch.begin(typeof value === "string" ? value.length + 2 : 0);
  writeOttlValue(scratch, value);
  scratch.end();
  const written = Buffer.from(scratch.written()); // small ones share a block of memory
  message.edit().fields.set(BODY_FIELD, written);
  // Of ASCII the same text would be read. Half a pair of surrogates, for one, comes back as another.
  if (typeof value === "string" && Buffer.byteLength(value) === value.length) rememberText(message, written, 1, value);
}

const scratch = new WireWriter(4096);

function wholeBody(): PathAccess {
  return { get: (ctx) => readBody(ctx.record), set: (ctx, value) => writeBody(ctx.record, value) };
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
