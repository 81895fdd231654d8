import type { Tree } from "#otlp/bytes";
import { toInt } from "../../values/conversions.js";
import { OttlError } from "../../values/error.js";

export const AGGREGATIONS = ["sum", "max", "min", "mean", "median", "count"] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/**
 * The metric with its points aggregated over their remaining attributes (all of them if `kept` is undefined); undefined
 * if nothing changes.
 */
export function aggregatePoints(
  metric: Tree,
  aggregation: Aggregation,
  kept: ReadonlySet<string> | undefined,
): Tree | undefined {
  for (const kind of ["gauge", "sum", "histogram", "exponentialHistogram"]) {
    const data = metric[kind] as Tree | undefined;
    const points = data?.["dataPoints"] as Tree[] | undefined;
    if (data === undefined || points === undefined) continue;
    const delta = data["aggregationTemporality"] === 1;
    const dataPoints = [...groupPoints(points, kept, delta).values()].map((group) =>
      mergePoints(kind, group, aggregation),
    );
    const changed = dataPoints.length !== points.length || kept !== undefined;
    return changed ? { ...metric, [kind]: { ...data, dataPoints } } : undefined;
  }
  return undefined;
}

function groupPoints(
  points: readonly Tree[],
  kept: ReadonlySet<string> | undefined,
  delta: boolean,
): Map<string, Tree[]> {
  const all = new Map<string, Tree[]>();
  for (const point of points) {
    const attributes = ((point["attributes"] ?? []) as Tree[]).filter((a) => kept?.has(String(a["key"] ?? "")) ?? true);
    const trimmed: Tree = { ...point, attributes };
    const key = identity(trimmed, delta);
    const group = all.get(key);
    if (group === undefined) all.set(key, [trimmed]);
    else group.push(trimmed);
  }
  return all;
}

/** Points with the same time and attributes belong together; delta points must also have the same start time. */
function identity(point: Tree, delta: boolean): string {
  const attributes = (point["attributes"] as Tree[]).map((a) => stableText(a)).sort();
  const distribution = point["count"] === undefined ? [] : [point["min"] !== undefined, point["max"] !== undefined];
  const alike = ["timeUnixNano", ...(delta ? ["startTimeUnixNano"] : []), "explicitBounds", "scale"];
  if (distribution.length > 0) alike.push("flags");
  return [...alike.map((name) => stableText(point[name])), ...distribution, ...attributes].join("\u0000");
}

function stableText(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part)) ?? "";
}

function mergePoints(kind: string, group: readonly Tree[], aggregation: Aggregation): Tree {
  const first = { ...group[0]!, ...earliestStart(group) };
  if (group.length === 1) return first;
  if (kind === "gauge" || kind === "sum") return { ...withoutNumber(first), ...aggregateNumbers(group, aggregation) };
  return sumHistograms(
    kind,
    first,
    group.filter((point, i) => i === 0 || point["count"]),
  );
}

function earliestStart(group: readonly Tree[]): Tree {
  const starts = group.map((point) => (point["startTimeUnixNano"] as bigint | undefined) ?? 0n);
  const earliest = starts.reduce((a, b) => (b < a ? b : a));
  return earliest === (starts[0] ?? 0n) ? {} : { startTimeUnixNano: earliest };
}

function withoutNumber({ asInt: _int, asDouble: _double, ...point }: Tree): Tree {
  return point;
}

/** The value of the merged point, in the type of the first point. */
function aggregateNumbers(group: readonly Tree[], aggregation: Aggregation): Tree {
  const isDouble = group[0]!["asDouble"] !== undefined;
  if (aggregation === "count") return isDouble ? { asDouble: group.length } : { asInt: BigInt(group.length) };
  if (isDouble) {
    const numbers = group.map((point) => Number(point["asDouble"] ?? point["asInt"] ?? 0)).sort((a, b) => a - b);
    return { asDouble: aggregateDoubles(numbers, aggregation) };
  }
  const numbers = group.map(integerOf).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return { asInt: BigInt.asIntN(64, aggregateIntegers(numbers, aggregation)) };
}

function integerOf(point: Tree): bigint {
  const double = point["asDouble"] as number | undefined;
  return double === undefined ? ((point["asInt"] as bigint | undefined) ?? 0n) : (toInt(double) ?? 0n);
}

function aggregateIntegers(sorted: readonly bigint[], aggregation: Aggregation): bigint {
  const sum = sorted.reduce((a, b) => a + b, 0n);
  const middle = sorted.length >> 1;
  switch (aggregation) {
    case "max":
      return sorted.at(-1)!;
    case "min":
      return sorted[0]!;
    case "mean":
      return sum / BigInt(sorted.length);
    case "median":
      return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2n;
    default:
      return sum;
  }
}

function aggregateDoubles(sorted: readonly number[], aggregation: Aggregation): number {
  const sum = sorted.reduce((a, b) => a + b, 0);
  const middle = sorted.length >> 1;
  switch (aggregation) {
    case "max":
      return sorted.at(-1)!;
    case "min":
      return sorted[0]!;
    case "mean":
      return sum / sorted.length;
    case "median":
      return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
    default:
      return sum;
  }
}

/**
 * Merges histograms with the same bounds or scale into one. There is only one way to merge them, whatever the function.
 */
function sumHistograms(kind: string, first: Tree, group: readonly Tree[]): Tree {
  const total: Tree = { ...first };
  const all = (name: string) => group.flatMap((point) => (point[name] === undefined ? [] : [point[name]]));
  const numbers = (name: string) => all(name) as number[];
  const counts = (name: string) => (all(name) as bigint[]).reduce((a, b) => a + b, 0n);
  total["count"] = counts("count");
  if (numbers("sum").length > 0) total["sum"] = numbers("sum").reduce((a, b) => a + b, 0);
  if (numbers("min").length > 0) total["min"] = numbers("min").reduce((a, b) => Math.min(a, b));
  if (numbers("max").length > 0) total["max"] = numbers("max").reduce((a, b) => Math.max(a, b));
  const exemplars = (all("exemplars") as Tree[][]).flat();
  if (exemplars.length > 0) total["exemplars"] = exemplars;
  if (kind === "histogram") {
    const buckets = all("bucketCounts") as bigint[][];
    if (buckets.length > 0) total["bucketCounts"] = sumLists(buckets);
    return total;
  }
  total["zeroCount"] = counts("zeroCount");
  for (const side of ["positive", "negative"]) {
    const buckets = all(side) as Tree[];
    if (buckets.length > 0) total[side] = sumBuckets(buckets);
  }
  return total;
}

const MAX_BUCKETS = 20_000;

/** Adds buckets of exponential histograms with one scale, each placed by its offset. */
function sumBuckets(all: readonly Tree[]): Tree {
  const filled = all.filter((one) => ((one["bucketCounts"] ?? []) as bigint[]).some((count) => count > 0n));
  if (filled.length === 0) return all[0]!;
  const offsetOf = (one: Tree) => Number(one["offset"] ?? 0);
  const offset = Math.min(...filled.map(offsetOf));
  const shifted = filled.map((one) => {
    if (offsetOf(one) - offset > MAX_BUCKETS)
      throw new OttlError("aggregate_on_attributes: the buckets lie too far apart to be merged");
    return [...new Array<bigint>(offsetOf(one) - offset).fill(0n), ...(one["bucketCounts"] as bigint[])];
  });
  return { offset, bucketCounts: sumLists(shifted) };
}

function sumLists(lists: readonly (readonly bigint[])[]): bigint[] {
  const longest = lists.reduce((a, b) => Math.max(a, b.length), 0);
  return Array.from({ length: longest }, (_, i) => lists.reduce((sum, list) => sum + (list[i] ?? 0n), 0n));
}
