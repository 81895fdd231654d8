import fc from "fast-check";
import { asDouble, DoubleValue, type Value } from "../../../src/runtime/otlp/bytes/value.js";
import type { AnyRecordView } from "../../../src/runtime/otlp/edit/edit-records.js";
import type { Tree, TreeValue } from "../../../src/runtime/otlp/json/tree.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";
import type { Attributes } from "../../../src/runtime/otlp/views/attributes.js";
import { blob, double, int64, key, text, uint32, uint64 } from "./telemetry-arbitraries.js";
import { DATA_KINDS, listOf, type Placed, recordsOf } from "./trees.js";

/** One change of one record, done to its view or to its tree. */
export interface Change {
  readonly name: string;
  toView(view: AnyRecordView): void;
  toTree(place: Placed): void;
}

/** An edit of a record. */
export interface Edit {
  readonly drop: boolean;
  readonly changes: readonly Change[];
}

const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    text,
    fc.constant(null),
    fc.boolean(),
    int64,
    double,
    fc.maxSafeInteger(),
    double.map(asDouble),
    fc.integer().map(asDouble),
    blob,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3 }),
  ),
})).value;

/** Applies the edits to the tree in place: the n-th to the n-th record. A container that loses all its records goes. */
export function editTree(signal: Signal, tree: Tree, edits: readonly Edit[]): void {
  const dropped = new Set<Tree>();
  recordsOf(signal, tree).forEach((place, index) => {
    const edit = edits[index % edits.length]!;
    for (const change of edit.changes) change.toTree(place);
    if (edit.drop) dropped.add(place.record);
  });
  prune(tree, dropped);
}

/** Takes the dropped records out, and what has lost everything; true when nothing is left that was there. */
function prune(tree: Tree, dropped: ReadonlySet<Tree>): boolean {
  let [kept, lost] = [0, 0];
  for (const name of CONTAINERS) {
    const content = tree[name];
    if (content === undefined) continue;
    const items = (Array.isArray(content) ? content : [content]) as Tree[];
    const left = items.filter((item) => !dropped.has(item) && !prune(item, dropped));
    lost += items.length - left.length;
    kept += left.length;
    if (Array.isArray(content)) tree[name] = left;
    else if (left.length === 0) delete tree[name];
  }
  return lost > 0 && kept === 0;
}

const CONTAINERS = [
  ...["resourceLogs", "scopeLogs", "logRecords", "resourceSpans", "scopeSpans", "spans"],
  ...["resourceMetrics", "scopeMetrics", "metrics", "dataPoints", ...DATA_KINDS],
];

export function edits(signal: Signal): fc.Arbitrary<Edit[]> {
  const change = fc.oneof(...COMMON, ...OWN[signal]);
  const edit = fc.record({
    drop: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    changes: fc.array(change, { maxLength: 4 }),
  });
  return fc.array(edit, { minLength: 1, maxLength: 6 });
}

type Bearer = { readonly attributes: Attributes };

function attributeChange(
  name: string,
  ofView: (view: AnyRecordView) => Bearer | undefined,
  list: (place: Placed) => Slot,
) {
  return fc.record({ key, value: fc.option(value, { nil: undefined }) }).map(
    ({ key, value }): Change => ({
      name: `${name} ${key}`,
      toView: (view) => {
        const attributes = ofView(view)?.attributes;
        if (value === undefined) attributes?.delete(key);
        else attributes?.set(key, value);
      },
      toTree: (place) => {
        const slot = list(place);
        if (slot !== undefined) changeAttribute(slot, key, value);
      },
    }),
  );
}

/** Where a list of attributes is: in the field `name` of a message that may have to be made first. */
type Slot = { readonly owner: Tree; readonly field?: string; readonly name: string } | undefined;

function changeAttribute({ owner, field, name }: NonNullable<Slot>, key: string, value: Value | undefined): void {
  const old = (field === undefined ? owner : (owner[field] ?? {})) as Tree;
  const others = listOf(old, name).filter((item) => (item["key"] ?? "") !== key);
  if (value === undefined && others.length === listOf(old, name).length) return;
  if (value !== undefined) others.push({ key, value: anyValueOf(value) });
  old[name] = others;
  if (field !== undefined) owner[field] = old;
}

/** An AnyValue as a tree. */
function anyValueOf(value: Value): Tree {
  if (value === null) return {};
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "bigint") return { intValue: value };
  if (value instanceof DoubleValue) return { doubleValue: value.double };
  if (value instanceof Uint8Array) return { bytesValue: value };
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && !Object.is(value, -0) ? { intValue: BigInt(value) } : { doubleValue: value };
  }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValueOf) } };
  const values = Object.entries(value).map(([key, item]) => ({ key, value: anyValueOf(item) }));
  return { kvlistValue: { values } };
}

/** Sets property `name` of what `ofView` gives; in the tree the field of the same name, or `toTree`'s. */
function fieldChange<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  ofView: (view: AnyRecordView) => object | undefined = (view) => view,
  ofTree: (place: Placed) => Tree | undefined = (place) => place.record,
  inTree: (value: T) => TreeValue = (value) => value as TreeValue,
): fc.Arbitrary<Change> {
  return arbitrary.map((content) => ({
    name,
    toView: (view) => {
      const target = ofView(view);
      if (target !== undefined) Object.assign(target, { [name]: content });
    },
    toTree: (place) => {
      const target = ofTree(place);
      if (target !== undefined) target[name] = inTree(content);
    },
  }));
}

const hexId = (size: number) =>
  fc.uint8Array({ minLength: size, maxLength: size }).map((id) => Buffer.from(id).toString("hex"));
const ofHex = (id: string) => new Uint8Array(Buffer.from(id, "hex"));
const asRecord = (view: AnyRecordView) => view;
const inRecord = (place: Placed) => place.record;
const scopeOf = (place: Placed) => (place.scopeContainer["scope"] ??= {}) as Tree;
const enumNumber = fc.integer({ min: -2, max: 30 });

const COMMON: fc.Arbitrary<Change>[] = [
  attributeChange("attribute", asRecord, (place) => ({ owner: place.record, name: "attributes" })),
  attributeChange("attribute", asRecord, (place) => ({ owner: place.record, name: "attributes" })),
  attributeChange(
    "resource",
    (view) => view.resource,
    (place) => ({
      owner: place.resourceContainer,
      field: "resource",
      name: "attributes",
    }),
  ),
  attributeChange(
    "scope",
    (view) => view.scope,
    (place) => ({
      owner: place.scopeContainer,
      field: "scope",
      name: "attributes",
    }),
  ),
  fieldChange("name", text, (view) => view.scope, scopeOf),
  fieldChange("version", text, (view) => view.scope, scopeOf),
  fieldChange("flags", uint32),
];

const eventOf = (view: AnyRecordView) => (view.signal === "traces" ? view.events[1] : undefined);
const linkOf = (view: AnyRecordView) => (view.signal === "traces" ? view.links[0] : undefined);
const metricOf = (view: AnyRecordView) => (view.signal === "metrics" ? view.metric : undefined);
const inMetric = (place: Placed) => place.metric;
const slot = (owner: Tree | undefined, name: string): Slot => (owner === undefined ? undefined : { owner, name });

/** Drops are written as a mark that `meaning` of a tree never sees: the item is taken out at the end. */
function dropChange(name: "events" | "links"): fc.Arbitrary<Change> {
  return fc.constant({
    name: `drop ${name}[2]`,
    toView: (view) => (view.signal === "traces" ? view[name][2]?.drop() : undefined),
    toTree: (place) => {
      const items = listOf(place.record, name);
      if (items.length > 2) place.record[name] = items.slice(0, 2);
    },
  });
}

const OWN: Record<Signal, fc.Arbitrary<Change>[]> = {
  logs: [
    fieldChange("timeUnixNano", uint64),
    fieldChange("observedTimeUnixNano", uint64),
    fieldChange("severityNumber", enumNumber),
    fieldChange("severityText", text),
    fieldChange("eventName", text),
    fieldChange("body", value, asRecord, inRecord, anyValueOf),
    fieldChange("traceId", hexId(16), asRecord, inRecord, ofHex),
    fieldChange("spanId", hexId(8), asRecord, inRecord, ofHex),
  ],
  traces: [
    fieldChange("name", text),
    fieldChange("kind", enumNumber),
    fieldChange("traceState", text),
    fieldChange("startTimeUnixNano", uint64),
    fieldChange("endTimeUnixNano", uint64),
    fieldChange("traceId", hexId(16), asRecord, inRecord, ofHex),
    fieldChange("parentSpanId", hexId(8), asRecord, inRecord, ofHex),
    fieldChange("status", fc.record({ code: enumNumber, message: text })),
    attributeChange("event", eventOf, (place) => slot(listOf(place.record, "events")[1], "attributes")),
    attributeChange("link", linkOf, (place) => slot(listOf(place.record, "links")[0], "attributes")),
    fieldChange("name", text, eventOf, (place) => listOf(place.record, "events")[1]),
    fieldChange("timeUnixNano", uint64, eventOf, (place) => listOf(place.record, "events")[1]),
    fieldChange("spanId", hexId(8), linkOf, (place) => listOf(place.record, "links")[0], ofHex),
    fieldChange("traceState", text, linkOf, (place) => listOf(place.record, "links")[0]),
    dropChange("events"),
    dropChange("links"),
  ],
  metrics: [
    fieldChange("startTimeUnixNano", uint64),
    fieldChange("timeUnixNano", uint64),
    fieldChange("name", text, metricOf, inMetric),
    fieldChange("description", text, metricOf, inMetric),
    fieldChange("unit", text, metricOf, inMetric),
    fieldChange("name", text, asRecord, inMetric),
    attributeChange("metric", metricOf, (place) => slot(place.metric, "metadata")),
    fc.oneof(int64, double).map((content) => ({
      name: "value",
      toView: (view) => {
        if (view.signal === "metrics" && (view.type === "gauge" || view.type === "sum")) view.value = content;
      },
      toTree: ({ record, metric }) => {
        if (metric?.["gauge"] === undefined && metric?.["sum"] === undefined) return;
        delete record["asInt"];
        delete record["asDouble"];
        record[typeof content === "bigint" ? "asInt" : "asDouble"] = content;
      },
    })),
  ],
};
