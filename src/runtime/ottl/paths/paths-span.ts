import type { Tree } from "#otlp/bytes";
import { SPAN_KIND_SYMBOLS, SPAN_KINDS } from "#otlp/signals";
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
/** The span itself, or the span of a span event. */
const span: SelectMessage = (ctx) => ctx.around.span.current();

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
    flags: ["flags", "strictUint32"],
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

/**
 * One entry of the W3C trace state. A missing entry is the empty string, a new one goes first. An invalid state has no
 * entries and stays unchanged, and so does a valid one if the key or the value is invalid.
 */
function traceStateAccess(key: PathKey): PathAccess {
  if (typeof key.literal === "bigint") throw new OttlSyntaxError("trace_state is indexed by a string", 0);
  const textAccess = fieldAccess(span, "traceState", TEXT_FIELD);
  return {
    get: (ctx) => {
      const name = mapKey(key, ctx);
      const entries = traceStateEntries(textAccess.get(ctx) as string);
      return entries === undefined ? null : (entries.get(name) ?? "");
    },
    set: (ctx, value) => {
      if (typeof value !== "string") throw typeMismatch("string", value);
      const name = mapKey(key, ctx);
      const rest = traceStateEntries(textAccess.get(ctx) as string);
      if (rest === undefined || rest.get(name) === value) return;
      rest.delete(name);
      if (!TRACE_STATE_ENTRY.test(`${name}=${value}`) || rest.size >= MAX_TRACE_STATE_ENTRIES) return;
      textAccess.set(ctx, [[name, value], ...rest].map(([k, v]) => `${k}=${v}`).join(","));
    },
  };
}

const MAX_TRACE_STATE_ENTRIES = 32;
const TRACE_STATE_ENTRY =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Returns undefined if the state is invalid. */
function traceStateEntries(state: string): Map<string, string> | undefined {
  const map = new Map<string, string>();
  for (const entry of state === "" ? [] : state.split(",").map((item) => item.trim())) {
    if (entry === "") continue;
    const equals = entry.indexOf("=");
    const name = entry.slice(0, Math.max(0, equals));
    if (!TRACE_STATE_ENTRY.test(entry) || map.has(name)) return undefined;
    map.set(name, entry.slice(equals + 1));
  }
  return map.size > MAX_TRACE_STATE_ENTRIES ? undefined : map;
}
