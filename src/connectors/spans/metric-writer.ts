import { WireWriter } from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  EXEMPLAR_DOUBLE_TAG,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  NUMBER_ATTRIBUTES_TAG,
  NUMBER_EXEMPLARS_TAG,
  NUMBER_INT_TAG,
  SUM_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import {
  BOOL_VALUE_TAG,
  KEY_TAG,
  OWNER_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import { Batch } from "../../plugin.js";
import type { Durations, DurationsKind } from "./durations.js";

/** A time in its encoded form. */
export type Nanos = Uint8Array;

/** Returns milliseconds as nanoseconds in eight bytes. */
export function nanosOf(ms: number): Nanos {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(Math.floor(ms)) * 1_000_000n);
  return bytes;
}

/** A span that a point has counted: its duration, and its end time and ids in encoded form. */
export interface Exemplar {
  readonly value: number;
  readonly fields: Uint8Array;
}

/** Attributes encoded as fields of a NumberDataPoint. Other kinds of points have the same bytes under another tag. */
export class PointAttributes {
  readonly bytes: Uint8Array;
  /** The positions of the tags. */
  private readonly tagsAt: readonly number[];

  /**
   * `values` are KeyValues by key. They are written in the order of their keys, so that equal attributes give equal
   * bytes everywhere.
   */
  constructor(values: ReadonlyMap<string, Uint8Array>) {
    const out = new WireWriter(256);
    const tagsAt: number[] = [];
    writeAttributes(out, values, tagsAt);
    this.bytes = Uint8Array.from(out.written());
    this.tagsAt = tagsAt;
  }

  write(out: WireWriter, tag = NUMBER_ATTRIBUTES_TAG): void {
    const start = out.length;
    out.copy(this.bytes, 0, this.bytes.length);
    if (tag !== NUMBER_ATTRIBUTES_TAG) for (const at of this.tagsAt) out.bytes[start + at] = tag;
  }
}

/** Writes the bytes that `PointAttributes` holds for these values, and adds the positions of their tags to `tagsAt`. */
export function writeAttributes(out: WireWriter, values: ReadonlyMap<string, Uint8Array>, tagsAt?: number[]): void {
  for (const key of inOrder([...values.keys()])) {
    tagsAt?.push(out.length);
    out.byte(NUMBER_ATTRIBUTES_TAG);
    out.begin();
    out.byte(KEY_TAG);
    out.text(key);
    out.byte(VALUE_TAG);
    out.lengthDelimited(values.get(key)!);
    out.end();
  }
}

/** Sorts keys; most are sorted already. */
function inOrder(keys: string[]): string[] {
  for (let i = 1; i < keys.length; i++) if (keys[i - 1]! > keys[i]!) return keys.sort();
  return keys;
}

/** Encodes a text as an AnyValue. */
export function textValue(text: string): Uint8Array {
  const out = new WireWriter(text.length + 8);
  out.byte(STRING_VALUE_TAG);
  out.text(text);
  return Uint8Array.from(out.written());
}

/** AnyValues that are false and true. */
export const FALSE_VALUE = Uint8Array.of(BOOL_VALUE_TAG, 0);
export const TRUE_VALUE = Uint8Array.of(BOOL_VALUE_TAG, 1);

/** The properties of a metric that all its points share. */
export interface MetricHead {
  readonly name: string;
  readonly unit?: string;
  readonly isDelta: boolean;
}

/**
 * Writes metrics as a request: call `beginResource`, then write metrics with their points, then `endResource`. `take`
 * returns the request so far.
 */
export class MetricWriter {
  private readonly out = new WireWriter(64 * 1024);
  private readonly scope: Uint8Array;
  private count = 0;

  constructor(scope: string) {
    const out = new WireWriter(128);
    out.byte(SCOPE_NAME_TAG);
    out.text(scope);
    this.scope = Uint8Array.from(out.written());
  }

  get byteLength(): number {
    return this.out.length;
  }

  take(): Batch {
    const batch = Batch.trusted("metrics", Uint8Array.from(this.out.written()), this.count);
    this.out.clear();
    this.count = 0;
    return batch;
  }

  /** `resource` is the body of the Resource message. */
  beginResource(resource: Uint8Array): void {
    const { out, scope } = this;
    out.byte(RESOURCE_CONTAINER_TAG);
    out.begin(100_000);
    out.byte(OWNER_TAG);
    out.lengthDelimited(resource);
    out.byte(SCOPE_CONTAINER_TAG);
    out.begin(100_000);
    out.byte(OWNER_TAG);
    out.lengthDelimited(scope);
  }

  endResource(): void {
    this.out.end();
    this.out.end();
  }

  beginSum(head: MetricHead): void {
    this.beginMetric(head, SUM_TAG);
    this.out.byte(MONOTONIC_TAG);
    this.out.byte(1);
  }

  beginHistogram(head: MetricHead, kind: DurationsKind): void {
    this.beginMetric(head, kind.metricTag);
  }

  endMetric(): void {
    this.out.end();
    this.out.end();
  }

  sumPoint(
    start: Nanos,
    time: Nanos,
    value: number,
    attributes: PointAttributes,
    exemplars: readonly Exemplar[],
  ): void {
    const { out } = this;
    this.beginPoint(start, time);
    out.byte(NUMBER_INT_TAG);
    out.fixed64OfNumber(value);
    attributes.write(out);
    for (const exemplar of exemplars) this.exemplar(exemplar, NUMBER_EXEMPLARS_TAG);
    out.end();
  }

  histogramPoint(
    start: Nanos,
    time: Nanos,
    durations: Durations,
    kind: DurationsKind,
    attributes: PointAttributes,
    exemplars: readonly Exemplar[],
  ): void {
    const { out } = this;
    this.beginPoint(start, time);
    durations.write(out);
    attributes.write(out, kind.attributesTag);
    for (const exemplar of exemplars) this.exemplar(exemplar, kind.exemplarTag);
    out.end();
  }

  private beginMetric({ name, unit, isDelta }: MetricHead, dataTag: number): void {
    const { out } = this;
    out.byte(SCOPE_ITEM_TAG);
    out.begin(100_000);
    out.byte(METRIC_NAME_TAG);
    out.text(name);
    if (unit !== undefined) {
      out.byte(METRIC_UNIT_TAG);
      out.text(unit);
    }
    out.byte(dataTag);
    out.begin(100_000);
    out.byte(TEMPORALITY_TAG);
    out.byte(isDelta ? 1 : 2);
  }

  private beginPoint(start: Nanos, time: Nanos): void {
    const { out } = this;
    this.count++;
    out.byte(DATA_POINT_TAG);
    out.begin(300);
    out.byte(DATA_POINT_START_TIME_TAG);
    out.copy(start, 0, 8);
    out.byte(DATA_POINT_TIME_TAG);
    out.copy(time, 0, 8);
  }

  private exemplar({ value, fields }: Exemplar, tag: number): void {
    const { out } = this;
    out.byte(tag);
    out.begin(fields.length + 9);
    out.copy(fields, 0, fields.length);
    out.byte(EXEMPLAR_DOUBLE_TAG);
    out.double(value);
    out.end();
  }
}
