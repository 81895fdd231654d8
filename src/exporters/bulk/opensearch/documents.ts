import {
  logTime,
  type OwnedTree,
  ownedTrees,
  type PlainAttributes,
  plainValue,
  plainValueText,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treesIn,
  treeText,
} from "#otlp/json";
import { SPAN_KINDS, STATUS_CODES } from "#otlp/signals";
import type { Batch, Tree } from "../../../plugin.js";
import type { BulkDocument, DocumentSource, UnfitRecords } from "../bulk-sender.js";
import { addFlat, withoutClashes } from "../elasticsearch/flat-documents.js";
import { capitalised, isMap } from "../elasticsearch/otel-documents.js";
import { formatDate, isoTime } from "../times.js";
import type { OpenSearchConfig } from "./config.js";

const NO_MAP = "the body is not a map, which the mode bodymap requires";

/** Makes the documents of a batch of logs or spans one by one. */
export function* documentsOf(
  batch: Batch,
  config: OpenSearchConfig,
  now: number,
): Iterable<BulkDocument | UnfitRecords> {
  const signal = batch.signal === "logs" ? "logs" : "traces";
  const date = config[`${signal}_index_time_format`];
  const suffix = date === "" ? "" : `-${formatDate(date, now)}`;
  for (const owned of ownedTrees(batch)) {
    const records = [owned.place];
    const attributes = treeAttributes(owned.tree);
    const source = signal === "logs" ? logSource(owned, attributes, config, now) : ssoSpan(owned, attributes, config);
    if (source === undefined) yield { records, problem: NO_MAP };
    else
      yield {
        records,
        action: config.bulk_action,
        target: { _index: indexOf(signal, owned.owner, attributes, config) + suffix },
        source,
      };
  }
}

function indexOf(
  signal: "logs" | "traces",
  owner: TreeOwner,
  attributes: PlainAttributes,
  config: OpenSearchConfig,
): string {
  const pattern = config[`${signal}_index`];
  if (pattern === "") return `ss4o_${signal}-${config.dataset}-${config.namespace}`;
  return pattern.replace(/%\{([^}]+)\}/g, (_whole, key: string) => {
    const ownNames: PlainAttributes = {
      "scope.name": owner.scopeName || undefined,
      "scope.version": owner.scopeVersion || undefined,
    };
    const text = plainValueText(attributes[key] ?? ownNames[key] ?? owner.scopeAttributes[key] ?? owner.resource[key]);
    return SEGMENT.test(text) ? text : config[`${signal}_index_fallback`] || "unknown";
  });
}

/** The allowed form of a part of an index name. It keeps senders from choosing other indexes with `../` or a list. */
const SEGMENT = /^[a-z0-9][a-z0-9._-]*$/;

function logSource(
  owned: OwnedTree,
  attributes: PlainAttributes,
  config: OpenSearchConfig,
  now: number,
): DocumentSource | undefined {
  const { mode } = config.mapping;
  if (mode === "ss4o") return ssoLog(owned, attributes, config, now);
  if (mode !== "bodymap") return dataModelLog(owned, attributes, config);
  const body = plainValue(owned.tree["body"] as Tree | undefined);
  return isMap(body) ? body : undefined;
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

/**
 * Returns a document of the modes ecs and flatten_attributes: the record's own fields, with attributes under a field of
 * their own or next to them.
 */
function dataModelLog(
  { tree, owner }: OwnedTree,
  attributes: PlainAttributes,
  { mapping }: OpenSearchConfig,
): DocumentSource {
  const prefix = mapping.mode === "flatten_attributes" ? "" : "Attributes";
  const source: DocumentSource = {};
  addFlat(source, prefix, owner.resource);
  const time = logTime(tree);
  source[mapping.timestamp_field || "@timestamp"] = mapping.unix_timestamp ? Number(time / 1_000_000n) : isoTime(time);
  const own = {
    TraceId: treeHex(tree["traceId"]),
    SpanId: treeHex(tree["spanId"]),
    SeverityText: treeText(tree["severityText"]),
    EventName: treeText(tree["eventName"]),
  };
  for (const [key, text] of Object.entries(own)) if (text !== "") source[key] = text;
  source["TraceFlags"] = tree["flags"] ?? 0;
  source["SeverityNumber"] = tree["severityNumber"] ?? 0;
  addFlat(source, "Body", plainValue(tree["body"] as Tree | undefined));
  addFlat(source, prefix, attributes);
  return withoutClashes(source);
}
