import { Batch } from "#otlp";
import { type Value, WireWriter, writeKeyValue } from "#otlp/bytes";
import type { Signal } from "#otlp/signals";
import { readRecords } from "#otlp/views";
import type { Random } from "./random.js";

/** The attribute that identifies a record of a sample. */
export const SAMPLE_ID = "sample.id";

export interface SampleSettings {
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
    message(writer, 1, () => resourceGroup(writer, signal, random, some, settings));
  }
  if (settings.unknownFields) text(writer, UNKNOWN, "<unknown request>");
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

const UNKNOWN = 1999;

function resourceGroup(
  writer: WireWriter,
  signal: Signal,
  random: Random,
  ids: readonly string[],
  settings: SampleSettings,
): void {
  const service = random.pick(["shop", "cart", "mail"]);
  message(writer, 2, () => {
    for (const id of ids) RECORDS[signal](writer, random, id, settings);
    message(writer, 1, () => text(writer, 1, "sample.scope"));
  });
  // Written after the scopes on purpose: the order of fields has no meaning in protobuf.
  message(writer, 1, () => {
    attribute(writer, 1, "service.name", service);
    if (settings.unknownFields) text(writer, UNKNOWN, "<unknown resource>");
  });
}

/** Not the flag for "no value": an exporter may leave out points without a value. */
const RESERVED_FLAG = 2;

type WriteRecord = (writer: WireWriter, random: Random, id: string, settings: SampleSettings) => void;

const RECORDS: Readonly<Record<Signal, WriteRecord>> = {
  logs: (writer, random, id, settings) =>
    message(writer, 2, () => {
      attributes(writer, 6, random, id, settings);
      message(writer, 5, () => text(writer, 1, `body of ${id}`));
      integer(writer, 2, 1 + random.below(24));
      fixed64(writer, 1, 1_700_000_000_000_000_000n + BigInt(random.below(1e9)));
      if (random.chance(0.5)) bytes(writer, 9, random, 16);
    }),
  traces: (writer, random, id, settings) =>
    message(writer, 2, () => {
      text(writer, 5, `span ${id}`);
      if (random.chance(0.5)) bytes(writer, 1, random, 16);
      else lengthDelimited(writer, 1, Buffer.alloc(16, 1 + random.below(8))); // a trace of several spans
      bytes(writer, 2, random, 8);
      attributes(writer, 9, random, id, settings);
      integer(writer, 6, random.below(6));
      fixed64(writer, 7, 1_700_000_000_000_000_000n);
    }),
  metrics: (writer, random, id, settings) =>
    message(writer, 2, () => {
      text(writer, 1, `metric.${id}`);
      message(writer, 5, () =>
        message(writer, 1, () => {
          attributes(writer, 7, random, id, settings);
          fixed64(writer, 3, 1_700_000_000_000_000_000n);
          fixed64(writer, 6, BigInt(random.below(1000)));
          integer(writer, 8, random.pick([0, RESERVED_FLAG]));
        }),
      );
    }),
};

function attributes(
  writer: WireWriter,
  field: number,
  random: Random,
  id: string,
  { attributes: more, unknownFields }: SampleSettings,
): void {
  const wanted = more?.(id, random) ?? {};
  for (const [key, value] of ODD_ATTRIBUTES)
    if (random.chance(0.4) && !(key in wanted)) attribute(writer, field, key, value(random));
  for (const key in wanted) if (key !== SAMPLE_ID) attribute(writer, field, key, wanted[key]!);
  attribute(writer, field, SAMPLE_ID, id);
  if (unknownFields) text(writer, UNKNOWN, unknownFieldOf(id));
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

function attribute(writer: WireWriter, field: number, key: string, value: Value): void {
  message(writer, field, () => writeKeyValue(writer, key, value));
}

function message(writer: WireWriter, field: number, write: () => void): void {
  writer.varint((field << 3) | 2);
  writer.begin();
  write();
  writer.end();
}

function text(writer: WireWriter, field: number, value: string): void {
  writer.varint((field << 3) | 2);
  writer.text(value);
}

function bytes(writer: WireWriter, field: number, random: Random, size: number): void {
  const value = Buffer.allocUnsafe(size);
  for (let i = 0; i < size; i++) value[i] = 1 + random.below(255);
  lengthDelimited(writer, field, value);
}

function lengthDelimited(writer: WireWriter, field: number, value: Uint8Array): void {
  writer.varint((field << 3) | 2);
  writer.lengthDelimited(value);
}

/**
 * Writes a varint one byte longer than necessary, as some encoders do: decoding and encoding it again would change the
 * bytes.
 */
function integer(writer: WireWriter, field: number, value: number): void {
  writer.varint(field << 3);
  writer.byte(value | 128);
  writer.byte(0);
}

function fixed64(writer: WireWriter, field: number, value: bigint): void {
  writer.varint((field << 3) | 1);
  writer.fixed64(value);
}
