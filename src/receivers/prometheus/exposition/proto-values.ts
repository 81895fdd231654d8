import {
  COUNTER_CREATED,
  COUNTER_EXEMPLAR,
  EXEMPLAR_LABEL,
  EXEMPLAR_TIMESTAMP,
  EXEMPLAR_VALUE,
  LABEL_NAME,
  LABEL_VALUE,
  QUANTILE,
  QUANTILE_VALUE,
  SUMMARY_COUNT,
  SUMMARY_CREATED,
  SUMMARY_QUANTILE,
  SUMMARY_SUM,
  TIMESTAMP_NANOS,
  TIMESTAMP_SECONDS,
  VALUE,
} from "./client-model.js";
import type { ExemplarText } from "./exposition-reader.js";
import type { ProtoFields } from "./proto-fields.js";
import type { LabelPair } from "./series-text.js";

/** Milliseconds since 1970 from a google.protobuf.Timestamp; NaN if it is not a valid time. */
export function readTimestamp(fields: ProtoFields): number {
  let [seconds, nanos] = [0, 0];
  while (fields.next()) {
    if (fields.field === TIMESTAMP_SECONDS) seconds = fields.signed();
    else if (fields.field === TIMESTAMP_NANOS) nanos = fields.signed();
  }
  const ms = seconds * 1000 + Math.floor(nanos / 1e6);
  return Math.abs(ms) <= MAX_TIME_MS ? ms : Number.NaN;
}

/** The limit of 64-bit nanoseconds. */
const MAX_TIME_MS = 2 ** 64 / 1e6 - 1;

export function readLabel(fields: ProtoFields): LabelPair {
  let [name, value] = ["", ""];
  while (fields.next()) {
    if (fields.field === LABEL_NAME) name = fields.text();
    else if (fields.field === LABEL_VALUE) value = fields.text();
  }
  return [name, value];
}

export function readProtoExemplar(fields: ProtoFields): ExemplarText {
  const labels: LabelPair[] = [];
  let [value, timeMs] = [0, Number.NaN];
  while (fields.next()) {
    if (fields.field === EXEMPLAR_LABEL) labels.push(readLabel(fields.message()));
    else if (fields.field === EXEMPLAR_VALUE) value = fields.double();
    else if (fields.field === EXEMPLAR_TIMESTAMP) timeMs = readTimestamp(fields.message());
  }
  return { labels, value, timeMs };
}

/** The value of a Gauge, Counter or Untyped, and a counter's other fields. */
export function readValue(fields: ProtoFields): {
  value: number;
  exemplar: ExemplarText | undefined;
  createdMs: number;
} {
  let [value, createdMs] = [0, 0];
  let exemplar: ExemplarText | undefined;
  while (fields.next()) {
    if (fields.field === VALUE) value = fields.double();
    else if (fields.field === COUNTER_EXEMPLAR) exemplar = readProtoExemplar(fields.message());
    else if (fields.field === COUNTER_CREATED) createdMs = readTimestamp(fields.message());
  }
  return { value, exemplar, createdMs };
}

interface ProtoSummary {
  readonly count: number;
  readonly sum: number;
  readonly createdMs: number;
  readonly quantiles: readonly (readonly [quantile: number, value: number])[];
}

export function readSummary(fields: ProtoFields): ProtoSummary {
  let [count, sum, createdMs] = [0, 0, 0];
  const quantiles: [number, number][] = [];
  while (fields.next()) {
    if (fields.field === SUMMARY_COUNT) count = fields.unsigned();
    else if (fields.field === SUMMARY_SUM) sum = fields.double();
    else if (fields.field === SUMMARY_QUANTILE) quantiles.push(readQuantile(fields.message()));
    else if (fields.field === SUMMARY_CREATED) createdMs = readTimestamp(fields.message());
  }
  return { count, sum, createdMs, quantiles };
}

function readQuantile(fields: ProtoFields): [quantile: number, value: number] {
  let [quantile, value] = [0, 0];
  while (fields.next()) {
    if (fields.field === QUANTILE) quantile = fields.double();
    else if (fields.field === QUANTILE_VALUE) value = fields.double();
  }
  return [quantile, value];
}
