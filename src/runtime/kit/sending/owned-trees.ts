import type { Batch } from "../../telemetry/batch.js";
import type { Signal } from "../../telemetry/bytes/signal.js";
import { decodeTree, type Tree } from "../../telemetry/json/tree.js";
import { type KeyValueTree, plainObject } from "../messages/any-value.js";

/** What records share: read once for all that have it. */
export interface TreeOwner {
  readonly resource: PlainAttributes;
  readonly resourceUrl: string;
  readonly resourceDropped: number;
  readonly scope: Tree;
  readonly scopeName: string;
  readonly scopeVersion: string;
  readonly scopeAttributes: PlainAttributes;
  readonly scopeUrl: string;
  /** About how long the resource and the scope are as text: for those who repeat them with every record. */
  readonly length: number;
}

/** A log record, span or data point as a tree, with its place in the batch. */
export interface OwnedTree {
  readonly place: number;
  readonly tree: Tree;
  readonly owner: TreeOwner;
  /** Of a data point: its metric, and which of a metric's kinds it is. */
  readonly metric?: Tree;
  readonly kind?: MetricKindName;
}

export type PlainAttributes = Readonly<Record<string, unknown>>;

const METRIC_KINDS = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] as const;
export type MetricKindName = (typeof METRIC_KINDS)[number];

const LISTS: Readonly<Record<Signal, readonly [resources: string, scopes: string, records: string]>> = {
  logs: ["resourceLogs", "scopeLogs", "logRecords"],
  traces: ["resourceSpans", "scopeSpans", "spans"],
  metrics: ["resourceMetrics", "scopeMetrics", "metrics"],
};

/** The records of a batch in their order: log records, spans, data points. */
export function* ownedTrees(batch: Batch): Iterable<OwnedTree> {
  const [resources, scopes, records] = LISTS[batch.signal];
  let place = 0;
  for (const container of treesIn(decodeTree(batch), resources)) {
    const resource = treeAttributes((container["resource"] ?? {}) as Tree);
    for (const scoped of treesIn(container, scopes)) {
      const owner = ownerOf(container, resource, scoped);
      for (const tree of treesIn(scoped, records)) {
        if (batch.signal !== "metrics") yield { place: place++, tree, owner };
        else
          for (const [kind, point] of pointsIn(tree)) yield { place: place++, tree: point, owner, metric: tree, kind };
      }
    }
  }
}

function* pointsIn(metric: Tree): Iterable<[MetricKindName, Tree]> {
  const kind = METRIC_KINDS.find((name) => metric[name] !== undefined);
  if (kind === undefined) return;
  for (const point of treesIn(metric[kind] as Tree, "dataPoints")) yield [kind, point];
}

function ownerOf(container: Tree, resource: PlainAttributes, scoped: Tree): TreeOwner {
  const scope = (scoped["scope"] ?? {}) as Tree;
  const scopeAttributes = treeAttributes(scope);
  return {
    resource,
    resourceUrl: treeText(container["schemaUrl"]),
    resourceDropped: Number((container["resource"] as Tree | undefined)?.["droppedAttributesCount"] ?? 0),
    scope,
    scopeName: treeText(scope["name"]),
    scopeVersion: treeText(scope["version"]),
    scopeAttributes,
    scopeUrl: treeText(scoped["schemaUrl"]),
    length: lengthOf(resource) + lengthOf(scopeAttributes),
  };
}

function lengthOf(attributes: PlainAttributes): number {
  return JSON.stringify(attributes, (_key, value) => (typeof value === "bigint" ? String(value) : value)).length;
}

/** The attributes of a message as plain values. */
export function treeAttributes(message: Tree, name = "attributes"): PlainAttributes {
  return plainObject(message[name] as unknown as KeyValueTree[]);
}

export function treesIn(tree: Tree, name: string): readonly Tree[] {
  return (tree[name] ?? []) as readonly Tree[];
}

/** A text of a tree; empty when there is none. */
export function treeText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An id of a tree in hex; empty when there is none. */
export function treeHex(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : "";
}

/** When a log record says it happened, or else was seen; 0 when it says neither. */
export function logTime(log: Tree): bigint {
  const nanos = log["timeUnixNano"] || log["observedTimeUnixNano"];
  return typeof nanos === "bigint" ? nanos : 0n;
}

/**
 * Sorts records into requests of those that have one key, each cut where it would come to more than `maxLength`: a record takes
 * its share of the batch, and what it repeats of its owner. `send` is called when it is the request's turn.
 */
export function cutByKey<Key extends string>(
  batch: Batch,
  maxLength: number,
  keyOf: (owned: OwnedTree) => Key,
): { readonly key: Key; readonly members: readonly OwnedTree[] }[] {
  const meanLength = Math.ceil(batch.byteLength / Math.max(batch.count, 1));
  const open = new Map<Key, { key: Key; members: OwnedTree[]; length: number }>();
  const groups: { key: Key; members: OwnedTree[]; length: number }[] = [];
  for (const owned of ownedTrees(batch)) {
    const key = keyOf(owned);
    let group = open.get(key);
    if (group === undefined || group.length > maxLength) {
      group = { key, members: [], length: 0 };
      open.set(key, group);
      groups.push(group);
    }
    group.members.push(owned);
    group.length += meanLength + owned.owner.length;
  }
  return groups;
}
