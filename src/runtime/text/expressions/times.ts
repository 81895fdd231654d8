import { calendarOf, formatDuration, formatTime, parseGoDuration } from "../time/time-format.js";
import { DAYS, MONTHS, parseGoLayout } from "../time/time-layout.js";
import { parseTime } from "../time/time-parse.js";
import { type TimeZone, UTC, type ZonedTime, zoneAt } from "../time/time-zones.js";
import { ExpressionError } from "./tokens.js";

/** A point in time, such as `timestamp`, `now()` and `date("2026-01-31")`. */
export class ExpressionTime implements ZonedTime {
  readonly nanos: bigint;
  readonly zone: TimeZone;

  constructor(nanos: bigint, zone: TimeZone = UTC) {
    this.nanos = nanos;
    this.zone = zone;
  }

  toString(): string {
    return formatTime(GO_TIME, this);
  }
}

/** The difference of two times, such as `duration("1h")`. */
export class ExpressionDuration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }

  toString(): string {
    return formatDuration(this.nanos);
  }
}

/** A moment of the year 1, before all others: the time of an entry that has none. */
export const ZERO_TIME = new ExpressionTime(-62_135_596_800_000_000_000n);

const GO_TIME = parseGoLayout("2006-01-02 15:04:05.999999999 -0700 MST");

/** The layouts that `date` tries when it is given none. */
const DATE_LAYOUTS = [
  "2006-01-02",
  "15:04:05",
  "2006-01-02 15:04:05",
  "2006-01-02T15:04:05Z07:00",
  "02 Jan 06 15:04 MST",
  "Monday, 02-Jan-06 15:04:05 MST",
  "Mon, 02 Jan 2006 15:04:05 MST",
].map(parseGoLayout);

export function now(): ExpressionTime {
  return new ExpressionTime(BigInt(Date.now()) * 1_000_000n);
}

export function readDate(text: string, layout?: string, location?: string): ExpressionTime {
  const layouts = layout === undefined ? DATE_LAYOUTS : [parseGoLayout(layout)];
  for (const parts of layouts) {
    try {
      const { nanos, zone } = parseTime(parts, text, location, now().nanos);
      return new ExpressionTime(nanos, zone);
    } catch {
      // The next layout may fit.
    }
  }
  throw new ExpressionError(`${JSON.stringify(text.slice(0, 40))} is not a date`);
}

export function readDuration(text: string): ExpressionDuration {
  try {
    return new ExpressionDuration(parseGoDuration(text));
  } catch (error) {
    throw new ExpressionError((error as Error).message);
  }
}

type Method<T> = (of: T, ...args: unknown[]) => unknown;

const TIME_METHODS: Readonly<Record<string, Method<ExpressionTime>>> = {
  Unix: ({ nanos }) => floorDivide(nanos, 1_000_000_000n),
  UnixMilli: ({ nanos }) => floorDivide(nanos, 1_000_000n),
  UnixMicro: ({ nanos }) => floorDivide(nanos, 1000n),
  UnixNano: ({ nanos }) => nanos,
  Year: (time) => BigInt(calendarOf(time).year),
  Month: (time) => MONTHS[calendarOf(time).month - 1]!,
  Day: (time) => BigInt(calendarOf(time).day),
  Hour: (time) => BigInt(calendarOf(time).hour),
  Minute: (time) => BigInt(calendarOf(time).minute),
  Second: (time) => BigInt(calendarOf(time).second),
  Nanosecond: (time) => BigInt(calendarOf(time).nanosecond),
  Weekday: (time) => DAYS[calendarOf(time).weekday]!,
  YearDay: (time) => BigInt(calendarOf(time).dayOfYear),
  Format: (time, layout) => formatTime(parseGoLayout(String(layout)), time),
  String: (time) => String(time),
  IsZero: ({ nanos }) => nanos === ZERO_TIME.nanos,
  UTC: ({ nanos }) => new ExpressionTime(nanos),
  In: ({ nanos }, location) => new ExpressionTime(nanos, zoneAt(String(location), Number(nanos / 1_000_000n))),
  Before: ({ nanos }, other) => nanos < timeOf(other, "Before").nanos,
  After: ({ nanos }, other) => nanos > timeOf(other, "After").nanos,
  Equal: ({ nanos }, other) => nanos === timeOf(other, "Equal").nanos,
  Sub: ({ nanos }, other) => new ExpressionDuration(nanos - timeOf(other, "Sub").nanos),
  Add: ({ nanos, zone }, by) => new ExpressionTime(nanos + durationOf(by, "Add").nanos, zone),
};

const DURATION_METHODS: Readonly<Record<string, Method<ExpressionDuration>>> = {
  Hours: ({ nanos }) => Number(nanos) / 3_600_000_000_000,
  Minutes: ({ nanos }) => Number(nanos) / 60_000_000_000,
  Seconds: ({ nanos }) => Number(nanos) / 1_000_000_000,
  Milliseconds: ({ nanos }) => nanos / 1_000_000n,
  Microseconds: ({ nanos }) => nanos / 1000n,
  Nanoseconds: ({ nanos }) => nanos,
  String: (duration) => String(duration),
};

/** Calls a method of a time or duration, as in `timestamp.Year()`. */
export function callMethod(of: unknown, name: string, args: readonly unknown[]): unknown {
  if (of instanceof ExpressionTime && Object.hasOwn(TIME_METHODS, name)) return TIME_METHODS[name]!(of, ...args);
  if (of instanceof ExpressionDuration && Object.hasOwn(DURATION_METHODS, name))
    return DURATION_METHODS[name]!(of, ...args);
  throw new ExpressionError(`there is no method ${name} here; times and durations have methods`);
}

/** The sum or difference of times and durations; undefined if `a` and `b` are others. */
export function calculateTime(
  a: unknown,
  sign: "+" | "-",
  b: unknown,
): ExpressionTime | ExpressionDuration | undefined {
  const by = (nanos: bigint) => (sign === "+" ? nanos : -nanos);
  if (a instanceof ExpressionTime && b instanceof ExpressionDuration)
    return new ExpressionTime(a.nanos + by(b.nanos), a.zone);
  if (a instanceof ExpressionDuration && b instanceof ExpressionDuration)
    return new ExpressionDuration(a.nanos + by(b.nanos));
  if (a instanceof ExpressionDuration && b instanceof ExpressionTime && sign === "+")
    return new ExpressionTime(a.nanos + b.nanos, b.zone);
  if (a instanceof ExpressionTime && b instanceof ExpressionTime && sign === "-")
    return new ExpressionDuration(a.nanos - b.nanos);
  return undefined;
}

function timeOf(value: unknown, what: string): ExpressionTime {
  if (value instanceof ExpressionTime) return value;
  throw new ExpressionError(`${what} needs a time`);
}

function durationOf(value: unknown, what: string): ExpressionDuration {
  if (value instanceof ExpressionDuration) return value;
  throw new ExpressionError(`${what} needs a duration`);
}

function floorDivide(nanos: bigint, by: bigint): bigint {
  return (nanos - (((nanos % by) + by) % by)) / by;
}
