import { FNV64_START, fnv64 } from "#codecs";
import {
  jsonText,
  type OwnedTree,
  ownedRecords,
  ownedTrees,
  type PlainAttributes,
  plainValue,
  treeAttributes,
  treeText,
} from "#otlp/json";
import type { Batch, Tree } from "../../../plugin.js";
import type { BulkDocument, UnfitRecords } from "../bulk-sender.js";
import { epochMillis, isoTime } from "../times.js";
import type { ElasticsearchConfig } from "./config.js";
import { ecsLog, ecsOwner, ecsSpan, finishPlain, plainLog, plainSpan, withoutClashes } from "./flat-documents.js";
import { type MetricValue, metricValue } from "./metric-values.js";
import { NO_INDEX, otelDocuments } from "./otel-bulk.js";
import { isMap, ownerFields } from "./otel-documents.js";
import { type DocumentRoute, logTarget, routeOf, targetOf, withoutRouting } from "./route.js";

const NO_MAP = "the body is not a map, which the mode bodymap requires";
const NO_VALUE =
  "Elasticsearch cannot store the value: it is not a finite number, or its buckets do not match its bounds";

/** Makes the documents of a batch one by one. */
export function* documentsOf(
  batch: Batch,
  config: ElasticsearchConfig,
  now: number,
): Iterable<BulkDocument | UnfitRecords> {
  if (batch.signal === "metrics") return yield* metricDocuments(batch, config, now);
  if (config.mapping.mode === "otel") return yield* otelDocuments(batch, config, now);
  for (const owned of ownedRecords(batch)) {
    const attributes = treeAttributes(owned.tree);
    const route = routeOf(batch.signal, attributes, owned.owner, config, now);
    if (route === undefined) yield { records: [owned.place], problem: NO_INDEX };
    else if (batch.signal === "logs") yield logDocument(owned, attributes, route, config);
    else yield spanDocument(owned, attributes, route, config);
  }
}

function logDocument(
  owned: OwnedTree,
  attributes: PlainAttributes,
  route: DocumentRoute,
  config: ElasticsearchConfig,
): BulkDocument | UnfitRecords {
  const { mode } = config.mapping;
  const records = [owned.place];
  const target = logTarget(route, attributes, config);
  if (mode === "ecs") return { records, action: "create", target, source: ecsLog(owned, attributes, route) };
  if (mode !== "bodymap")
    return { records, action: "create", target, source: plainLog(owned, attributes, mode === "raw") };
  const source = plainValue(owned.tree["body"] as Tree | undefined);
  return isMap(source) ? { records, action: "create", target, source } : { records, problem: NO_MAP };
}

function spanDocument(
  owned: OwnedTree,
  attributes: PlainAttributes,
  route: DocumentRoute,
  config: ElasticsearchConfig,
): BulkDocument {
  const { mode } = config.mapping;
  const target = targetOf(route, attributes, config.traces_dynamic_id.enabled);
  const source = mode === "ecs" ? ecsSpan(owned, attributes, route) : plainSpan(owned, attributes, mode === "raw");
  return { records: [owned.place], action: "create", target, source };
}

interface PointGroup {
  readonly first: OwnedTree;
  readonly attributes: PlainAttributes;
  readonly route: DocumentRoute;
  readonly records: number[];
  readonly values: Map<string, MetricValue>;
}

/** The flag of a data point without a value, which is not stored. */
const NO_RECORDED_VALUE = 1;

/** Data points with the same resource, scope, time and attributes become one document with a field for each metric. */
function* metricDocuments(
  batch: Batch,
  config: ElasticsearchConfig,
  now: number,
): Iterable<BulkDocument | UnfitRecords> {
  let owner: OwnedTree["owner"] | undefined;
  let groups = new Map<string, PointGroup>();
  for (const owned of ownedTrees(batch)) {
    if (owned.owner !== owner) {
      for (const group of groups.values()) yield documentOf(group, config);
      owner = owned.owner;
      groups = new Map();
    }
    if ((Number(owned.tree["flags"] ?? 0) & NO_RECORDED_VALUE) !== 0) continue;
    const problem = addPoint(owned, groups, config, now);
    if (problem !== undefined) yield { records: [owned.place], problem };
  }
  for (const group of groups.values()) yield documentOf(group, config);
}

function addPoint(
  owned: OwnedTree,
  groups: Map<string, PointGroup>,
  config: ElasticsearchConfig,
  now: number,
): string | undefined {
  const { tree: point, metric } = owned;
  const value = metricValue(owned);
  if (value === undefined) return NO_VALUE;
  const attributes = treeAttributes(point);
  const route = routeOf("metrics", attributes, owned.owner, config, now);
  if (route === undefined) return NO_INDEX;
  const name = treeText(metric!["name"]);
  const shared = [route.index, metric!["unit"], point["timeUnixNano"], point["startTimeUnixNano"], attributes];
  const key = jsonText(shared);
  const group = groups.get(key);
  if (group !== undefined && !group.values.has(name)) {
    group.values.set(name, value);
    group.records.push(owned.place);
    return undefined;
  }
  // A metric that occurs twice with the same time and attributes gets a second document.
  const ownKey = group === undefined ? key : `${key}#${groups.size}`;
  groups.set(ownKey, { first: owned, attributes, route, records: [owned.place], values: new Map([[name, value]]) });
  return undefined;
}

function documentOf(group: PointGroup, config: ElasticsearchConfig): BulkDocument {
  const { records, route } = group;
  const templates = [...group.values].map(([name, { template }]) => [`metrics.${name}`, template]);
  const { mode } = config.mapping;
  if (mode !== "otel")
    return { records, action: "create", target: { _index: route.index }, source: flatPoints(group, mode) };
  const target = { _index: route.index, dynamic_templates: Object.fromEntries(templates) };
  return { records, action: "create", target, source: otelPoints(group) };
}

function otelPoints({ first, attributes, route, values }: PointGroup): Record<string, unknown> {
  const { tree: point, metric } = first;
  const start = point["startTimeUnixNano"];
  return {
    "@timestamp": epochMillis(point["timeUnixNano"]),
    start_timestamp: start ? epochMillis(start) : undefined,
    unit: treeText(metric!["unit"]) || undefined,
    data_stream: route.dataStream,
    attributes: withoutRouting(attributes),
    ...ownerFields(first.owner),
    metrics: Object.fromEntries([...values].map(([name, { value }]) => [name, value])),
    _metric_names_hash: nameHash([...values.keys()].sort()),
  };
}

/** Metric data streams require documents of different metrics to differ in a dimension; this hash is that dimension. */
function nameHash(names: readonly string[]): string {
  const bytes = Buffer.from(names.join("\0"));
  return fnv64(FNV64_START, bytes).toString(16);
}

function flatPoints({ first, attributes, route, values }: PointGroup, mode: string): Record<string, unknown> {
  const named = Object.fromEntries([...values].map(([name, { value }]) => [name, value]));
  const time = isoTime(first.tree["timeUnixNano"]);
  if (mode !== "ecs") return finishPlain({ "@timestamp": time, ...named }, first.owner, attributes, mode === "raw");
  return withoutClashes({
    ...ecsOwner(first.owner, route),
    "@timestamp": time,
    ...withoutRouting(attributes),
    ...named,
  });
}
