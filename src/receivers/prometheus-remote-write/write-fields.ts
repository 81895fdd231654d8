import type { WireWriter } from "#otlp/bytes";
import {
  EXEMPLAR_ATTRIBUTES_TAG,
  EXEMPLAR_DOUBLE_TAG,
  EXEMPLAR_SPAN_ID_TAG,
  EXEMPLAR_TIME_TAG,
  EXEMPLAR_TRACE_ID_TAG,
} from "#otlp/metric-tags";
import { KEY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { WrittenExemplar } from "./read-request.js";

const TWO_TO_32 = 2 ** 32;
const NANOSECONDS = 1_000_000;

/** Writes a time as nanoseconds; 0 and times before 1970 are left out. */
export function writeMilliseconds(writer: WireWriter, tag: number, ms: number): void {
  if (ms <= 0) return;
  // In two halves, because the product is beyond the exact numbers.
  const low = (ms % TWO_TO_32) * NANOSECONDS;
  const high = Math.floor(ms / TWO_TO_32) * NANOSECONDS + Math.floor(low / TWO_TO_32);
  writer.byte(tag);
  writer.fixed64OfHalves((low % TWO_TO_32) >>> 0, (high % TWO_TO_32) >>> 0);
}

/** Writes a KeyValue with a text. */
export function writeTextAttribute(writer: WireWriter, tag: number, key: string, value: string): void {
  writer.byte(tag);
  writer.begin(key.length + value.length + 6);
  writer.byte(KEY_TAG);
  writer.text(key);
  writer.byte(VALUE_TAG);
  writer.begin(value.length + 2);
  writer.byte(STRING_VALUE_TAG);
  writer.text(value);
  writer.end();
  writer.end();
}

/** Ids of traces and spans are labels of an exemplar; what is no id is left out. */
export function writeExemplar(writer: WireWriter, tag: number, { labels, value, timestamp }: WrittenExemplar): void {
  writer.byte(tag);
  writer.begin(60);
  writeMilliseconds(writer, EXEMPLAR_TIME_TAG, timestamp);
  writer.byte(EXEMPLAR_DOUBLE_TAG);
  writer.double(value);
  for (let i = 0; i < labels.length; i += 2) {
    const [name, label] = [labels[i]!, labels[i + 1]!];
    if (name === "trace_id") writeId(writer, EXEMPLAR_TRACE_ID_TAG, label, 16);
    else if (name === "span_id") writeId(writer, EXEMPLAR_SPAN_ID_TAG, label, 8);
    else writeTextAttribute(writer, EXEMPLAR_ATTRIBUTES_TAG, name, label);
  }
  writer.end();
}

function writeId(writer: WireWriter, tag: number, hex: string, size: number): void {
  if (!/^(?:[0-9a-f]{2})+$/i.test(hex)) return;
  const id = Buffer.alloc(size);
  Buffer.from(hex, "hex").copy(id);
  writer.byte(tag);
  writer.lengthDelimited(id);
}
