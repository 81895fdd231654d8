import { WireWriter, writeKeyValue } from "#otlp/bytes";
import {
  EXEMPLAR_ATTRIBUTES_TAG,
  EXEMPLAR_DOUBLE_TAG,
  EXEMPLAR_SPAN_ID_TAG,
  EXEMPLAR_TIME_TAG,
  EXEMPLAR_TRACE_ID_TAG,
  EXPONENTIAL_EXEMPLARS_TAG,
} from "#otlp/metric-tags";
import type { ExemplarText } from "../exposition/exposition-reader.js";

/** Encodes the body of an OTLP Exemplar. Valid `trace_id` and `span_id` labels go into their OTLP fields. */
export function encodeExemplar({ labels, value, timeMs }: ExemplarText): Uint8Array {
  const writer = new WireWriter(128);
  if (!Number.isNaN(timeMs)) {
    writer.byte(EXEMPLAR_TIME_TAG);
    writeTime(writer, timeMs);
  }
  writer.byte(EXEMPLAR_DOUBLE_TAG);
  writer.double(value);
  for (const [name, text] of labels) {
    if (name === "span_id" && /^[0-9a-f]{16}$/i.test(text)) writeId(writer, EXEMPLAR_SPAN_ID_TAG, text);
    else if (name === "trace_id" && /^[0-9a-f]{32}$/i.test(text)) writeId(writer, EXEMPLAR_TRACE_ID_TAG, text);
    else {
      writer.byte(EXEMPLAR_ATTRIBUTES_TAG);
      writer.begin();
      writeKeyValue(writer, name, text);
      writer.end();
    }
  }
  return writer.written();
}

function writeId(writer: WireWriter, tag: number, hex: string): void {
  writer.byte(tag);
  writer.lengthDelimited(Buffer.from(hex, "hex"));
}

/** Appends these exemplars to an ExponentialHistogramDataPoint. */
export function withExemplars(body: Uint8Array, exemplars: readonly ExemplarText[]): Uint8Array {
  if (exemplars.length === 0) return body;
  const writer = new WireWriter(body.length + exemplars.length * 128);
  writer.copy(body, 0, body.length);
  for (const exemplar of exemplars) {
    writer.byte(EXPONENTIAL_EXEMPLARS_TAG);
    writer.lengthDelimited(encodeExemplar(exemplar));
  }
  return writer.written();
}

/**
 * Writes milliseconds since 1970 as a fixed64 of nanoseconds, without a bigint. Times repeat, so the encoding of the
 * last one is cached. Times before 1970 count as 1970.
 */
export class NanosecondsWriter {
  private ms = Number.NaN;
  private low = 0;
  private high = 0;

  /** Writes eight bytes at `at` and returns where they end. */
  put(view: DataView, at: number, timeMs: number): number {
    if (timeMs !== this.ms) this.set(timeMs);
    view.setUint32(at, this.low, true);
    view.setUint32(at + 4, this.high, true);
    return at + 8;
  }

  private set(timeMs: number): void {
    this.ms = timeMs;
    const ms = Math.max(0, Math.floor(timeMs));
    const lowMs = ms % 0x10000;
    const high = ((ms - lowMs) / 0x10000) * 1e6;
    const sum = (high % 0x10000) * 0x10000 + lowMs * 1e6;
    this.low = sum % 0x1_0000_0000;
    this.high = Math.floor(high / 0x10000) + Math.floor(sum / 0x1_0000_0000);
  }
}

const shared = new NanosecondsWriter();

export function writeTime(writer: WireWriter, timeMs: number): void {
  writer.reserve(8);
  writer.length = shared.put(writer.view, writer.length, timeMs);
}
