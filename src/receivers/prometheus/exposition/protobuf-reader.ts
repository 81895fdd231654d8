import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT, varint64 } from "#otlp/bytes";
import {
  FAMILY_HELP,
  FAMILY_METRIC,
  FAMILY_NAME,
  FAMILY_TYPE,
  FAMILY_UNIT,
  METRIC_COUNTER,
  METRIC_GAUGE,
  METRIC_HISTOGRAM,
  METRIC_LABEL,
  METRIC_SUMMARY,
  METRIC_TIMESTAMP_MS,
  METRIC_UNTYPED,
} from "./client-model.js";
import type { ExemplarText, ExpositionSink } from "./exposition-reader.js";
import { ProtoFields, varintEnd } from "./proto-fields.js";
import { ProtoHistogram } from "./proto-histogram.js";
import { readLabel, readSummary, readValue } from "./proto-values.js";
import { ExpositionError, isNameByte } from "./series-text.js";

/** Information that the protobuf format has and text has not. */
export interface ProtobufSink extends ExpositionSink {
  /** When the previous series started counting, in milliseconds since 1970. */
  created(timeMs: number): void;
  /**
   * A native histogram of the previous series: the body of an ExponentialHistogramDataPoint without times, attributes
   * and exemplars, or why there is none.
   */
  native(body: Uint8Array | string, count: number, timeMs: number, exemplars: readonly ExemplarText[]): void;
}

/** A longer metric, with its labels and buckets, is an attempt to fill our memory. */
const MAX_FIELD_BYTES = 4 * 1024 * 1024;

/** By MetricType: the names of the types in the text format. */
const TYPES = ["counter", "gauge", "summary", "unknown", "histogram", "gaugehistogram"] as const;

/**
 * Reads delimited io.prometheus.client.MetricFamily messages in pieces of any size and keeps no more than an unfinished
 * metric. The sink gets names and labels of series as the text format would write them. Throws an `ExpositionError`
 * that names the family.
 */
export class ProtobufReader {
  private readonly sink: ProtobufSink;
  private unfinished: Buffer | undefined;
  /** Bytes of the family that are still missing; -1 before the next family. */
  private left = -1;
  private name = "";
  private help = "";
  private unit = "";
  private type = 0;
  private hasMetrics = false;
  private emittedType: string | undefined;

  constructor(sink: ProtobufSink) {
    this.sink = sink;
  }

  push(chunk: Buffer): void {
    const b = this.unfinished === undefined ? chunk : Buffer.concat([this.unfinished, chunk]);
    const end = this.readAll(b);
    this.unfinished = end === b.length ? undefined : b.subarray(end);
    if (b.length - end > MAX_FIELD_BYTES) throw this.error(`a metric is longer than ${MAX_FIELD_BYTES} bytes`);
  }

  end(): void {
    if (this.left >= 0 || this.unfinished !== undefined) throw this.error("the protobuf is cut off");
  }

  /** Returns where the complete fields end. */
  private readAll(b: Buffer): number {
    let p = 0;
    for (;;) {
      if (this.left === 0) this.endFamily();
      const isHead = this.left < 0;
      const end = isHead ? headEnd(b, p) : fieldEnd(b, p);
      if (end < 0) return p;
      if (isHead) this.beginFamily(Number(varint64(b, p)));
      else this.readField(b, p, end);
      p = end;
    }
  }

  private beginFamily(size: number): void {
    if (size >= 2 ** 31) throw new ExpositionError("a family is longer than 2 GiB");
    this.left = size;
    this.name = this.help = this.unit = "";
    this.type = 0;
    this.hasMetrics = false;
    this.emittedType = undefined;
  }

  private endFamily(): void {
    this.left = -1;
    if (this.name === "" && this.hasMetrics) throw new ExpositionError("a family has no name");
    if (this.hasMetrics && this.unit !== "") this.emitMetadata("unit", this.unit);
  }

  private readField(b: Buffer, start: number, end: number): void {
    this.left -= end - start;
    if (this.left < 0) throw this.error("a metric extends past its family");
    try {
      const fields = new ProtoFields(b, start, end);
      fields.next();
      if (fields.field === FAMILY_NAME) this.name = fields.text();
      else if (fields.field === FAMILY_HELP) this.help = fields.text();
      else if (fields.field === FAMILY_TYPE) this.type = fields.unsigned();
      else if (fields.field === FAMILY_METRIC) this.readMetric(fields.message());
      else if (fields.field === FAMILY_UNIT) this.unit = fields.text();
    } catch (error) {
      if (!(error instanceof ExpositionError)) throw error;
      throw this.error(error.message);
    }
  }

  private readMetric(fields: ProtoFields): void {
    const type = TYPES[this.type];
    if (this.name === "") throw new ExpositionError("a metric comes before the name of its family");
    if (type === undefined) throw new ExpositionError(`there is no type ${this.type}`);
    if (!this.hasMetrics) {
      this.hasMetrics = true;
      this.emitType(type);
      if (this.help !== "") this.emitMetadata("help", this.help);
    }
    const labels: string[] = [];
    let timeMs = Number.NaN;
    let number: ReturnType<typeof readValue> | undefined;
    let summary: ReturnType<typeof readSummary> | undefined;
    let histogram: ProtoHistogram | undefined;
    while (fields.next()) {
      if (fields.field === METRIC_LABEL) labels.push(labelText(...readLabel(fields.message())));
      else if (fields.field === METRIC_GAUGE || fields.field === METRIC_COUNTER || fields.field === METRIC_UNTYPED)
        number = readValue(fields.message());
      else if (fields.field === METRIC_SUMMARY) summary = readSummary(fields.message());
      else if (fields.field === METRIC_TIMESTAMP_MS) timeMs = fields.signed();
      else if (fields.field === METRIC_HISTOGRAM) histogram = new ProtoHistogram(fields.message());
    }
    if (!Number.isSafeInteger(timeMs)) timeMs = Number.NaN;
    if (type === "summary" && summary !== undefined) this.addSummary(labels, summary, timeMs);
    else if ((type === "histogram" || type === "gaugehistogram") && histogram !== undefined)
      this.addHistogram(labels, histogram, timeMs, type);
    else if (type !== "summary" && type !== "histogram" && type !== "gaugehistogram" && number !== undefined) {
      this.sample("", labels, number.value, timeMs, number.exemplar);
      this.addCreated(number.createdMs);
    } else throw new ExpositionError(`a ${type} has no value`);
  }

  private addSummary(labels: readonly string[], summary: ReturnType<typeof readSummary>, timeMs: number): void {
    for (const [quantile, value] of summary.quantiles)
      this.sample("", [...labels, labelText("quantile", numberText(quantile))], value, timeMs);
    this.sample("_sum", labels, summary.sum, timeMs);
    this.sample("_count", labels, summary.count, timeMs);
    this.addCreated(summary.createdMs);
  }

  /** A native histogram is read only as native: it says the same as the classic one next to it, and more. */
  private addHistogram(
    labels: readonly string[],
    histogram: ProtoHistogram,
    timeMs: number,
    type: "histogram" | "gaugehistogram",
  ): void {
    const isGauge = type === "gaugehistogram";
    if (histogram.isNative && !(isGauge && histogram.buckets.length > 0)) {
      this.emitType("native");
      this.series("", labels);
      const body = isGauge ? "it is a gauge histogram, which OTLP does not have" : histogram.exponential();
      this.sink.native(body, histogram.count, timeMs, histogram.exemplars);
      this.addCreated(histogram.createdMs);
      return;
    }
    this.emitType(type);
    let isComplete = false;
    for (const { bound, count, exemplar } of histogram.buckets) {
      isComplete = bound === Number.POSITIVE_INFINITY;
      this.sample("_bucket", [...labels, labelText("le", numberText(bound))], count, timeMs, exemplar);
    }
    if (!isComplete) this.sample("_bucket", [...labels, labelText("le", "+Inf")], histogram.count, timeMs);
    this.sample(isGauge ? "_gsum" : "_sum", labels, histogram.sum, timeMs);
    this.sample(isGauge ? "_gcount" : "_count", labels, histogram.count, timeMs);
    this.addCreated(histogram.createdMs);
  }

  private sample(
    suffix: string,
    labels: readonly string[],
    value: number,
    timeMs: number,
    exemplar?: ExemplarText | undefined,
  ): void {
    this.series(suffix, labels);
    this.sink.sample(value, timeMs, exemplar);
  }

  private series(suffix: string, labels: readonly string[]): void {
    const name = `${this.name}${suffix}`;
    const text = isPlainName(name, true)
      ? labels.length === 0
        ? name
        : `${name}{${labels.join(",")}}`
      : `{${[quoted(name), ...labels].join(",")}}`;
    const line = Buffer.from(`${text}\n`);
    this.sink.series(line, 0, line.length - 1);
  }

  private addCreated(timeMs: number): void {
    if (timeMs > 0) this.sink.created(timeMs);
  }

  /** A family may have histograms of both kinds. */
  private emitType(type: (typeof TYPES)[number] | "native"): void {
    if (this.emittedType === type) return;
    this.emittedType = type;
    if (type === "native") this.emitMetadata("native", "");
    else this.emitMetadata("type", type);
  }

  private emitMetadata(kind: "type" | "help" | "unit" | "native", text: string): void {
    const b = Buffer.from(`${this.name}${kind === "help" ? text.replaceAll("\\", "\\\\") : text}`);
    const nameEnd = Buffer.byteLength(this.name);
    this.sink.metadata(kind, b, 0, nameEnd, nameEnd, b.length);
  }

  private error(message: string): ExpositionError {
    return new ExpositionError(this.name === "" ? message : `${this.name}: ${message}`);
  }
}

/** Returns where the length before a family ends; -1 if it is incomplete. */
function headEnd(b: Buffer, p: number): number {
  for (let end = p; end < b.length; end++) if (b[end]! < 128 || end - p > 9) return varintEnd(b, p, b.length);
  return -1;
}

/** Returns where the field at `p` ends; -1 if it is incomplete. */
function fieldEnd(b: Buffer, p: number): number {
  const tagEnd = headEnd(b, p);
  if (tagEnd < 0) return -1;
  const wire = b[p]! & 7;
  if (wire === VARINT) return headEnd(b, tagEnd);
  let end = tagEnd + (wire === FIXED64 ? 8 : 4);
  if (wire === LENGTH_DELIMITED) {
    const sizeEnd = headEnd(b, tagEnd);
    if (sizeEnd < 0) return -1;
    end = sizeEnd + Number(varint64(b, tagEnd));
    if (end - p > MAX_FIELD_BYTES) throw new ExpositionError(`a metric is longer than ${MAX_FIELD_BYTES} bytes`);
  } else if (wire !== FIXED64 && wire !== FIXED32)
    throw new ExpositionError("a field has a wire type that protobuf no longer supports");
  return end <= b.length ? end : -1;
}

function labelText(name: string, value: string): string {
  return `${isPlainName(name, false) ? name : quoted(name)}=${quoted(value)}`;
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`))}"`;
}

function isPlainName(name: string, isMetric: boolean): boolean {
  for (let i = 0; i < name.length; i++) if (!isNameByte(name.charCodeAt(i), i > 0, isMetric)) return false;
  return name !== "";
}

function numberText(value: number): string {
  return value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}
