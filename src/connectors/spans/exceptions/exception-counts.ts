import { plainValue, plainValueText } from "#otlp/json";
import { type Batch, encodeTree, type Tree } from "../../../plugin.js";
import type { ExceptionsConfig } from "./config.js";
import type { KeyValue, SpanException } from "./find-exceptions.js";

interface ExceptionSeries {
  readonly attributes: readonly KeyValue[];
  count: number;
  exemplars: Tree[];
  /** When it was last written, in milliseconds. */
  writtenAt: number;
}

const SCOPE: Tree = { name: "exceptionsconnector" };
const CUMULATIVE = 2;
/** Series without new exceptions are written again after this time, so that backends keep them. */
const REPEAT_AFTER_MS = 60_000;
/** How many of these a batch has at most. */
const MAX_REPEATED = 1000;
const MAX_EXEMPLARS = 100;
/** Limit for the bytes of all keys: messages of exceptions may be as long as a request. */
const MAX_KEY_LENGTH = 32 * 1024 * 1024;
const OVERFLOW = "";

/**
 * Counts exceptions by their attributes, as cumulative sums that begin when the connector is created. At the limit of
 * series, exceptions of new series are counted in one series with the attribute `otel.metric.overflow`.
 */
export class ExceptionCounts {
  private readonly config: ExceptionsConfig;
  private readonly start: bigint;
  /** By key, in the order in which they were last written. */
  private readonly series = new Map<string, ExceptionSeries>();
  private keyLength = 0;

  constructor(config: ExceptionsConfig, now: number) {
    this.config = config;
    this.start = nanos(now);
  }

  /** Counts exceptions and returns their series as a batch. Returns null if there is nothing to write. */
  add(exceptions: readonly SpanException[], now: number): Batch | null {
    const changed = new Map<string, ExceptionSeries>();
    for (const exception of exceptions) {
      const key = keyOf(exception);
      const [name, series] = this.find(key, exception);
      series.count++;
      this.addExemplar(series, exception.span, now);
      changed.set(name, series);
    }
    for (const [key, series] of this.series) {
      if (now - series.writtenAt < REPEAT_AFTER_MS || changed.size >= exceptions.length + MAX_REPEATED) break;
      changed.set(key, series);
    }
    if (changed.size === 0) return null;
    const time = nanos(now);
    const dataPoints = [...changed].map(([key, series]) => {
      this.series.delete(key);
      this.series.set(key, series);
      series.writtenAt = now;
      return this.pointOf(series, time);
    });
    const sum = { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true };
    return encodeTree("metrics", {
      resourceMetrics: [{ resource: {}, scopeMetrics: [{ scope: SCOPE, metrics: [{ name: "exceptions", sum }] }] }],
    });
  }

  private find(key: string, exception: SpanException): [key: string, series: ExceptionSeries] {
    const known = this.series.get(key);
    if (known !== undefined) return [key, known];
    const isFull = this.series.size >= this.config.maxSeries || this.keyLength + key.length > MAX_KEY_LENGTH;
    if (isFull && key !== OVERFLOW) {
      const overflow = this.series.get(OVERFLOW);
      return [OVERFLOW, overflow ?? this.create(OVERFLOW, [OVERFLOW_ATTRIBUTE])];
    }
    const more = this.config.dimensions.flatMap(({ name }, i) => {
      const value = exception.dimensions[i];
      return value === undefined ? [] : [{ key: name, value }];
    });
    return [key, this.create(key, [...exception.own, ...more])];
  }

  private create(key: string, attributes: readonly KeyValue[]): ExceptionSeries {
    const series = { attributes, count: 0, exemplars: [], writtenAt: 0 };
    this.series.set(key, series);
    this.keyLength += key.length;
    return series;
  }

  private addExemplar(series: ExceptionSeries, { traceId, spanId }: Tree, now: number): void {
    if (!this.config.hasExemplars || series.exemplars.length >= MAX_EXEMPLARS) return;
    if (!(traceId instanceof Uint8Array) || traceId.length === 0) return;
    series.exemplars.push({ timeUnixNano: nanos(now), asDouble: series.count, traceId, ...(spanId && { spanId }) });
  }

  private pointOf(series: ExceptionSeries, timeUnixNano: bigint): Tree {
    const { attributes, count, exemplars } = series;
    series.exemplars = [];
    const times = { startTimeUnixNano: this.start, timeUnixNano };
    return { ...times, asInt: BigInt(count), attributes: attributes as unknown as Tree[], exemplars };
  }
}

const OVERFLOW_ATTRIBUTE: KeyValue = { key: "otel.metric.overflow", value: { boolValue: true } };

/** Never empty: a span's kind has a name. */
function keyOf({ own, dimensions }: SpanException): string {
  const texts = [...own.map(({ value }) => value), ...dimensions].map((value) =>
    value === undefined ? null : plainValueText(plainValue(value)),
  );
  return JSON.stringify(texts);
}

function nanos(ms: number): bigint {
  return BigInt(Math.floor(ms)) * 1_000_000n;
}
