import { after, BYTES, varint } from "../telemetry/wire.js";
import { WireWriter } from "../telemetry/writer.js";
import type { Access, Key, Pick } from "./access.js";
import { toText } from "./conversions.js";
import { OttlError } from "./error.js";
import { expected } from "./fields.js";
import { indexed, withIndexed } from "./indexing.js";
import type { Level } from "./level.js";
import { fields, type PathTable, plain } from "./path-table.js";
import { isMap, type OttlValue, sameValue, typeName } from "./value.js";
import { checkStorable, readAny, writeAny } from "./wire-value.js";

const record: Pick = (scene) => scene.record;

const BODY = 5;
const BODY_TAG = (BODY << 3) | BYTES;

export const LOG_PATHS: PathTable = {
  ...fields(record, {
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
  body: { type: "any", keys: "any", make: (keys) => (keys.length === 0 ? wholeBody() : inBody(keys)) },
  "body.string": plain("string", bodyText()),
};

function readBody(level: Level): OttlValue {
  const edited = level.edits?.fields.get(BODY);
  const bytes = edited ?? level.bytes;
  const at = edited === undefined ? level.find(BODY_TAG) : edited.length === 0 ? -1 : 1;
  if (at < 0) return null;
  const size = varint(bytes, at);
  return readAny(bytes, after, after + size);
}

function writeBody(level: Level, value: OttlValue): void {
  const current = readBody(level);
  checkStorable(value, current);
  if (sameValue(current, value)) return;
  const writer = new WireWriter(128);
  writer.byte(BODY_TAG);
  writer.begin(typeof value === "string" ? value.length + 2 : 0);
  writeAny(writer, value);
  writer.end();
  level.edit().fields.set(BODY, writer.written());
}

function wholeBody(): Access {
  return { get: (scene) => readBody(scene.record), set: (scene, value) => writeBody(scene.record, value) };
}

function inBody(keys: readonly Key[]): Access {
  const indexable = (level: Level): OttlValue => {
    const body = readBody(level);
    if (isMap(body) || Array.isArray(body)) return body;
    throw new OttlError(`a body that is ${typeName(body)} cannot be indexed`);
  };
  return {
    get: (scene) => indexed(indexable(scene.record), keys, scene),
    set: (scene, value) => writeBody(scene.record, withIndexed(indexable(scene.record), keys, 0, scene, value)),
  };
}

function bodyText(): Access {
  return {
    get: (scene) => toText(readBody(scene.record), "base64") ?? "",
    set: (scene, value) => {
      if (typeof value !== "string") throw expected("string", value);
      writeBody(scene.record, value);
    },
  };
}
