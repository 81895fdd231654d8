import type { Tree } from "#otlp/bytes";
import { goNumber } from "#text/go";
import type { RecordContext } from "../../paths/record-context.js";
import { toDouble } from "../../values/conversions.js";
import { isOttlError, OttlError } from "../../values/error.js";
import type { OttlValue } from "../../values/value.js";
import { type CallArguments, type FunctionSpec, parameters } from "../function-spec.js";
import { DISTRIBUTIONS, type Distribution, explicitCounts } from "./explicit-buckets.js";
import { attributesAndTimes, describedLike, kindOf, pointsOf, TEMPORALITIES } from "./metric-tree.js";
import { exponentialPercentile, histogramPercentile } from "./percentile.js";

/** Editors of histograms and summaries, and the editor that scales every metric. */

/** Creates a sum from one number of each point of the data point's summary. */
function summaryToSum(args: CallArguments, suffix: string, number: (point: Tree) => Tree) {
  const temporality = args.literalText("string_agg_temp");
  const isMonotonic = args.literalBool("monotonic");
  const ending = args.literalText("suffix", suffix);
  if (!Object.hasOwn(TEMPORALITIES, temporality))
    args.reject("string_agg_temp", 'the temporality is "delta" or "cumulative"');
  return (ctx: RecordContext) => {
    const metric = ctx.metricTree();
    if (kindOf(metric) !== "summary") return null;
    const dataPoints = pointsOf(metric).map((point) => ({ ...attributesAndTimes(point), ...number(point) }));
    const sum = { aggregationTemporality: TEMPORALITIES[temporality]!, isMonotonic, dataPoints };
    ctx.addMetric({ ...describedLike(metric, ending), sum });
    return null;
  };
}

const SUMMARY_PARAMETERS = parameters("string_agg_temp: STRING", "monotonic: BOOL", "suffix?: STRING");

function quantilesToGauge(args: CallArguments) {
  const key = args.literalText("attribute_key", "quantile");
  const suffix = args.literalText("suffix", ".quantiles");
  return (ctx: RecordContext) => {
    const metric = ctx.recordTree();
    if (kindOf(metric) !== "summary") return null;
    const dataPoints = pointsOf(metric).flatMap((point) =>
      ((point["quantileValues"] ?? []) as Tree[]).map((quantile) => ({
        ...attributesAndTimes(point),
        attributes: withAttribute(point, key, { doubleValue: quantile["quantile"] ?? 0 }),
        asDouble: quantile["value"] ?? 0,
      })),
    );
    ctx.addMetric({ ...describedLike(metric, suffix), gauge: { dataPoints } });
    return null;
  };
}

function withAttribute(point: Tree, key: string, value: Tree): Tree[] {
  const others = ((point["attributes"] ?? []) as Tree[]).filter((attribute) => attribute["key"] !== key);
  return [...others, { key, value }];
}

function extractPercentile(args: CallArguments) {
  const percentile = args.literalDouble("percentile");
  if (!(percentile > 0 && percentile < 100)) args.reject("percentile", "the percentile is above 0 and below 100");
  const written = goNumber(percentile);
  const suffix = args.literalText("suffix", "") || `_p${written}`;
  return (ctx: RecordContext) => {
    const metric = ctx.recordTree();
    const kind = kindOf(metric);
    if (kind !== "histogram" && kind !== "exponentialHistogram") return null;
    const calculate = kind === "histogram" ? histogramPercentile : exponentialPercentile;
    const dataPoints = pointsOf(metric).flatMap((point) => {
      const value = calculate(point, percentile);
      return value === undefined ? [] : [{ ...attributesAndTimes(point), asDouble: value }];
    });
    if (dataPoints.length === 0) return null;
    const { description, ...described } = describedLike(metric, suffix);
    const fullDescription = description === "" ? `p${written}` : `${String(description)} (p${written})`;
    ctx.addMetric({ ...described, description: fullDescription, gauge: { dataPoints } });
    return null;
  };
}

function toExplicit(args: CallArguments) {
  const distribution = args.literalText("distribution_fn") || "random";
  const bounds = args.literalDoubles("explicit_bounds");
  if (!DISTRIBUTIONS.includes(distribution as Distribution))
    args.reject("distribution_fn", `the distribution is one of ${DISTRIBUTIONS.join(", ")}`);
  if (bounds.length === 0) args.reject("explicit_bounds", "at least one bound is needed");
  return (ctx: RecordContext) => {
    const { exponentialHistogram, metadata: _, ...metric } = ctx.recordTree();
    if (exponentialHistogram === undefined) return null;
    const { aggregationTemporality = 0, dataPoints = [] } = exponentialHistogram as Tree;
    const points = (dataPoints as Tree[]).map((point) => ({
      ...attributesAndTimes(point),
      ...(point["exemplars"] !== undefined && { exemplars: point["exemplars"] }),
      count: point["count"] ?? 0n,
      sum: point["sum"] ?? 0,
      min: point["min"] ?? 0,
      max: point["max"] ?? 0,
      explicitBounds: [...bounds],
      bucketCounts: explicitCounts(point, bounds, distribution as Distribution),
    }));
    ctx.replaceRecord({ ...metric, histogram: { aggregationTemporality, dataPoints: points } });
    return null;
  };
}

const SAME_BOUND = 1e-12;
const METHODS = ["remove_explicit_bound", "limit_buckets"];

/** The bounds and counts without one bound, or with neighbours joined until there are few enough. */
function mergedBuckets(bounds: readonly number[], counts: readonly bigint[], target: number, limit: boolean) {
  if (counts.length !== bounds.length + 1 || counts.length === 1) return undefined;
  if (!limit) {
    const index = bounds.findIndex((bound) => Math.abs(bound - target) < SAME_BOUND);
    if (index < 0) return undefined;
    const joined = counts.with(index + 1, counts[index]! + counts[index + 1]!);
    return { bounds: bounds.toSpliced(index, 1), counts: joined.toSpliced(index, 1) };
  }
  const rises = bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]!);
  if (counts.length <= target || !rises) return undefined;
  const size = Math.ceil(counts.length / target);
  const groups = Array.from({ length: Math.ceil(counts.length / size) }, (_, i) =>
    counts.slice(i * size, (i + 1) * size),
  );
  return {
    bounds: bounds.filter((_, i) => i % size === size - 1),
    counts: groups.map((group) => group.reduce((a, b) => a + b, 0n)),
  };
}

/** A number, also one in text; a bool is 0 or 1. */
function boundOrLimit(target: OttlValue, limit: boolean): number {
  const value = toDouble(target);
  if (value === null) throw new OttlError("merge_histogram_buckets, target_value: expected number, got nil");
  if (limit && !(Number.isInteger(value) && value >= 1))
    throw new OttlError("merge_histogram_buckets: the number of buckets is an integer above 0");
  return value;
}

function mergeBuckets(args: CallArguments) {
  const target = args.any("target_value");
  const method = args.literalText("method", METHODS[0]);
  if (!METHODS.includes(method)) args.reject("method", `the method is ${METHODS.join(" or ")}`);
  const limit = method === "limit_buckets";
  const isNone = args.isListLiteral("target_value") || args.isMapLiteral("target_value");
  const literal = isNone ? [] : args.constant("target_value");
  try {
    if (literal !== undefined) boundOrLimit(literal, limit);
  } catch (error) {
    if (isOttlError(error)) args.reject("target_value", error.message);
    throw error;
  }
  return (ctx: RecordContext) => {
    if (ctx.record.type.name !== "HistogramDataPoint") return null;
    const value = boundOrLimit(target(ctx), limit);
    const point = ctx.recordTree();
    const bounds = (point["explicitBounds"] ?? []) as number[];
    const merged = mergedBuckets(bounds, (point["bucketCounts"] ?? []) as bigint[], value, limit);
    if (merged === undefined) return null;
    ctx.replaceRecord({ ...point, explicitBounds: merged.bounds, bucketCounts: merged.counts });
    return null;
  };
}

/** Integers are multiplied as doubles and truncated. */
function scaledNumber(point: Tree, factor: number): Tree {
  if (point["asInt"] !== undefined) {
    const scaled = Number(point["asInt"]) * factor;
    return { ...point, asInt: BigInt.asIntN(64, BigInt(Number.isFinite(scaled) ? Math.trunc(scaled) : 0)) };
  }
  return point["asDouble"] === undefined ? point : { ...point, asDouble: Number(point["asDouble"]) * factor };
}

function scaledFields(point: Tree, names: readonly string[], factor: number): Tree {
  const changed = names.filter((name) => point[name] !== undefined).map((name) => [name, Number(point[name]) * factor]);
  return { ...point, ...Object.fromEntries(changed) };
}

function scaledPoint(kind: string, point: Tree, factor: number): Tree {
  if (kind === "gauge" || kind === "sum") return scaledNumber(point, factor);
  if (kind === "summary") {
    const quantileValues = ((point["quantileValues"] ?? []) as Tree[]).map((one) =>
      scaledFields(one, ["value"], factor),
    );
    return { ...scaledFields(point, ["sum"], factor), quantileValues };
  }
  const explicitBounds = ((point["explicitBounds"] ?? []) as number[]).map((bound) => bound * factor);
  const exemplars = ((point["exemplars"] ?? []) as Tree[]).map((exemplar) => scaledNumber(exemplar, factor));
  return { ...scaledFields(point, ["sum", "min", "max"], factor), explicitBounds, exemplars };
}

function scaleMetric(args: CallArguments) {
  const factor = args.literalDouble("multiplier");
  const unit = args.has("unit") ? args.text("unit") : undefined;
  return (ctx: RecordContext) => {
    const metric = ctx.recordTree();
    const kind = kindOf(metric);
    if (kind === undefined || kind === "exponentialHistogram")
      throw new OttlError(
        `scale_metric cannot scale ${kind === undefined ? "a metric without data" : "exponential histograms"}`,
      );
    const dataPoints = pointsOf(metric).map((point) => scaledPoint(kind, point, factor));
    const data = { ...(metric[kind] as Tree), dataPoints };
    ctx.replaceRecord({ ...metric, ...(unit !== undefined && { unit: unit(ctx) }), [kind]: data });
    return null;
  };
}

export const HISTOGRAM_EDITORS: readonly FunctionSpec[] = [
  {
    name: "convert_summary_count_val_to_sum",
    parameters: SUMMARY_PARAMETERS,
    returns: "",
    summary: "Adds a sum of the counts of the data point's summary, named after it with `_count`.",
    example: 'convert_summary_count_val_to_sum("delta", true)',
    contexts: ["datapoint"],
    compile: (args) =>
      summaryToSum(args, "_count", (point) => ({ asInt: BigInt.asIntN(64, BigInt((point["count"] as bigint) ?? 0n)) })),
  },
  {
    name: "convert_summary_sum_val_to_sum",
    parameters: SUMMARY_PARAMETERS,
    returns: "",
    summary: "Adds a sum of the sums of the data point's summary, named after it with `_sum`.",
    example: 'convert_summary_sum_val_to_sum("delta", true)',
    contexts: ["datapoint"],
    compile: (args) => summaryToSum(args, "_sum", (point) => ({ asDouble: point["sum"] ?? 0 })),
  },
  {
    name: "convert_summary_quantile_val_to_gauge",
    parameters: parameters("attribute_key?: STRING", "suffix?: STRING"),
    returns: "",
    summary:
      "Adds a gauge of the quantiles of a summary, named after it with `.quantiles`; the attribute `quantile` tells them apart.",
    example: 'convert_summary_quantile_val_to_gauge("quantile", ".quantiles")',
    contexts: ["metric"],
    compile: quantilesToGauge,
  },
  {
    name: "convert_exponential_histogram_to_histogram",
    parameters: parameters("distribution_fn: STRING", "explicit_bounds: DOUBLE[]"),
    returns: "",
    summary: `Converts an exponential histogram to one with these bounds. A bucket that spans a bound is assigned by its upper end ("upper"), its middle ("midpoint"), evenly ("uniform") or at random ("random"). Negative values are left out.`,
    example: 'convert_exponential_histogram_to_histogram("uniform", [0.0, 10.0, 100.0])',
    contexts: ["metric"],
    compile: toExplicit,
  },
  {
    name: "extract_percentile_metric",
    parameters: parameters("percentile: DOUBLE", "suffix?: STRING"),
    returns: "",
    summary:
      "Adds a gauge with a percentile of each point of a histogram, named after it with a suffix such as `_p95`.",
    example: "extract_percentile_metric(95.0)",
    contexts: ["metric"],
    compile: extractPercentile,
  },
  {
    name: "merge_histogram_buckets",
    parameters: parameters("target_value: any", "method?: STRING"),
    returns: "",
    summary:
      'Takes the bound `target_value`, a number or what can become one, out of a histogram\'s point, and joins the buckets beside it. With the method "limit_buckets" it joins neighbours until there are at most as many buckets.',
    example: "merge_histogram_buckets(0.5)",
    contexts: ["datapoint"],
    compile: mergeBuckets,
  },
  {
    name: "scale_metric",
    parameters: parameters("multiplier: DOUBLE", "unit?: string"),
    returns: "",
    summary:
      "Multiplies the values of a metric, and sets its unit if one is given. Exponential histograms cannot be scaled.",
    example: 'scale_metric(0.001, "s")',
    contexts: ["metric"],
    compile: scaleMetric,
  },
];
