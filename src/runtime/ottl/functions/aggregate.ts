import type { Tree } from "../../telemetry/tree.js";
import { OttlError } from "../error.js";

export const AGGREGATIONS = ["sum", "max", "min", "mean", "median", "count"] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/**
 * The metric with its points aggregated over what is left of their attributes (all of them when `kept` is undefined);
 * undefined when nothing changes.
 */
export function aggregatePoints(
  metric: Tree,
  how: Aggregation,
  kept: ReadonlySet<string> | undefined,
): Tree | undefined {
  for (const kind of ["gauge", "sum", "histogram", "exponentialHistogram"]) {
    const data = metric[kind] as Tree | undefined;
    const points = data?.["dataPoints"] as Tree[] | undefined;
    if (data === undefined || points === undefined) continue;
    const delta = data["aggregationTemporality"] === 1;
    const dataPoints = [...groups(points, kept, delta).values()].map((group) => merged(kind, group, how));
    const changed = dataPoints.length !== points.length || kept !== undefined;
    return changed ? { ...metric, [kind]: { ...data, dataPoints } } : undefined;
  }
  return undefined;
}

function groups(points: readonly Tree[], kept: ReadonlySet<string> | undefined, delta: boolean): Map<string, Tree[]> {
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

/** Points of one time with one set of attributes belong together; of deltas also those that began at one time. */
function identity(point: Tree, delta: boolean): string {
  const attributes = (point["attributes"] as Tree[]).map((a) => stable(a)).sort();
  const start = delta ? stable(point["startTimeUnixNano"]) : "";
  return [
    stable(point["timeUnixNano"]),
    start,
    stable(point["explicitBounds"]),
    stable(point["scale"]),
    ...attributes,
  ].join("\u0000");
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part)) ?? "";
}

function merged(kind: string, group: readonly Tree[], how: Aggregation): Tree {
  const first = group[0]!;
  if (kind === "gauge" || kind === "sum") return { ...withoutNumber(first), ...aggregated(group, how) };
  if (group.length === 1) return first;
  if (how !== "sum") throw new OttlError("aggregate_on_attributes can only sum histograms");
  if (kind === "exponentialHistogram")
    throw new OttlError("aggregate_on_attributes cannot merge exponential histograms");
  return summedHistogram(first, group);
}

function withoutNumber({ asInt: _int, asDouble: _double, ...point }: Tree): Tree {
  return point;
}

function aggregated(group: readonly Tree[], how: Aggregation): Tree {
  const integers = group.every((point) => point["asDouble"] === undefined);
  if (how === "count") return integers ? { asInt: BigInt(group.length) } : { asDouble: group.length };
  if (integers) {
    const numbers = group
      .map((point) => (point["asInt"] as bigint | undefined) ?? 0n)
      .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    return { asInt: BigInt.asIntN(64, ofIntegers(numbers, how)) };
  }
  const numbers = group.map((point) => Number(point["asDouble"] ?? point["asInt"] ?? 0)).sort((a, b) => a - b);
  return { asDouble: ofDoubles(numbers, how) };
}

function ofIntegers(sorted: readonly bigint[], how: Aggregation): bigint {
  const sum = sorted.reduce((a, b) => a + b, 0n);
  const middle = sorted.length >> 1;
  switch (how) {
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

function ofDoubles(sorted: readonly number[], how: Aggregation): number {
  const sum = sorted.reduce((a, b) => a + b, 0);
  const middle = sorted.length >> 1;
  switch (how) {
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

function summedHistogram(first: Tree, group: readonly Tree[]): Tree {
  const total = { ...first };
  const all = (name: string) => group.flatMap((point) => (point[name] === undefined ? [] : [point[name]]));
  const numbers = (name: string) => all(name) as number[];
  total["count"] = (all("count") as bigint[]).reduce((a, b) => a + b, 0n);
  if (numbers("sum").length > 0) total["sum"] = numbers("sum").reduce((a, b) => a + b, 0);
  if (numbers("min").length > 0) total["min"] = Math.min(...numbers("min"));
  if (numbers("max").length > 0) total["max"] = Math.max(...numbers("max"));
  const counts = all("bucketCounts") as bigint[][];
  if (counts.length > 0)
    total["bucketCounts"] = counts[0]!.map((_, i) => counts.reduce((a, list) => a + (list[i] ?? 0n), 0n));
  return total;
}
