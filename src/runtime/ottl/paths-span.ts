import type { Tree } from "../telemetry/tree.js";
import type { Access, Key, Pick } from "./access.js";
import { OttlError, OttlSyntaxError } from "./error.js";
import { expected, fieldAccess, INT32, messagesAccess, readField, TEXT, writeField } from "./fields.js";
import { mapKey } from "./indexing.js";
import { fields, type PathTable, plain } from "./path-table.js";

const record: Pick = (scene) => scene.record;
/** Of a span event its span, of a span itself. */
const span: Pick = (scene) => scene.span.here();

const KINDS = ["Unspecified", "Internal", "Server", "Client", "Producer", "Consumer"];
const KIND_SYMBOLS = KINDS.map((kind) => `SPAN_KIND_${kind.toUpperCase()}`);

export const SPAN_PATHS: PathTable = {
  ...fields(span, {
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
  "kind.string": plain("string", kindAccess(KINDS)),
  "kind.deprecated_string": plain("string", kindAccess(KIND_SYMBOLS)),
  trace_state: {
    type: "string",
    keys: "one",
    make: (keys) => (keys.length === 0 ? fieldAccess(span, "traceState", TEXT) : traceStateAccess(keys[0]!)),
  },
  status: plain("status", messagesAccess(span, "status")),
  "status.code": plain("int", statusAccess("code")),
  "status.message": plain("string", statusAccess("message")),
  events: plain("events", messagesAccess(span, "events")),
  links: plain("links", messagesAccess(span, "links")),
};

export const SPAN_EVENT_PATHS: PathTable = {
  ...fields(record, {
    name: ["name", "text"],
    time: ["timeUnixNano", "time"],
    time_unix_nano: ["timeUnixNano", "uint64"],
    dropped_attributes_count: ["droppedAttributesCount", "uint32"],
  }),
  event_index: plain("int", {
    get: (scene) => scene.index,
    set: () => {
      throw new OttlError("event_index cannot be set");
    },
  }),
};

function kindAccess(names: readonly string[]): Access {
  const kind = fieldAccess(span, "kind", INT32);
  return {
    get: (scene) => names[Number(kind.get(scene))] ?? "",
    set: (scene, value) => {
      const index = typeof value === "string" ? names.indexOf(value) : -1;
      if (index < 0) throw expected(`a span kind such as ${JSON.stringify(names[2])}`, value);
      kind.set(scene, BigInt(index));
    },
  };
}

function statusAccess(name: "code" | "message"): Access {
  const conversion = name === "code" ? INT32 : TEXT;
  const read = (level: ReturnType<Pick>) => (readField(level, level.message.byName.get("status")!) ?? {}) as Tree;
  return {
    get: (scene) => conversion.read(read(span(scene))[name]),
    set: (scene, value) => {
      const level = span(scene);
      const status = read(level);
      const written = conversion.write(value);
      if (conversion.read(status[name]) === value) return;
      writeField(level, level.message.byName.get("status")!, { ...status, [name]: written });
    },
  };
}

/** One entry of the W3C trace state; a missing one is the empty string, a new one goes first. */
function traceStateAccess(key: Key): Access {
  if (typeof key.literal === "bigint") throw new OttlSyntaxError("trace_state is indexed by a string", 0);
  const whole = fieldAccess(span, "traceState", TEXT);
  return {
    get: (scene) => entries(whole.get(scene) as string).get(mapKey(key, scene)) ?? "",
    set: (scene, value) => {
      if (typeof value !== "string") throw expected("string", value);
      const name = mapKey(key, scene);
      const rest = entries(whole.get(scene) as string);
      if (rest.get(name) === value) return;
      rest.delete(name);
      whole.set(scene, [[name, value], ...rest].map(([k, v]) => `${k}=${v}`).join(","));
    },
  };
}

function entries(state: string): Map<string, string> {
  const map = new Map<string, string>();
  for (const entry of state.split(",")) {
    const equals = entry.indexOf("=");
    if (equals > 0) map.set(entry.slice(0, equals).trim(), entry.slice(equals + 1).trim());
  }
  return map;
}
