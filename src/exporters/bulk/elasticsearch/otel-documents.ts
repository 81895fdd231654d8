import {
  logTime,
  type OwnedTree,
  type PlainAttributes,
  plainValue,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treesIn,
  treeText,
} from "#otlp/json";
import { SPAN_KINDS, STATUS_CODES } from "#otlp/signals";
import type { Tree } from "../../../plugin.js";
import type { DocumentSource } from "../bulk-sender.js";
import { epochMillis } from "../times.js";
import { type DocumentRoute, withoutRouting } from "./route.js";

/** Returns a log record as a document of the mode otel. */
export function otelLog({ tree, owner }: OwnedTree, attributes: PlainAttributes, route: DocumentRoute): DocumentSource {
  const eventName = treeText(tree["eventName"]) || attributes["event.name"];
  return {
    "@timestamp": epochMillis(logTime(tree)),
    observed_timestamp:
      tree["observedTimeUnixNano"] === undefined ? undefined : epochMillis(tree["observedTimeUnixNano"]),
    data_stream: route.dataStream,
    severity_text: treeText(tree["severityText"]) || undefined,
    severity_number: tree["severityNumber"] || undefined,
    ...ids(tree),
    attributes: withoutRouting(attributes),
    dropped_attributes_count: tree["droppedAttributesCount"] || undefined,
    event_name: typeof eventName === "string" ? eventName : undefined,
    ...ownerFields(owner),
    body: bodyOf(tree["body"] as Tree | undefined),
  };
}

/**
 * Maps and lists of maps become structured fields. Any other list is put into a map, because Elasticsearch requires
 * one.
 */
function bodyOf(body: Tree | undefined): DocumentSource | undefined {
  const value = plainValue(body);
  if (value === null) return undefined;
  if (isMap(value)) return { structured: value };
  if (Array.isArray(value)) return { structured: value.every(isMap) ? value : { value } };
  return { text: value };
}

export function otelSpan(
  { tree: span, owner }: OwnedTree,
  attributes: PlainAttributes,
  route: DocumentRoute,
): DocumentSource {
  const status = (span["status"] ?? {}) as Tree;
  const code = Number(status["code"] ?? 0);
  return {
    "@timestamp": epochMillis(span["startTimeUnixNano"]),
    data_stream: route.dataStream,
    ...ids(span),
    trace_state: treeText(span["traceState"]) || undefined,
    parent_span_id: treeHex(span["parentSpanId"]) || undefined,
    name: treeText(span["name"]) || undefined,
    kind: capitalised(SPAN_KINDS[Number(span["kind"] ?? 0)]),
    duration: Number(durationOf(span)),
    attributes: withoutRouting(attributes),
    dropped_attributes_count: span["droppedAttributesCount"] || undefined,
    dropped_events_count: span["droppedEventsCount"] || undefined,
    links: treesIn(span, "links").map((link) => ({
      ...ids(link),
      trace_state: treeText(link["traceState"]) || undefined,
      attributes: treeAttributes(link),
    })),
    dropped_links_count: span["droppedLinksCount"] || undefined,
    status: {
      message: treeText(status["message"]) || undefined,
      code: code === 0 ? undefined : capitalised(STATUS_CODES[code]),
    },
    ...ownerFields(owner),
  };
}

/** Returns the document of a span event, which is stored among the logs. */
export function otelSpanEvent({ tree: span, owner }: OwnedTree, event: Tree, route: DocumentRoute): DocumentSource {
  const name = treeText(event["name"]);
  return {
    "@timestamp": epochMillis(event["timeUnixNano"]),
    data_stream: route.dataStream,
    ...ids(span),
    dropped_attributes_count: event["droppedAttributesCount"] || undefined,
    event_name: name || undefined,
    attributes: { ...withoutRouting(treeAttributes(event)), ...(name !== "" && { "event.name": name }) },
    ...ownerFields(owner),
  };
}

/** Returns the fields that tell where a record comes from. */
export function ownerFields(owner: TreeOwner): DocumentSource {
  return {
    resource: {
      attributes: withoutRouting(owner.resource),
      dropped_attributes_count: owner.resourceDropped || undefined,
      schema_url: owner.resourceUrl || undefined,
    },
    scope: {
      name: owner.scopeName || undefined,
      version: owner.scopeVersion || undefined,
      attributes: withoutRouting(owner.scopeAttributes),
      dropped_attributes_count: owner.scope["droppedAttributesCount"] || undefined,
      schema_url: owner.scopeUrl || undefined,
    },
  };
}

function ids(tree: Tree): DocumentSource {
  return { trace_id: treeHex(tree["traceId"]) || undefined, span_id: treeHex(tree["spanId"]) || undefined };
}

/** The duration is 0 if a span ends before it begins. */
export function durationOf({ startTimeUnixNano: start, endTimeUnixNano: end }: Tree): bigint {
  const length = typeof start === "bigint" && typeof end === "bigint" ? end - start : 0n;
  return length < 0n ? 0n : length;
}

/** Capitalises kinds and codes as the Collector does. */
export function capitalised(name: string | undefined): string | undefined {
  return name === undefined ? undefined : name.charAt(0).toUpperCase() + name.slice(1);
}

export function isMap(value: unknown): value is PlainAttributes {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
