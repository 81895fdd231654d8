import { Batch } from "#otlp";
import { LENGTH_DELIMITED, type Value, WireWriter, writeKeyValue } from "#otlp/bytes";
import {
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  GAUGE_TAG,
  METRIC_NAME_TAG,
  NUMBER_ATTRIBUTES_TAG,
  NUMBER_FLAGS_TAG,
  NUMBER_INT_TAG,
} from "#otlp/metric-tags";
import type { Signal } from "#otlp/signals";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_TIME_TAG,
  LOG_TRACE_ID_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_ID_TAG,
  SPAN_KIND_TAG,
  SPAN_NAME_TAG,
  SPAN_START_TIME_TAG,
  SPAN_TRACE_ID_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import { readRecords } from "#otlp/views";
import type { Random } from "./fakes.js";

/** The attribute that identifies a record of a sample. */
export const SAMPLE_ID = "sample.id";

interface SampleSettings {
  /** One id per record. */
  readonly ids: readonly string[];
  /** Further attributes of a record. */
  readonly attributes?: (id: string, random: Random) => Readonly<Record<string, Value>>;
  /** Adds fields that no version of OTLP has to requests, resources, scopes and records. */
  readonly unknownFields?: boolean;
}

/** Value of the unknown field in the record with this id. */
export function unknownFieldOf(id: string): string {
  return `<unknown ${id}>`;
}

/** Shared by all batches, which copy its bytes: a suite creates tens of thousands of them. */
const sampleWriter = new WireWriter(16_384);

/**
 * A batch as other clients may send it: several resources and scopes, attributes of all types, fields in unusual order,
 * longer encodings than necessary, and unknown fields.
 */
export function sampleBatch(signal: Signal, random: Random, settings: SampleSettings): Batch {
  const writer = sampleWriter;
  writer.length = 0;
  const ids = [...settings.ids];
  while (ids.length > 0) {
    const some = ids.splice(0, 1 + random.below(ids.length));
    message(writer, RESOURCE_CONTAINER_TAG, () => resourceGroup(writer, signal, random, some, settings));
  }
  if (settings.unknownFields) text(writer, UNKNOWN_TAG, "<unknown request>");
  return Batch.admit(signal, Buffer.from(writer.written()));
}

/** The sample ids in a batch, in order; records without one are skipped. */
export function sampleIds(batch: Batch): string[] {
  const ids: string[] = [];
  readRecords(batch, (record) => {
    const id = record.attributes.get(SAMPLE_ID) ?? record.resource.attributes.get(SAMPLE_ID);
    if (typeof id === "string") ids.push(id);
  });
  return ids;
}

/** Whether the bytes of the batch hold this text. */
export function containsText(batch: Batch, wanted: string): boolean {
  return Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength).includes(wanted);
}

/** The tag of field 1999, which no message has. */
const UNKNOWN_TAG = (1999 << 3) | LENGTH_DELIMITED;

function resourceGroup(
  writer: WireWriter,
  signal: Signal,
  random: Random,
  ids: readonly string[],
  settings: SampleSettings,
): void {
  const service = random.pick(["shop", "cart", "mail"]);
  message(writer, SCOPE_CONTAINER_TAG, () => {
    for (const id of ids) RECORDS[signal](writer, random, id, settings);
    message(writer, OWNER_TAG, () => text(writer, SCOPE_NAME_TAG, "sample.scope"));
  });
  // Written after the scopes on purpose: the order of fields has no meaning in protobuf.
  message(writer, OWNER_TAG, () => {
    attribute(writer, RESOURCE_ATTRIBUTES_TAG, "service.name", service);
    if (settings.unknownFields) text(writer, UNKNOWN_TAG, "<unknown resource>");
  });
}

/** Not the flag for "no value": an exporter may leave out points without a value. */
const RESERVED_FLAG = 2;

type WriteRecord = (writer: WireWriter, random: Random, id: string, settings: SampleSettings) => void;

const RECORDS: Readonly<Record<Signal, WriteRecord>> = {
  logs: (writer, random, id, settings) =>
    message(writer, SCOPE_ITEM_TAG, () => {
      attributes(writer, LOG_ATTRIBUTES_TAG, random, id, settings);
      message(writer, LOG_BODY_TAG, () => text(writer, STRING_VALUE_TAG, `body of ${id}`));
      integer(writer, LOG_SEVERITY_NUMBER_TAG, 1 + random.below(24));
      fixed64(writer, LOG_TIME_TAG, 1_700_000_000_000_000_000n + BigInt(random.below(1e9)));
      if (random.chance(0.5)) bytes(writer, LOG_TRACE_ID_TAG, random, 16);
    }),
  traces: (writer, random, id, settings) =>
    message(writer, SCOPE_ITEM_TAG, () => {
      text(writer, SPAN_NAME_TAG, `span ${id}`);
      if (random.chance(0.5)) bytes(writer, SPAN_TRACE_ID_TAG, random, 16);
      else lengthDelimited(writer, SPAN_TRACE_ID_TAG, Buffer.alloc(16, 1 + random.below(8))); // a trace of several spans
      bytes(writer, SPAN_ID_TAG, random, 8);
      attributes(writer, SPAN_ATTRIBUTES_TAG, random, id, settings);
      integer(writer, SPAN_KIND_TAG, random.below(6));
      fixed64(writer, SPAN_START_TIME_TAG, 1_700_000_000_000_000_000n);
    }),
  metrics: (writer, random, id, settings) =>
    message(writer, SCOPE_ITEM_TAG, () => {
      text(writer, METRIC_NAME_TAG, `metric.${id}`);
      message(writer, GAUGE_TAG, () =>
        message(writer, DATA_POINT_TAG, () => {
          attributes(writer, NUMBER_ATTRIBUTES_TAG, random, id, settings);
          fixed64(writer, DATA_POINT_TIME_TAG, 1_700_000_000_000_000_000n);
          fixed64(writer, NUMBER_INT_TAG, BigInt(random.below(1000)));
          integer(writer, NUMBER_FLAGS_TAG, random.pick([0, RESERVED_FLAG]));
        }),
      );
    }),
};

function attributes(
  writer: WireWriter,
  tag: number,
  random: Random,
  id: string,
  { attributes: more, unknownFields }: SampleSettings,
): void {
  const wanted = more?.(id, random) ?? {};
  for (const [key, value] of ODD_ATTRIBUTES)
    if (random.chance(0.4) && !(key in wanted)) attribute(writer, tag, key, value(random));
  for (const key in wanted) if (key !== SAMPLE_ID) attribute(writer, tag, key, wanted[key]!);
  attribute(writer, tag, SAMPLE_ID, id);
  if (unknownFields) text(writer, UNKNOWN_TAG, unknownFieldOf(id));
}

/** Attributes of all types, with unusual values. */
const ODD_ATTRIBUTES: readonly (readonly [key: string, value: (random: Random) => Value])[] = [
  ["http.status", (random) => random.below(600)],
  ["user.name", (random) => random.pick(["ann", "Zoë", "", "\u{1f600}"])],
  ["ok", (random) => random.chance(0.5)],
  ["large", () => 2n ** 62n],
  ["ratio", (random) => random.next() - 0.5],
  ["bytes", (random) => Buffer.from([0, 255, random.below(256)])],
  ["list", () => ["a", 1, false, ["nested"]]],
  ["map", () => ({ deep: { deeper: null } })],
  ["", () => "a key without a name"],
];

function attribute(writer: WireWriter, tag: number, key: string, value: Value): void {
  message(writer, tag, () => writeKeyValue(writer, key, value));
}

function message(writer: WireWriter, tag: number, write: () => void): void {
  writer.varint(tag);
  writer.begin();
  write();
  writer.end();
}

function text(writer: WireWriter, tag: number, value: string): void {
  writer.varint(tag);
  writer.text(value);
}

function bytes(writer: WireWriter, tag: number, random: Random, size: number): void {
  const value = Buffer.allocUnsafe(size);
  for (let i = 0; i < size; i++) value[i] = 1 + random.below(255);
  lengthDelimited(writer, tag, value);
}

function lengthDelimited(writer: WireWriter, tag: number, value: Uint8Array): void {
  writer.varint(tag);
  writer.lengthDelimited(value);
}

/**
 * Writes a varint one byte longer than necessary, as some encoders do: decoding and encoding it again would change the
 * bytes.
 */
function integer(writer: WireWriter, tag: number, value: number): void {
  writer.varint(tag);
  writer.byte(value | 128);
  writer.byte(0);
}

function fixed64(writer: WireWriter, tag: number, value: bigint): void {
  writer.varint(tag);
  writer.fixed64(value);
}
