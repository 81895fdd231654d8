import { aggregatePoints, kindOf, pointsOf } from "#ottl";
import type { Tree } from "../../plugin.js";
import type { MetricFilter, MetricOperation, MetricTransform } from "./config.js";

/** Whether the filter selects the point. */
export function matchesPoint({ labels }: MetricFilter, point: Tree): boolean {
  if (labels.size === 0) return true;
  for (const [name, isWanted] of labels) if (!isWanted(labelText(point, name) ?? "")) return false;
  return true;
}

/**
 * Applies the operations of a transform to a metric. Returns undefined when no data point is left. If an update selects
 * only some of the points, it skips operations that rename the metric or change which points exist.
 */
export function transformMetric(metric: Tree, transform: MetricTransform): Tree | undefined {
  const { filter, action, newName, operations } = transform;
  const isWhole = action !== "update" || pointsOf(metric).every((point) => matchesPoint(filter, point));
  let result = metric;
  if (newName !== "" && isWhole && action !== "combine")
    result = { ...result, name: expandName(filter, newName, nameOf(metric)) };
  for (const operation of operations) {
    if (NEEDS_ALL.has(operation.action) && !isWhole) continue;
    result = applyOperation(result, operation, filter);
  }
  return pointsOf(metric).length === 0 || pointsOf(result).length > 0 ? result : undefined;
}

const NEEDS_ALL: ReadonlySet<MetricOperation["action"]> = new Set([
  "aggregate_labels",
  "aggregate_label_values",
  "add_label",
  "delete_label_value",
]);

export function nameOf(metric: Tree): string {
  return (metric["name"] as string | undefined) ?? "";
}

/** Returns `template` with the matched groups of the pattern filled in. */
export function expandName({ pattern }: MetricFilter, template: string, name: string): string {
  return (pattern === undefined ? "" : expand(pattern, template, name)) || template;
}

function expand(pattern: NonNullable<MetricFilter["pattern"]>, template: string, text: string): string {
  let first: string | undefined;
  pattern.replaceAll(text, template, (replaced) => {
    first ??= replaced;
    return replaced;
  });
  return first ?? "";
}

/** Returns the values of the pattern's groups, by name, or by `$1` and so on if they have no names. */
export function submatches({ pattern }: MetricFilter, name: string): ReadonlyMap<string, string> {
  if (pattern === undefined) return new Map();
  if (pattern.groupNames.length > 0) return new Map(Object.entries(pattern.groups(name) ?? {}));
  const numbered = Array.from({ length: MAX_GROUPS }, (_, i) => `$${i + 1}`);
  return new Map(numbered.map((group) => [group, expand(pattern, group, name)] as const));
}

const MAX_GROUPS = 9;

function applyOperation(metric: Tree, operation: MetricOperation, filter: MetricFilter): Tree {
  const isSelected = (point: Tree) => matchesPoint(filter, point);
  switch (operation.action) {
    case "add_label":
      return mapPoints(metric, (point) => addLabel(point, operation.newLabel, operation.newValue));
    case "update_label":
      return mapPoints(metric, (point) => (isSelected(point) ? updateLabel(point, operation) : point));
    case "delete_label_value":
      return mapPoints(metric, (point) =>
        labelText(point, operation.label) === operation.labelValue ? undefined : point,
      );
    case "toggle_scalar_data_type":
      return isScalar(metric) ? mapPoints(metric, (point) => (isSelected(point) ? toggleType(point) : point)) : metric;
    case "experimental_scale_value":
      return mapPoints(metric, (point) => (isSelected(point) ? scalePoint(metric, point, operation.scale) : point));
    case "aggregate_labels":
      return aggregatePoints(metric, operation.aggregation, operation.labelSet) ?? metric;
    case "aggregate_label_values": {
      const renamed = mapPoints(metric, (point) =>
        operation.aggregatedValues.has(labelText(point, operation.label) ?? NO_LABEL)
          ? setLabel(point, operation.label, operation.newValue)
          : point,
      );
      return aggregatePoints(renamed, operation.aggregation, undefined) ?? renamed;
    }
  }
}

/** Stands for a missing label; no configured value equals it. */
const NO_LABEL = "\u0000";

/** Replaces every point by the result of `change`. Undefined removes the point. */
export function mapPoints(metric: Tree, change: (point: Tree) => Tree | undefined): Tree {
  const kind = kindOf(metric);
  if (kind === undefined) return metric;
  const data = metric[kind] as Tree;
  return { ...metric, [kind]: { ...data, dataPoints: pointsOf(metric).flatMap((point) => change(point) ?? []) } };
}

function attributesOf(point: Tree): Tree[] {
  return (point["attributes"] as Tree[] | undefined) ?? [];
}

/** Returns the text of an attribute, "" if it is not a string, and undefined if there is no such attribute. */
function labelText(point: Tree, name: string): string | undefined {
  const found = attributesOf(point).find(({ key }) => key === name);
  return found === undefined
    ? undefined
    : (((found["value"] as Tree | undefined)?.["stringValue"] as string | undefined) ?? "");
}

function addLabel(point: Tree, key: string, value: string): Tree {
  return labelText(point, key) === undefined ? setLabel(point, key, value) : point;
}

export function setLabel(point: Tree, key: string, value: string): Tree {
  const label = { key, value: { stringValue: value } };
  const all = attributesOf(point);
  const isThere = all.some((one) => one["key"] === key);
  return { ...point, attributes: isThere ? all.map((one) => (one["key"] === key ? label : one)) : [...all, label] };
}

function updateLabel(point: Tree, { label, newLabel, newValues }: MetricOperation): Tree {
  const text = labelText(point, label);
  if (text === undefined) return point;
  const value = newValues.get(text);
  const others = attributesOf(point).filter(({ key }) => newLabel === "" || newLabel === label || key !== newLabel);
  const attributes = others.map((one) => {
    if (one["key"] !== label) return one;
    const renamed = newLabel === "" ? one : { ...one, key: newLabel };
    return value === undefined ? renamed : { ...renamed, value: { stringValue: value } };
  });
  return { ...point, attributes };
}

function isScalar(metric: Tree): boolean {
  return metric["gauge"] !== undefined || metric["sum"] !== undefined;
}

function toggleType({ asInt, asDouble, ...point }: Tree): Tree {
  if (asInt !== undefined) return { ...point, asDouble: Number(asInt) };
  return asDouble === undefined ? point : { ...point, asInt: toInteger(asDouble as number) };
}

function scalePoint(metric: Tree, point: Tree, by: number): Tree {
  const scaled = scaleNumbers(point, by);
  if (metric["exponentialHistogram"] === undefined) return metric["summary"] === undefined ? scaled : point;
  // Counts and scale stay the same: every bucket moves by the same number of places.
  const move = (side: string): Tree => {
    const buckets = point[side] as Tree | undefined;
    if (((buckets?.["bucketCounts"] as unknown[] | undefined) ?? []).length === 0) return {};
    return {
      [side]: { ...buckets, offset: movedOffset(Number(point["scale"] ?? 0), Number(buckets!["offset"] ?? 0), by) },
    };
  };
  return { ...scaled, ...move("positive"), ...move("negative") };
}

function scaleNumbers(point: Tree, by: number): Tree {
  const scaled: Tree = { ...point };
  for (const name of ["asDouble", "sum", "min", "max", "zeroThreshold"]) {
    if (typeof point[name] === "number") scaled[name] = (point[name] as number) * by;
  }
  if (point["asInt"] !== undefined) scaled["asInt"] = toInteger(Number(point["asInt"]) * by);
  const bounds = point["explicitBounds"] as number[] | undefined;
  if (bounds !== undefined) scaled["explicitBounds"] = bounds.map((bound) => bound * by);
  const exemplars = point["exemplars"] as Tree[] | undefined;
  if (exemplars !== undefined) scaled["exemplars"] = exemplars.map((exemplar) => scaleNumbers(exemplar, by));
  return scaled;
}

/** Returns the new index of the bucket at `offset`: the bucket that the middle of its range lies in after scaling. */
function movedOffset(scale: number, offset: number, by: number): number {
  const base = 2 ** (2 ** -scale);
  const middle = ((base ** offset + base ** (offset + 1)) / 2) * by;
  return Math.ceil(Math.log2(middle) * 2 ** scale) - 1;
}

function toInteger(value: number): bigint {
  return Number.isFinite(value) ? BigInt.asIntN(64, BigInt(Math.trunc(value))) : 0n;
}
