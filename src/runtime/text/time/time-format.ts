import { withoutEnd } from "../delimited-text.js";
import { TextError } from "../text-error.js";
import { DAYS, type FieldName, type LayoutPart, MONTHS } from "./time-layout.js";
import type { ZonedTime } from "./time-zones.js";

const SECOND = 1_000_000_000n;

/** A time split into its parts in its own zone. */
export interface Calendar {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanosecond: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly dayOfYear: number;
}

export function calendarOf(time: ZonedTime): Calendar {
  const local = time.nanos + BigInt(time.zone.offsetSeconds) * SECOND;
  const nanosecond = ((local % SECOND) + SECOND) % SECOND;
  const date = dateOf((local - nanosecond) / 1_000_000n);
  const year = date.getUTCFullYear();
  return {
    year,
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    nanosecond: Number(nanosecond),
    weekday: date.getUTCDay(),
    dayOfYear: Math.floor((date.getTime() - Date.UTC(year, 0, 1)) / 86_400_000) + 1,
  };
}

export function formatTime(parts: readonly LayoutPart[], time: ZonedTime): string {
  const calendar = calendarOf(time);
  return parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      if (part.kind === "field") return fieldText(part.field, calendar, time);
      const digits = String(calendar.nanosecond).padStart(9, "0").slice(0, part.digits);
      const shown = part.exact ? digits : withoutEnd(digits, "0");
      return shown === "" ? "" : part.separator + shown;
    })
    .join("");
}

const pad = (value: number, width = 2, fill = "0") => String(value).padStart(width, fill);

function fieldText(field: FieldName, c: Calendar, time: ZonedTime): string {
  switch (field) {
    case "January":
      return MONTHS[c.month - 1]!;
    case "Jan":
      return MONTHS[c.month - 1]!.slice(0, 3);
    case "Monday":
      return DAYS[c.weekday]!;
    case "Mon":
      return DAYS[c.weekday]!.slice(0, 3);
    case "MST":
      return time.zone.name;
    case "\ue000":
    case "2006":
      return pad(c.year, 4);
    case "06":
      return pad(c.year % 100);
    case "01":
      return pad(c.month);
    case "1":
      return String(c.month);
    case "\ue001":
      return pad(c.month, 2, " ");
    case "02":
      return pad(c.day);
    case "2":
      return String(c.day);
    case "_2":
      return pad(c.day, 2, " ");
    case "__2":
      return pad(c.dayOfYear, 3, " ");
    case "002":
      return pad(c.dayOfYear, 3);
    case "15":
      return pad(c.hour);
    case "03":
      return pad(c.hour % 12 || 12);
    case "3":
      return String(c.hour % 12 || 12);
    case "04":
      return pad(c.minute);
    case "4":
      return String(c.minute);
    case "05":
      return pad(c.second);
    case "5":
      return String(c.second);
    case "PM":
      return c.hour < 12 ? "AM" : "PM";
    case "pm":
      return c.hour < 12 ? "am" : "pm";
    default:
      return offsetText(field, time.zone.offsetSeconds);
  }
}

function offsetText(field: FieldName, seconds: number): string {
  if (field.startsWith("Z") && seconds === 0) return "Z";
  const absolute = Math.abs(seconds);
  const numbers = [Math.floor(absolute / 3600), Math.floor(absolute / 60) % 60, absolute % 60];
  const colon = field.includes(":") ? ":" : "";
  const count = field.replace(/\D/g, "").length / 2;
  return (
    (seconds < 0 ? "-" : "+") +
    numbers
      .slice(0, count)
      .map((n) => pad(n))
      .join(colon)
  );
}

/** A duration in nanoseconds as Go writes it: 1h0m0.5s, 1.5ms, 0s. */
export function formatDuration(nanos: bigint): string {
  const sign = nanos < 0n ? "-" : "";
  const absolute = nanos < 0n ? -nanos : nanos;
  if (absolute < SECOND) return absolute === 0n ? "0s" : sign + formatBelowSecond(absolute);
  const [hours, minutes] = [absolute / (3600n * SECOND), (absolute / (60n * SECOND)) % 60n];
  const seconds = `${withDecimals(absolute % (60n * SECOND), 9)}s`;
  return `${sign}${hours > 0n ? `${hours}h` : ""}${hours > 0n || minutes > 0n ? `${minutes}m` : ""}${seconds}`;
}

function formatBelowSecond(nanos: bigint): string {
  if (nanos < 1000n) return `${nanos}ns`;
  return nanos < 1_000_000n ? `${withDecimals(nanos, 3)}µs` : `${withDecimals(nanos, 6)}ms`;
}

function withDecimals(value: bigint, digits: number): string {
  const scale = 10n ** BigInt(digits);
  const fraction = withoutEnd(String(value % scale).padStart(digits, "0"), "0");
  return `${value / scale}${fraction === "" ? "" : `.${fraction}`}`;
}

const MAX_DATE_MS = 8_640_000_000_000_000n;

/** Throws if it is further away than a Date can be, about 270,000 years. */
export function dateOf(milliseconds: bigint): Date {
  if (milliseconds > MAX_DATE_MS || milliseconds < -MAX_DATE_MS)
    throw new TextError("the time is too far away to be written as a date");
  return new Date(Number(milliseconds));
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Parses a duration in Go's notation, such as -1h30m or 1.5s. Returns nanoseconds. */
export function parseGoDuration(text: string): bigint {
  const match =
    text.length > 100 ? null : /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text);
  if (match === null) throw new TextError(`${JSON.stringify(text.slice(0, 40))} is not a duration`);
  let nanos = 0n;
  // At most 100 characters.
  for (const [, whole, fraction, unit = ""] of match[2]!.matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const scale = UNITS[unit]!;
    nanos += BigInt(whole || 0) * scale;
    if (fraction) nanos += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  if (nanos >= 2n ** 63n) throw new TextError(`the duration ${JSON.stringify(text.slice(0, 40))} is too long`);
  return match[1] === "-" ? -nanos : nanos;
}
