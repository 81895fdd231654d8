import { type PlainAttributes, plainValueText } from "#otlp/json";
import { logfmtLine, logfmtPairs } from "./logfmt.js";

/** What goes into a line: a record without the attributes that are labels. */
export interface LineParts {
  /** Undefined when the record has none. */
  readonly body: unknown;
  readonly eventName: string;
  /** In hex; empty when there is none. */
  readonly traceId: string;
  readonly spanId: string;
  readonly severity: string;
  readonly flags: number;
  readonly attributes: PlainAttributes;
  readonly resource: PlainAttributes;
  readonly scope: { readonly name: string; readonly version: string; readonly attributes: PlainAttributes };
}

/** A record as a line of logfmt, with the names that the Collector's exporter gives its parts. */
export function logfmtOf(parts: LineParts): string {
  return logfmtLine(pairsOf(parts));
}

/** The parts of a record under a key each. A body that is logfmt keeps its keys, and what the record says of itself counts before them. */
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

/** Maps and lists become a pair for each value in them, by its way there. */
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
