import type { DocumentSource } from "../../../src/exporters/bulk/bulk-sender.js";
import type { ElasticsearchConfig } from "../../../src/exporters/bulk/elasticsearch/config.js";
import {
  capitalised,
  durationOf,
  isMap,
  ownerFields,
} from "../../../src/exporters/bulk/elasticsearch/otel-documents.js";
import {
  type DocumentRoute,
  logTarget,
  routeOf,
  targetOf,
  withoutRouting,
} from "../../../src/exporters/bulk/elasticsearch/route.js";
import type { OpenSearchConfig } from "../../../src/exporters/bulk/opensearch/config.js";
import { epochMillis, isoTime } from "../../../src/exporters/bulk/times.js";
import type { Batch, Tree } from "../../../src/plugin.js";
import {
  logTime,
  type OwnedTree,
  ownedTrees,
  type PlainAttributes,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treesIn,
  treeText,
} from "../../../src/runtime/otlp/json/plain/owned-trees.js";
import { jsonText, plainValue, plainValueText } from "../../../src/runtime/otlp/json/plain/plain-value.js";
import { SPAN_KINDS, STATUS_CODES } from "../../../src/runtime/otlp/signals/enum-names.js";

/** Makes the lines of a batch in the mode otel with plain objects. Records without a valid index have none. */
export function plainOtelLines(batch: Batch, config: ElasticsearchConfig, now: number): string[] {
  const lines: string[] = [];
  for (const owned of ownedTrees(batch)) {
    const attributes = treeAttributes(owned.tree);
    const route = routeOf(batch.signal, attributes, owned.owner, config, now);
    if (route === undefined) continue;
    if (batch.signal === "logs") {
      lines.push(
        jsonText({ create: logTarget(route, attributes, config) }),
        jsonText(otelLog(owned, attributes, route)),
      );
      continue;
    }
    const target = targetOf(route, attributes, config.traces_dynamic_id.enabled);
    lines.push(jsonText({ create: target }), jsonText(otelSpan(owned, attributes, route)));
    for (const event of treesIn(owned.tree, "events")) {
      const own = routeOf("logs", treeAttributes(event), owned.owner, config, now);
      if (own !== undefined)
        lines.push(jsonText({ create: { _index: own.index } }), jsonText(otelSpanEvent(owned, event, own)));
    }
  }
  return lines;
}

/** Does the same for the mode ss4o. All documents go to the index `index`. */
export function plainSsoLines(batch: Batch, config: OpenSearchConfig, now: number, index: string): string[] {
  return [...ownedTrees(batch)].flatMap((owned) => {
    const attributes = treeAttributes(owned.tree);
    const source =
      batch.signal === "logs" ? ssoLog(owned, attributes, config, now) : ssoSpan(owned, attributes, config);
    return [jsonText({ create: { _index: index } }), jsonText(source)];
  });
}

/** Returns a log record as a document of the mode otel. */
function otelLog({ tree, owner }: OwnedTree, attributes: PlainAttributes, route: DocumentRoute): DocumentSource {
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

function otelSpan({ tree: span, owner }: OwnedTree, attributes: PlainAttributes, route: DocumentRoute): DocumentSource {
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
function otelSpanEvent({ tree: span, owner }: OwnedTree, event: Tree, route: DocumentRoute): DocumentSource {
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

function ids(tree: Tree): DocumentSource {
  return { trace_id: treeHex(tree["traceId"]) || undefined, span_id: treeHex(tree["spanId"]) || undefined };
}

function ssoLog(
  { tree, owner }: OwnedTree,
  attributes: PlainAttributes,
  config: OpenSearchConfig,
  now: number,
): DocumentSource {
  return {
    attributes: { ...attributes, data_stream: dataStream(config, "record") },
    body: plainValueText(plainValue(tree["body"] as Tree | undefined)),
    eventName: treeText(tree["eventName"]) || undefined,
    instrumentationScope: scopeOf(owner),
    observedTimestamp: isoTime(tree["observedTimeUnixNano"] ?? BigInt(Math.trunc(now)) * 1_000_000n),
    resource: resourceOf(owner),
    schemaUrl: owner.scopeUrl || owner.resourceUrl || undefined,
    severity: { text: treeText(tree["severityText"]) || undefined, number: tree["severityNumber"] || undefined },
    spanId: treeHex(tree["spanId"]) || undefined,
    "@timestamp": isoTime(logTime(tree)),
    traceId: treeHex(tree["traceId"]) || undefined,
  };
}

function ssoSpan(
  { tree: span, owner }: OwnedTree,
  attributes: PlainAttributes,
  config: OpenSearchConfig,
): DocumentSource {
  const status = (span["status"] ?? {}) as Tree;
  const links = treesIn(span, "links");
  const events = treesIn(span, "events");
  return {
    attributes: { ...attributes, data_stream: dataStream(config, "span") },
    droppedAttributesCount: span["droppedAttributesCount"] ?? 0,
    droppedEventsCount: span["droppedEventsCount"] ?? 0,
    droppedLinksCount: span["droppedLinksCount"] ?? 0,
    endTime: isoTime(span["endTimeUnixNano"]),
    events: events.length === 0 ? undefined : events.map(ssoEvent),
    instrumentationScope: scopeOf(owner),
    kind: capitalised(SPAN_KINDS[Number(span["kind"] ?? 0)]),
    links: links.length === 0 ? undefined : links.map(ssoLink),
    name: treeText(span["name"]),
    parentSpanId: treeHex(span["parentSpanId"]),
    resource: resourceOf(owner),
    spanId: treeHex(span["spanId"]),
    startTime: isoTime(span["startTimeUnixNano"]),
    status: { code: capitalised(STATUS_CODES[Number(status["code"] ?? 0)]), message: treeText(status["message"]) },
    "@timestamp": isoTime(span["startTimeUnixNano"]),
    traceId: treeHex(span["traceId"]),
    traceState: treeText(span["traceState"]),
  };
}

function ssoEvent(event: Tree): DocumentSource {
  return {
    attributes: treeAttributes(event),
    droppedAttributesCount: event["droppedAttributesCount"] ?? 0,
    name: treeText(event["name"]),
    "@timestamp": event["timeUnixNano"] ? isoTime(event["timeUnixNano"]) : undefined,
  };
}

function ssoLink(link: Tree): DocumentSource {
  return {
    attributes: treeAttributes(link),
    spanId: treeHex(link["spanId"]) || undefined,
    traceId: treeHex(link["traceId"]) || undefined,
    traceState: treeText(link["traceState"]) || undefined,
    droppedAttributesCount: link["droppedAttributesCount"] || undefined,
  };
}

function dataStream({ dataset, namespace }: OpenSearchConfig, type: string): DocumentSource {
  return { dataset, namespace, type };
}

function scopeOf(owner: TreeOwner): DocumentSource {
  return {
    attributes: owner.scopeAttributes,
    name: owner.scopeName || undefined,
    schemaUrl: owner.scopeUrl || undefined,
    version: owner.scopeVersion || undefined,
  };
}

/** Resource attributes become text, whatever their type. */
function resourceOf({ resource }: TreeOwner): DocumentSource {
  return Object.fromEntries(Object.entries(resource).map(([key, value]) => [key, plainValueText(value)]));
}
