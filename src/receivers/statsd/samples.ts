import { ExponentialSamples } from "./exponential-samples.js";

/** Adds up the samples of one series. */
export interface StatsdSamples {
  /** Returns how much memory that takes beyond the series itself, as a number of values. */
  add(value: number, weight: number, isChange: boolean, nowMs: number): number;
  /** The part of a metric that holds its data, without the points' attributes. */
  metric(times: PointTimes): StatsdMetricData;
}

interface PointTimes {
  readonly start: bigint;
  readonly now: bigint;
}

/** The data of a metric as plain objects: its field, the points, and the other keys of the field. */
export interface StatsdMetricData {
  readonly field: "sum" | "gauge" | "summary" | "histogram" | "exponentialHistogram";
  readonly points: readonly Readonly<Record<string, unknown>>[];
  readonly rest?: Readonly<Record<string, unknown>>;
}

const DELTA = 1;
const MAX_INT64 = 2n ** 63n - 1n;

type CounterKind = "int" | "float" | "stochastic_int";

export class CounterSamples implements StatsdSamples {
  private readonly kind: CounterKind;
  private readonly isMonotonic: boolean;
  private readonly random: () => number;
  private readonly timeSeconds: number | undefined;
  private total = 0;

  constructor(kind: CounterKind, isMonotonic: boolean, random: () => number, timeSeconds: number | undefined) {
    this.kind = kind;
    this.isMonotonic = isMonotonic;
    this.random = random;
    this.timeSeconds = timeSeconds;
  }

  add(value: number, weight: number): number {
    const times = value * weight;
    if (this.kind === "float") this.total += times;
    else if (this.kind === "int") this.total += Math.trunc(times);
    else this.total += Math.floor(times) + (this.random() < times - Math.floor(times) ? 1 : 0);
    return 0;
  }

  metric({ start, now }: PointTimes): StatsdMetricData {
    const time = this.timeSeconds === undefined ? now : BigInt(this.timeSeconds) * 1_000_000_000n;
    const value = this.kind === "float" ? { asDouble: this.total } : { asInt: int64(this.total) };
    const rest = { aggregationTemporality: DELTA, isMonotonic: this.isMonotonic };
    return { field: "sum", points: [{ startTimeUnixNano: start, timeUnixNano: time, ...value }], rest };
  }
}

/** A sample with a sign changes the value; any other sets it. */
export class GaugeSamples implements StatsdSamples {
  private value: number | undefined;
  private timeMs = 0;

  add(value: number, _weight: number, isChange: boolean, nowMs: number): number {
    const isFirst = this.value === undefined;
    if (!isChange || isFirst) this.timeMs = nowMs;
    this.value = isChange && !isFirst ? this.value! + value : value;
    return 0;
  }

  metric(): StatsdMetricData {
    return { field: "gauge", points: [{ timeUnixNano: nanos(this.timeMs), asDouble: this.value ?? 0 }] };
  }
}

/** Every sample is a point of its own. */
export class SingleSamples implements StatsdSamples {
  private readonly values: number[] = [];
  private readonly timesMs: number[] = [];

  add(value: number, _weight: number, _isChange: boolean, nowMs: number): number {
    this.values.push(value);
    this.timesMs.push(nowMs);
    return 1;
  }

  metric(): StatsdMetricData {
    const points = this.values.map((asDouble, i) => ({ timeUnixNano: nanos(this.timesMs[i]!), asDouble }));
    return { field: "gauge", points };
  }
}

export class SummarySamples implements StatsdSamples {
  private readonly percentiles: readonly number[];
  private readonly samples: { readonly value: number; readonly weight: number }[] = [];

  constructor(percentiles: readonly number[]) {
    this.percentiles = percentiles;
  }

  add(value: number, weight: number): number {
    this.samples.push({ value, weight });
    return 1;
  }

  metric({ start, now }: PointTimes): StatsdMetricData {
    const sorted = this.samples.sort((a, b) => a.value - b.value);
    let [count, sum] = [0, 0];
    for (const { value, weight } of sorted) {
      count += weight;
      sum += value * weight;
    }
    const quantileValues = this.percentiles.map((percentile) => {
      let reached = 0;
      const found = sorted.find(({ weight }) => {
        reached += weight;
        return reached >= (percentile / 100) * count;
      });
      return { quantile: percentile / 100, value: (found ?? sorted.at(-1)!).value };
    });
    const times = { startTimeUnixNano: start, timeUnixNano: now };
    return { field: "summary", points: [{ ...times, count: int64(count), sum, quantileValues }] };
  }
}

export class ExplicitSamples implements StatsdSamples {
  private readonly bounds: readonly number[];
  private readonly counts: number[];
  private count = 0;
  private sum = 0;
  private min = 0;
  private max = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number, weight: number): number {
    const times = Math.floor(weight);
    this.min = this.count === 0 ? value : Math.min(this.min, value);
    this.max = this.count === 0 ? value : Math.max(this.max, value);
    this.count += times;
    this.sum += value * times;
    const found = this.bounds.findIndex((bound) => value <= bound);
    const bucket = found < 0 ? this.bounds.length : found;
    this.counts[bucket] = this.counts[bucket]! + times;
    return 0;
  }

  metric({ start, now }: PointTimes): StatsdMetricData {
    const { sum, min, max } = this;
    const point = {
      startTimeUnixNano: start,
      timeUnixNano: now,
      count: int64(this.count),
      sum,
      ...(this.count > 0 && { min, max }),
      explicitBounds: this.bounds,
      bucketCounts: this.counts.map(int64),
    };
    return { field: "histogram", points: [point], rest: { aggregationTemporality: DELTA } };
  }
}

/** A bucket takes this part of the memory of a series. */
const BUCKET_SIZE = 1 / 8;

export class ExponentialHistogramSamples implements StatsdSamples {
  private readonly samples: ExponentialSamples;

  constructor(maxSize: number) {
    this.samples = new ExponentialSamples(maxSize);
  }

  add(value: number, weight: number): number {
    return this.samples.add(value, Math.floor(weight)) ? BUCKET_SIZE : 0;
  }

  metric({ start, now }: PointTimes): StatsdMetricData {
    const point = { startTimeUnixNano: start, timeUnixNano: now, ...this.samples.tree() };
    return { field: "exponentialHistogram", points: [point], rest: { aggregationTemporality: DELTA } };
  }
}

export function nanos(ms: number): bigint {
  return BigInt(Math.floor(ms)) * 1_000_000n;
}

/** A value that does not fit into 64 bits becomes the nearest one that does. */
function int64(value: number): bigint {
  if (Number.isNaN(value)) return 0n;
  if (value >= 2 ** 63) return MAX_INT64;
  return value < -(2 ** 63) ? -MAX_INT64 - 1n : BigInt(Math.trunc(value));
}
