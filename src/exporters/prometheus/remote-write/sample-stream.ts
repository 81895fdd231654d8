import { MAX_SNAPPY_OFFSET } from "#codecs/compression";
import { after, varint, viewOf, WireWriter } from "#otlp/bytes";
import type { Label } from "../labels.js";
import type { SampleLabels } from "./remote-series.js";
import { SnappyBlockWriter } from "./snappy-block-writer.js";
import {
  LABEL_NAME_TAG,
  LABEL_VALUE_TAG,
  SAMPLE_TIMESTAMP_TAG,
  SAMPLE_VALUE_TAG,
  V1_LABELS_TAG,
  V1_SAMPLES_TAG,
  V1_TIMESERIES_TAG,
} from "./tags.js";

/** Times from 1971 to 2109 take six bytes. */
const MIN_TIME_MS = 2 ** 35;
const MAX_TIME_MS = 2 ** 42;
/** Bytes after the head of a sample: its value in eight bytes, and its time after a tag. */
const REST_BYTES = 15;
const STALE_NAN = Buffer.from("020000000000f07f", "hex");
/** Longer labels are not compared with those of the previous sample. */
const MAX_COMPARED_BYTES = MAX_SNAPPY_OFFSET / 2 - REST_BYTES;

/**
 * Writes samples of remote write 1.0 directly as a Snappy block. A sample consists of the head of its series, its value
 * in eight bytes and a time. Mostly it follows the same series as the last time, with an equal time: then its
 * compressed form is known, except for the value.
 *
 * Invariant: `last`, if defined, is the series of the number whose bytes end the block, and `lastTimeMs` is its time.
 */
export class SampleStream {
  private readonly block = new SnappyBlockWriter(65_536);
  private last: SampleLabels | undefined;
  private lastTimeMs = 0;
  private readonly rest = new Uint8Array(REST_BYTES);
  private readonly restView = new DataView(this.rest.buffer);

  /** Bytes before compression. */
  get size(): number {
    return this.block.length;
  }

  /** Returns false and does nothing if the time is outside the range that this method can write. */
  addNumber(labels: SampleLabels, value: number, timeMs: number, isStale: boolean): boolean {
    if (!(timeMs >= MIN_TIME_MS && timeMs < MAX_TIME_MS)) return false;
    const { block, last, rest } = this;
    const head = (labels.head ??= encodeHead(labels.labels));
    if (last === undefined) block.literals(head, 0, head.length);
    else if (labels.packed !== undefined && labels.packedAfter === last.id) block.piece(labels.packed, head.length);
    else this.compare(last, labels, head);
    const hasTime = last !== undefined && timeMs === this.lastTimeMs;
    if (isStale) rest.set(STALE_NAN);
    else if (!hasTime) this.restView.setFloat64(0, value, true);
    if (hasTime) {
      if (isStale) block.literals(rest, 0, 8);
      else block.double(value);
      block.copy(head.length + REST_BYTES, REST_BYTES - 8);
    } else {
      this.putTime(timeMs);
      block.literals(rest, 0, REST_BYTES);
    }
    this.last = head.length < MAX_COMPARED_BYTES ? labels : undefined;
    return true;
  }

  /** Appends whole fields of the request, of any kind. */
  addFields(bytes: Uint8Array): void {
    this.last = undefined;
    this.block.compress(bytes);
  }

  finish(): Buffer {
    return this.block.finish();
  }

  /** Keeps the compressed form when two series follow each other for the second time, because they will do so again. */
  private compare(last: SampleLabels, labels: SampleLabels, head: Uint8Array): void {
    const { block } = this;
    const from = block.end;
    writeDifference(block, last.head!, head);
    const isKept = labels.packedAfter === last.id;
    labels.packed = isKept ? viewOf(Uint8Array.from(block.bytes.subarray(from, block.end))) : undefined;
    labels.packedAfter = last.id;
  }

  private putTime(timeMs: number): void {
    this.lastTimeMs = timeMs;
    const { rest } = this;
    rest[8] = SAMPLE_TIMESTAMP_TAG;
    let left = timeMs;
    for (let i = 9; i < 14; i++) {
      rest[i] = (left & 127) | 128;
      left = Math.floor(left / 128);
    }
    rest[14] = left;
  }
}

/**
 * Encodes a TimeSeries up to the value of its single sample: tag and length, labels, and the beginning of the sample.
 */
function encodeHead(labels: readonly Label[]): Uint8Array {
  const body = encodeLabels(labels);
  const out = new WireWriter(body.length + 16);
  out.byte(V1_TIMESERIES_TAG);
  out.varint(body.length + 3 + REST_BYTES);
  out.copy(body, 0, body.length);
  out.byte(V1_SAMPLES_TAG);
  out.byte(REST_BYTES + 1);
  out.byte(SAMPLE_VALUE_TAG);
  return Uint8Array.from(out.written());
}

export function encodeLabels(labels: readonly Label[]): Uint8Array {
  const out = new WireWriter(256);
  for (const [name, value] of labels) {
    out.byte(V1_LABELS_TAG);
    out.begin(name.length + value.length + 4);
    out.byte(LABEL_NAME_TAG);
    out.text(name);
    out.byte(LABEL_VALUE_TAG);
    out.text(value);
    out.end();
  }
  return out.written();
}

/** Shorter repeats would not save any bytes. */
const MIN_COPY = 4;

/**
 * Writes a head as copies of the previous head and the parts that differ. Labels of the same name are compared byte by
 * byte; a label that the previous head lacks is written as it is.
 */
function writeDifference(block: SnappyBlockWriter, before: Uint8Array, head: Uint8Array): void {
  const distance = before.length + REST_BYTES;
  let written = 0;
  // A repeat that was found and may continue.
  let copyStart = 0;
  let copyEnd = 0;
  let copyOffset = 0;
  let other = fieldsStart(before);
  for (let field = fieldsStart(head), end = 0; field < head.length; field = end) {
    end = fieldEnd(head, field);
    other = sameField(before, other, head, field);
    const otherEnd = other < before.length ? fieldEnd(before, other) : other;
    for (let i = field, j = other; i < end && j < otherEnd; i++, j++) {
      if (head[i] !== before[j]) continue;
      const start = i;
      for (; i < end && j < otherEnd && head[i] === before[j]; i++) j++;
      const offset = distance + i - j;
      if (start === copyEnd && offset === copyOffset) copyEnd = i;
      else if (i - start >= MIN_COPY) {
        written = writeRepeat(block, head, written, copyStart, copyEnd, copyOffset);
        copyStart = start;
        copyEnd = i;
        copyOffset = offset;
      }
    }
  }
  written = writeRepeat(block, head, written, copyStart, copyEnd, copyOffset);
  block.literals(head, written, head.length);
}

/** Returns how far the head is written. */
function writeRepeat(
  block: SnappyBlockWriter,
  head: Uint8Array,
  written: number,
  start: number,
  end: number,
  offset: number,
): number {
  if (start === end) return written;
  block.literals(head, written, start);
  block.copy(offset, end - start);
  return end;
}

/** Returns the position after the tag and length of the TimeSeries. */
function fieldsStart(head: Uint8Array): number {
  varint(head, 1);
  return after;
}

/** Returns the end of a label. The incomplete sample after the labels ends with the head. */
function fieldEnd(head: Uint8Array, at: number): number {
  if (head[at] !== V1_LABELS_TAG) return head.length;
  const size = varint(head, at + 1);
  return after + size;
}

/**
 * Returns the field of `before`, from `k` on, with the same label name as the field at `i` in `head`, or the place
 * where it would be.
 */
function sameField(before: Uint8Array, k: number, head: Uint8Array, i: number): number {
  while (k < before.length && compareNames(before, k, head, i) < 0) k = fieldEnd(before, k);
  return k;
}

/** Labels are sorted by name, and the sample comes after all of them. */
function compareNames(a: Uint8Array, i: number, b: Uint8Array, j: number): number {
  if (a[i] !== V1_LABELS_TAG || b[j] !== V1_LABELS_TAG) return a[i]! - b[j]!;
  varint(a, i + 1);
  const aSize = varint(a, after + 1);
  const aStart = after;
  varint(b, j + 1);
  const bSize = varint(b, after + 1);
  const bStart = after;
  const size = Math.min(aSize, bSize);
  for (let at = 0; at < size; at++) {
    const difference = a[aStart + at]! - b[bStart + at]!;
    if (difference !== 0) return difference;
  }
  return aSize - bSize;
}
