import type { Tree } from "../../telemetry/bytes/decode.js";
import { SPAN_KIND_SYMBOLS, SPAN_KINDS } from "../../telemetry/bytes/enum-names.js";
import { OttlError, OttlSyntaxError } from "../values/error.js";
import {
  fieldAccess,
  INT32_FIELD,
  messagesAccess,
  readField,
  TEXT_FIELD,
  typeMismatch,
  writeField,
} from "./field-access.js";
import { mapKey } from "./indexing.js";
import type { PathAccess, PathKey, SelectMessage } from "./path-access.js";
import { fieldPaths, type PathTable, pathWithoutKeys } from "./path-table.js";

const record: SelectMessage = (ctx) => ctx.record;
/** Of a span event its span, of a span itself. */
const span: SelectMessage = (ctx) => ctx.span.current();

const SPAN_KIND_NAMES = SPAN_KINDS.map((kind) => kind[0]!.toUpperCase() + kind.slice(1));

export const SPAN_PATHS: PathTable = {
  ...fieldPaths(span, {
    trace_id: ["traceId", "traceId"],
    "trace_id.string": ["traceId", "traceIdText"],
    span_id: ["spanId", "spanId"],
    "span_id.string": ["spanId", "spanIdText"],
    parent_span_id: ["parentSpanId", "spanId"],
    "parent_span_id.string": ["parentSpanId", "spanIdText"],
    name: ["name", "text"],
    kind: ["kind", "int32"],
    start_time: ["startTimeUnixNano", "time"],
    start_time_unix_nano: ["startTimeUnixNano", "uint64"],
    end_time: ["endTimeUnixNano", "time"],
    end_time_unix_nano: ["endTimeUnixNano", "uint64"],
    dropped_attributes_count: ["droppedAttributesCount", "uint32"],
    dropped_events_count: ["droppedEventsCount", "uint32"],
    dropped_links_count: ["droppedLinksCount", "uint32"],
    flags: ["flags", "uint32"],
  }),
  "kind.string": pathWithoutKeys("string", kindAccess(SPAN_KIND_NAMES)),
  "kind.deprecated_string": pathWithoutKeys("string", kindAccess(SPAN_KIND_SYMBOLS)),
  trace_state: {
    type: "string",
    keys: "one",
    compile: (keys) => (keys.length === 0 ? fieldAccess(span, "traceState", TEXT_FIELD) : traceStateAccess(keys[0]!)),
  },
  status: pathWithoutKeys("status", messagesAccess(span, "status")),
  "status.code": pathWithoutKeys("int", statusAccess("code")),
  "status.message": pathWithoutKeys("string", statusAccess("message")),
  events: pathWithoutKeys("events", messagesAccess(span, "events")),
  links: pathWithoutKeys("links", messagesAccess(span, "links")),
};

export const SPAN_EVENT_PATHS: PathTable = {
  ...fieldPaths(record, {
    name: ["name", "text"],
    time: ["timeUnixNano", "time"],
    time_unix_nano: ["timeUnixNano", "uint64"],
    dropped_attributes_count: ["droppedAttributesCount", "uint32"],
  }),
  event_index: pathWithoutKeys("int", {
    get: (ctx) => ctx.eventIndex,
    set: () => {
      throw new OttlError("event_index cannot be set");
    },
  }),
};

function kindAccess(names: readonly string[]): PathAccess {
  const kind = fieldAccess(span, "kind", INT32_FIELD);
  return {
    get: (ctx) => names[Number(kind.get(ctx))] ?? "",
    set: (ctx, value) => {
      const index = typeof value === "string" ? names.indexOf(value) : -1;
      if (index < 0) throw typeMismatch(`a span kind such as ${JSON.stringify(names[2])}`, value);
      kind.set(ctx, BigInt(index));
    },
  };
}

function statusAccess(name: "code" | "message"): PathAccess {
  const conversion = name === "code" ? INT32_FIELD : TEXT_FIELD;
  const read = (message: ReturnType<SelectMessage>) =>
    (readField(message, message.type.byName.get("status")!) ?? {}) as Tree;
  return {
    get: (ctx) => conversion.read(read(span(ctx))[name]),
    set: (ctx, value) => {
      const message = span(ctx);
      const status = read(message);
      const written = conversion.write(value);
      if (conversion.read(status[name]) === value) return;
      writeField(message, message.type.byName.get("status")!, { ...status, [name]: written });
    },
  };
}

/** One entry of the W3C trace state; a missing one is the empty string, a new one goes first. */
function traceStateAccess(key: PathKey): PathAccess {
  if (typeof key.literal === "bigint") throw new OttlSyntaxError("trace_state is indexed by a string", 0);
  const textAccess = fieldAccess(span, "traceState", TEXT_FIELD);
  return {
    get: (ctx) => traceStateEntries(textAccess.get(ctx) as string).get(mapKey(key, ctx)) ?? "",
    set: (ctx, value) => {
      if (typeof value !== "string") throw typeMismatch("string", value);
      const name = mapKey(key, ctx);
      const rest = traceStateEntries(textAccess.get(ctx) as string);
      if (rest.get(name) === value) return;
      rest.delete(name);
      textAccess.set(ctx, [[name, value], ...rest].map(([k, v]) => `${k}=${v}`).join(","));
    },
  };
}

function traceStateEntries(state: string): Map<string, string> {
  const map = new Map<string, string>();
  for (const entry of state.split(",")) {
    const equals = entry.indexOf("=");
    if (equals > 0) map.set(entry.slice(0, equals).trim(), entry.slice(equals + 1).trim());
  }
  return map;
}
