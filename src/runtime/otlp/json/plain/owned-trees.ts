import type { Batch } from "../../batch.js";
import { decodeTree, type Tree } from "../tree.js";
import { type KeyValueTree, plainObject } from "./plain-value.js";
import { type RecordTree, recordTrees, type SharedTrees } from "./record-trees.js";

/** The resource and scope that records share, read once for all of them. */
export interface TreeOwner {
  readonly resource: PlainAttributes;
  readonly resourceUrl: string;
  readonly resourceDropped: number;
  readonly scope: Tree;
  readonly scopeName: string;
  readonly scopeVersion: string;
  readonly scopeAttributes: PlainAttributes;
  readonly scopeUrl: string;
  /** The approximate length of resource and scope as text, for formats that repeat them with every record. */
  readonly length: number;
}

/** A log record, span or data point as a tree, with its owners. */
export interface OwnedTree {
  readonly place: number;
  readonly tree: Tree;
  readonly owner: TreeOwner;
  /** For a data point: its metric, and the metric's kind. */
  readonly metric?: Tree;
  readonly kind?: MetricKindName;
}

export type PlainAttributes = Readonly<Record<string, unknown>>;

const METRIC_KINDS = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] as const;
export type MetricKindName = (typeof METRIC_KINDS)[number];

/**
 * The records of a batch in order: log records, spans, data points. The tree of a log record or span is decoded again
 * after another one was.
 */
export function* ownedTrees(batch: Batch): Iterable<OwnedTree> {
  let place = 0;
  if (batch.signal === "metrics") {
    for (const { shared, owner } of metricScopes(batch)) {
      for (const metric of treesIn(shared.scoped, "metrics"))
        for (const [kind, tree] of pointsIn(metric)) yield { place: place++, tree, owner, metric, kind };
    }
    return;
  }
  yield* ownedRecords(batch);
}

/** The same for log records or spans only, with their places in the bytes of the batch. */
export function* ownedRecords(batch: Batch): Iterable<OwnedRecord> {
  let place = 0;
  let known: SharedTrees | undefined;
  let owner: TreeOwner | undefined;
  for (const { shared, record } of recordTrees(batch)) {
    if (shared !== known || owner === undefined) {
      owner = ownerOf(shared, shared.container === known?.container ? owner?.resource : undefined);
      known = shared;
    }
    yield new OwnedRecord(place++, record, owner);
  }
}

/** A log record or span, which is decoded only if `tree` is asked for. */
class OwnedRecord implements OwnedTree {
  readonly place: number;
  readonly owner: TreeOwner;
  private readonly record: RecordTree;

  constructor(place: number, record: RecordTree, owner: TreeOwner) {
    this.place = place;
    this.record = record;
    this.owner = owner;
  }

  get tree(): Tree {
    return this.record.tree;
  }

  get start(): number {
    return this.record.start;
  }

  get end(): number {
    return this.record.end;
  }
}

function* metricScopes(batch: Batch): Iterable<{ shared: SharedTrees; owner: TreeOwner }> {
  for (const container of treesIn(decodeTree(batch), "resourceMetrics")) {
    const resource = treeAttributes((container["resource"] ?? {}) as Tree);
    for (const scoped of treesIn(container, "scopeMetrics"))
      yield { shared: { container, scoped }, owner: ownerOf({ container, scoped }, resource) };
  }
}

function* pointsIn(metric: Tree): Iterable<[MetricKindName, Tree]> {
  const kind = METRIC_KINDS.find((name) => metric[name] !== undefined);
  if (kind === undefined) return;
  for (const point of treesIn(metric[kind] as Tree, "dataPoints")) yield [kind, point];
}

function ownerOf(
  { container, scoped }: SharedTrees,
  resource = treeAttributes((container["resource"] ?? {}) as Tree),
): TreeOwner {
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

/** A text of a tree; empty if there is none. */
export function treeText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An id of a tree in hex; empty if there is none. */
export function treeHex(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : "";
}

/** The time of a log record, or else its observed time; 0 if it has neither. */
export function logTime(log: Tree): bigint {
  const nanos = log["timeUnixNano"] || log["observedTimeUnixNano"];
  return typeof nanos === "bigint" ? nanos : 0n;
}

/**
 * Groups records by key and starts a new group when one exceeds `maxLength`. A record counts with its average share of
 * the batch plus the length of its owner, which is repeated.
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
