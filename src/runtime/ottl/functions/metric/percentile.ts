import type { Tree } from "#otlp/bytes";
import { OttlError } from "../../values/error.js";

/** Percentiles of histograms, interpolated between the bounds of the observation's bucket. */

const count = (value: unknown) => BigInt((value as bigint | number | undefined) ?? 0);
const countsOf = (data: Tree | undefined) => ((data?.["bucketCounts"] ?? []) as bigint[]).map(count);

function targetOf(point: Tree, percentile: number): bigint {
  return BigInt(Math.ceil(Number(count(point["count"])) * (percentile / 100)));
}

function between(low: number, high: number, ratio: number): number {
  if (!(ratio >= 0 && ratio <= 1)) throw new OttlError("the counts of the histogram's buckets contradict each other");
  return low + ratio * (high - low);
}

/** Percentile of a histogram with explicit bounds; undefined if the point has too little information. */
export function histogramPercentile(point: Tree, percentile: number): number | undefined {
  const counts = countsOf(point);
  const bounds = (point["explicitBounds"] ?? []) as number[];
  const [min, max] = [point["min"], point["max"]] as (number | undefined)[];
  if (count(point["count"]) === 0n || counts.length === 0) return undefined;
  if (counts.length !== bounds.length + 1)
    throw new OttlError("the histogram does not have one bucket more than bounds");
  const target = targetOf(point, percentile);
  if (bounds.length === 0) {
    if (min === undefined || max === undefined) return undefined;
    return between(min, max, Number(target) / Number(counts[0]));
  }
  let before = 0n;
  for (const [i, size] of counts.entries()) {
    if (before + size >= target) {
      const ratio = Number(target - before) / Number(size);
      if (i > 0 && i < bounds.length) return between(bounds[i - 1]!, bounds[i]!, ratio);
      return i === 0 ? inFirst(bounds[0]!, min, ratio) : inLast(bounds[i - 1]!, max, ratio);
    }
    before += size;
  }
  throw new OttlError("the histogram's buckets hold less than its count");
}

/** The first bucket starts at the minimum, or at 0. */
function inFirst(upper: number, min: number | undefined, ratio: number): number {
  if (min !== undefined && min < upper) return between(min, upper, ratio);
  return upper < 0 ? upper : between(0, upper, ratio);
}

function inLast(lower: number, max: number | undefined, ratio: number): number {
  return max === undefined || max <= lower ? lower : between(lower, max, ratio);
}

/** Percentile of an exponential histogram; undefined if it is empty. */
export function exponentialPercentile(point: Tree, percentile: number): number | undefined {
  const [negative, positive] = [point["negative"], point["positive"]] as (Tree | undefined)[];
  const [below, above] = [countsOf(negative), countsOf(positive)];
  const zeros = count(point["zeroCount"]);
  if (count(point["count"]) === 0n || (below.length === 0 && above.length === 0 && zeros === 0n)) return undefined;
  const scale = Number(point["scale"] ?? 0);
  const target = targetOf(point, percentile);
  let before = 0n;
  for (let i = below.length - 1; i >= 0; i--) {
    if (before + below[i]! >= target)
      return -inBucket(Number(negative!["offset"] ?? 0) + i, scale, 1 - Number(target - before) / Number(below[i]));
    before += below[i]!;
  }
  if (before + zeros >= target) {
    const threshold = Number(point["zeroThreshold"] ?? 0);
    const low = below.length === 0 && above.length > 0 ? 0 : -threshold;
    const high = above.length === 0 && below.length > 0 ? 0 : threshold;
    return between(low, high, Number(target - before) / Number(zeros));
  }
  before += zeros;
  for (const [i, size] of above.entries()) {
    if (before + size >= target)
      return inBucket(Number(positive!["offset"] ?? 0) + i, scale, Number(target - before) / Number(size));
    before += size;
  }
  throw new OttlError("the histogram's buckets hold less than its count");
}

function inBucket(index: number, scale: number, ratio: number): number {
  const [low, high] = [bucketBound(index, scale), bucketBound(index + 1, scale)];
  if (!(low > 0 && high > low && Number.isFinite(high))) throw new OttlError("a bucket of the histogram has no bounds");
  return 2 ** between(log2(low), log2(high), ratio);
}

/** Uses the exponent, which is exact: Math.log2 differs in the last digit. */
function log2(value: number): number {
  let exponent = Math.ceil(Math.log2(value));
  let fraction = value / 2 ** exponent;
  if (fraction >= 1) {
    fraction /= 2;
    exponent++;
  } else if (fraction < 0.5) {
    fraction *= 2;
    exponent--;
  }
  return fraction === 0.5 ? exponent - 1 : Math.log(fraction) * (1 / Math.LN2) + exponent;
}

function bucketBound(index: number, scale: number): number {
  return scale <= 0 ? 2 ** (index * 2 ** -scale) : Math.exp(index * Math.LN2 * 2 ** -scale);
}
