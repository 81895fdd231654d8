import { type PlainAttributes, plainValueText } from "#otlp/json";
import { logfmtLine, logfmtPairs } from "./logfmt.js";

/** The content of a line: a record without the attributes that are labels. */
interface LineParts {
  /** Undefined if the record has no body. */
  readonly body: unknown;
  readonly eventName: string;
  /** In hex; empty if there is none. */
  readonly traceId: string;
  readonly spanId: string;
  readonly severity: string;
  readonly flags: number;
  readonly attributes: PlainAttributes;
  readonly resource: PlainAttributes;
  readonly scope: { readonly name: string; readonly version: string; readonly attributes: PlainAttributes };
}

/** Returns a record as a logfmt line, with the field names of the Collector's exporter. */
export function logfmtOf(parts: LineParts): string {
  return logfmtLine(pairsOf(parts));
}

/** Returns each part of a record under its key. A logfmt body keeps its keys, but the record's own fields win. */
function pairsOf(parts: LineParts): Map<string, string> {
  const pairs = bodyPairs(parts.body);
  const { name, version, attributes } = parts.scope;
  const own = {
    event_name: parts.eventName,
    traceID: parts.traceId,
    spanID: parts.spanId,
    severity: parts.severity,
    flags: parts.flags === 0 ? "" : String(parts.flags),
  };
  for (const [key, text] of Object.entries(own)) if (text !== "") pairs.set(key, text);
  for (const [key, value] of Object.entries(parts.attributes)) addPairs(pairs, `attribute_${key}`, value);
  for (const [key, value] of Object.entries(parts.resource)) addPairs(pairs, `resource_${key}`, value);
  if (name !== "") pairs.set("instrumentation_scope_name", name);
  if (version !== "") pairs.set("instrumentation_scope_version", version);
  for (const [key, value] of Object.entries(attributes))
    addPairs(pairs, `instrumentation_scope_attribute_${key}`, value);
  return pairs;
}

function bodyPairs(body: unknown): Map<string, string> {
  if (typeof body === "string") return logfmtPairs(body) ?? new Map([["msg", body]]);
  const pairs = new Map<string, string>();
  if (body !== undefined) addPairs(pairs, isMap(body) ? "" : Array.isArray(body) ? "body" : "msg", body);
  return pairs;
}

/** Maps and lists become one pair for each value in them, named by its path. */
function addPairs(pairs: Map<string, string>, key: string, value: unknown): void {
  if (value === null) return;
  if (!isMap(value) && !Array.isArray(value)) {
    pairs.set(key, plainValueText(value));
    return;
  }
  for (const [inner, each] of Object.entries(value)) addPairs(pairs, key === "" ? inner : `${key}_${inner}`, each);
}

function isMap(value: unknown): value is PlainAttributes {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
