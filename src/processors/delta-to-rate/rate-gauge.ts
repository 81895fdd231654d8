import {
  bodyEnd,
  decodeText,
  double,
  fieldTag,
  findField,
  fixed32,
  message,
  nextBody,
  stepOver,
  valueAt,
  varint,
  type WireWriter,
} from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  GAUGE_TAG,
  METRIC_DATA_TAGS,
  METRIC_UNIT_TAG,
  NUMBER_DOUBLE_TAG,
  NUMBER_INT_TAG,
  SUM_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";

const DELTA = 1;
const TWO_32 = 2 ** 32;
const NANOSECONDS = 1_000_000_000;

/** Whether the metric [start, end) is a sum of deltas, and has no other data. */
export function isDeltaSum(b: Uint8Array, start: number, end: number): boolean {
  let sums = 0;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    if (fieldTag === SUM_TAG) sums++;
    else if (METRIC_DATA_TAGS.includes(fieldTag)) return false;
  }
  if (sums !== 1) return false;
  const [dataStart, dataEnd] = message(b, start, end, SUM_TAG);
  const at = findField(b, dataStart, dataEnd, TEMPORALITY_TAG);
  return at >= 0 && varint(b, at) === DELTA;
}

/** Writes the delta sum [start, end) as a gauge, whose unit has "/s" at its end. */
export function writeAsRate(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  out.copyFieldsExcept(b, start, end, REPLACED_IN_METRIC);
  const unit = decodeText(b, ...message(b, start, end, METRIC_UNIT_TAG));
  if (unit !== "") {
    out.byte(METRIC_UNIT_TAG);
    out.text(`${unit}/s`);
  }
  const [dataStart, dataEnd] = message(b, start, end, SUM_TAG);
  out.byte(GAUGE_TAG);
  out.begin(dataEnd - dataStart);
  for (let p = dataStart; (p = nextBody(b, p, dataEnd, DATA_POINT_TAG)) >= 0; ) {
    const stop = bodyEnd;
    out.byte(DATA_POINT_TAG);
    out.begin(stop - p);
    writePoint(out, b, p, stop);
    out.end();
    p = stop;
  }
  out.end();
}

const REPLACED_IN_METRIC: readonly number[] = [METRIC_UNIT_TAG, ...METRIC_DATA_TAGS];
const REPLACED_IN_POINT: readonly number[] = [NUMBER_DOUBLE_TAG, NUMBER_INT_TAG];

/** A point without a value stays without one. */
function writePoint(out: WireWriter, b: Uint8Array, start: number, end: number): void {
  let value: number | undefined;
  let from = -1;
  let time = -1;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    if (fieldTag === NUMBER_DOUBLE_TAG) value = double(b, valueAt);
    else if (fieldTag === NUMBER_INT_TAG) value = (fixed32(b, valueAt + 4) | 0) * TWO_32 + fixed32(b, valueAt);
    else if (fieldTag === DATA_POINT_START_TIME_TAG) from = valueAt;
    else if (fieldTag === DATA_POINT_TIME_TAG) time = valueAt;
  }
  out.copyFieldsExcept(b, start, end, REPLACED_IN_POINT);
  if (value === undefined) return;
  const seconds = secondsBetween(b, from, time);
  out.byte(NUMBER_DOUBLE_TAG);
  out.double(seconds > 0 ? value / seconds : 0);
}

/** The seconds from one time to the other, which are at these positions; -1 is the position of a time that is 0. */
function secondsBetween(b: Uint8Array, from: number, to: number): number {
  const low = lowAt(b, to) - lowAt(b, from);
  const nanoseconds = (highAt(b, to) - highAt(b, from)) * TWO_32 + low;
  if (!Number.isSafeInteger(nanoseconds)) return longSeconds(b, from, to);
  return Math.trunc(nanoseconds / NANOSECONDS) + (nanoseconds % NANOSECONDS) / NANOSECONDS;
}

/** The same for more than 104 days, for example because the start is missing. */
function longSeconds(b: Uint8Array, from: number, to: number): number {
  const nanoseconds = BigInt.asIntN(64, timeAt(b, to) - timeAt(b, from));
  const whole = nanoseconds / BigInt(NANOSECONDS);
  return Number(whole) + Number(nanoseconds % BigInt(NANOSECONDS)) / NANOSECONDS;
}

function timeAt(b: Uint8Array, at: number): bigint {
  return (BigInt(highAt(b, at)) << 32n) | BigInt(lowAt(b, at));
}

function lowAt(b: Uint8Array, at: number): number {
  return at < 0 ? 0 : fixed32(b, at);
}

function highAt(b: Uint8Array, at: number): number {
  return at < 0 ? 0 : fixed32(b, at + 4);
}
