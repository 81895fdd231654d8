/** Messages of io.prometheus.client, written by the schema alone. */

const varint = (value: bigint | number): Buffer => {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, BigInt(value));
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  return Buffer.from([...bytes, Number(left)]);
};

export const bytesField = (number: number, value: string | Buffer | readonly Buffer[]): Buffer => {
  const bytes = Array.isArray(value) ? Buffer.concat(value) : Buffer.from(value as string);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
};
export const uintField = (number: number, value: number | bigint): Buffer =>
  Buffer.concat([varint(number << 3), varint(value)]);
export const sintField = (number: number, value: number): Buffer => uintField(number, zigzag(value));
export const doubleField = (number: number, value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
};
const zigzag = (value: number) => (BigInt(value) << 1n) ^ (BigInt(value) >> 63n);
const packedSints = (number: number, values: readonly number[]) =>
  bytesField(
    number,
    values.map((value) => varint(zigzag(value))),
  );
export const packedDoubles = (number: number, values: readonly number[]): Buffer =>
  bytesField(
    number,
    values.map((value) => doubleField(1, value).subarray(1)),
  );

type Labels = Readonly<Record<string, string>>;
const labels = (number: number, all: Labels) =>
  Object.entries(all).map(([name, value]) => bytesField(number, [bytesField(1, name), bytesField(2, value)]));

export const timestamp = (number: number, ms: number): Buffer =>
  bytesField(number, [uintField(1, Math.floor(ms / 1000)), uintField(2, (ms % 1000) * 1e6)]);

export const exemplar = (number: number, of: Labels, value: number, ms: number): Buffer =>
  bytesField(number, [...labels(1, of), doubleField(2, value), timestamp(3, ms)]);

/** A Metric with these labels and fields. */
export const metric = (of: Labels, ...fields: Buffer[]): Buffer => bytesField(4, [...labels(1, of), ...fields]);
export const gauge = (value: number): Buffer => bytesField(2, doubleField(1, value));
export const counter = (value: number, ...more: Buffer[]): Buffer => bytesField(3, [doubleField(1, value), ...more]);
export const summary = (count: number, sum: number, quantiles: Readonly<Record<string, number>>): Buffer =>
  bytesField(4, [
    uintField(1, count),
    doubleField(2, sum),
    ...Object.entries(quantiles).map(([q, v]) => bytesField(3, [doubleField(1, Number(q)), doubleField(2, v)])),
  ]);
export const histogram = (...fields: Buffer[]): Buffer => bytesField(7, fields);
export const bucket = (bound: number, count: number, ...more: Buffer[]): Buffer =>
  bytesField(3, [uintField(1, count), doubleField(2, bound), ...more]);

interface NativeFields {
  readonly count: number;
  readonly sum?: number;
  readonly schema?: number;
  readonly zeroCount?: number;
  readonly zeroThreshold?: number;
  readonly positive?: readonly (readonly [offset: number, length: number])[];
  readonly deltas?: readonly number[];
  readonly negative?: readonly (readonly [offset: number, length: number])[];
  readonly negativeDeltas?: readonly number[];
}
export const native = (of: NativeFields, ...more: Buffer[]): Buffer =>
  histogram(
    uintField(1, of.count),
    doubleField(2, of.sum ?? 0),
    sintField(5, of.schema ?? 0),
    doubleField(6, of.zeroThreshold ?? 0),
    uintField(7, of.zeroCount ?? 0),
    ...(of.negative ?? []).map(([offset, length]) => bytesField(9, [sintField(1, offset), uintField(2, length)])),
    packedSints(10, of.negativeDeltas ?? []),
    ...(of.positive ?? []).map(([offset, length]) => bytesField(12, [sintField(1, offset), uintField(2, length)])),
    packedSints(13, of.deltas ?? []),
    ...more,
  );

export const TYPES = { counter: 0, gauge: 1, summary: 2, untyped: 3, histogram: 4, gaugeHistogram: 5 } as const;

/** A MetricFamily behind its length. */
export function family(name: string, type: keyof typeof TYPES, ...fields: Buffer[]): Buffer {
  const body = Buffer.concat([
    bytesField(1, name),
    bytesField(2, `About ${name}.`),
    uintField(3, TYPES[type]),
    ...fields,
  ]);
  return Buffer.concat([varint(body.length), body]);
}

export const PROTOBUF = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
