import type { OwnedTree } from "#otlp/json";
import type { Tree } from "../../../plugin.js";

/** The value of a data point in a document, and the name of the template by which Elasticsearch maps it. */
export interface MetricValue {
  readonly value: unknown;
  readonly template: string;
}

/**
 * Returns undefined for values that Elasticsearch cannot store: NaN, the infinities, and buckets that do not match
 * their bounds.
 */
export function metricValue({ tree: point, kind, metric }: OwnedTree): MetricValue | undefined {
  switch (kind) {
    case "gauge":
    case "sum":
      return numberValue(point, kind === "sum" ? (metric!["sum"] as Tree) : undefined);
    case "summary":
      return { value: { sum: point["sum"] ?? 0, value_count: Number(point["count"] ?? 0) }, template: "summary" };
    case "histogram":
      return bucketsValue(explicitBuckets(point));
    default:
      return bucketsValue(exponentialBuckets(point));
  }
}

const CUMULATIVE = 2;

function numberValue(point: Tree, sum: Tree | undefined): MetricValue | undefined {
  const { asDouble, asInt } = point;
  const isCounter = sum?.["isMonotonic"] === true && sum["aggregationTemporality"] === CUMULATIVE;
  const name = isCounter ? "counter" : "gauge";
  if (asInt !== undefined) return { value: Number(asInt), template: `${name}_long` };
  if (typeof asDouble !== "number" || !Number.isFinite(asDouble)) return undefined;
  return { value: asDouble, template: `${name}_double` };
}

type BucketPoints = { readonly counts: number[]; readonly values: number[] };

function bucketsValue(buckets: BucketPoints | undefined): MetricValue | undefined {
  return buckets === undefined ? undefined : { value: buckets, template: "histogram" };
}

/**
 * Represents each bucket by its middle. The outer buckets have only one bound. The last bucket is represented by that
 * bound, the first by half of it, or by the bound itself if that is not positive.
 */
function explicitBuckets(point: Tree): BucketPoints | undefined {
  const counts = (point["bucketCounts"] ?? []) as readonly (bigint | number)[];
  const bounds = (point["explicitBounds"] ?? []) as readonly number[];
  if (counts.length > 0 && counts.length !== bounds.length + 1) return undefined;
  const buckets: BucketPoints = { counts: [], values: [] };
  if (bounds.length === 0) {
    const count = Number(point["count"] ?? 0);
    if (count > 0) add(buckets, count, Number(point["sum"] ?? 0) / count);
    return buckets;
  }
  for (const [i, count] of counts.entries()) {
    const [below, above] = [bounds[i - 1], bounds[i]];
    if (below === undefined) add(buckets, Number(count), above! > 0 ? above! / 2 : above!);
    else add(buckets, Number(count), above === undefined ? below : below + (above - below) / 2);
  }
  return buckets;
}

/** Does the same for exponential buckets. Negative ones come first, because values must rise. */
function exponentialBuckets(point: Tree): BucketPoints {
  const base = 2 ** (2 ** -Number(point["scale"] ?? 0));
  const buckets: BucketPoints = { counts: [], values: [] };
  const side = (name: string) => {
    const { offset = 0, bucketCounts = [] } = (point[name] ?? {}) as {
      offset?: number;
      bucketCounts?: (bigint | number)[];
    };
    return bucketCounts.map(
      (count, i) => [Number(count), (base ** (offset + i) + base ** (offset + i + 1)) / 2] as const,
    );
  };
  for (const [count, value] of side("negative").reverse()) add(buckets, count, -value);
  add(buckets, Number(point["zeroCount"] ?? 0), 0);
  for (const [count, value] of side("positive")) add(buckets, count, value);
  return buckets;
}

function add({ counts, values }: BucketPoints, count: number, value: number): void {
  if (count === 0 || !Number.isFinite(value)) return;
  counts.push(count);
  values.push(value);
}
