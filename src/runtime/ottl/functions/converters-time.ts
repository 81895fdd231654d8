import {
  type Calendar,
  calendarOf,
  formatTime,
  type LayoutPart,
  parseGoDuration,
  parseLayout,
  parseTime,
  type TimeNames,
  timeNames,
  zoneAt,
} from "#text";
import { isValueError } from "../values/error.js";
import { OttlDuration, OttlTime, type OttlValue } from "../values/value.js";
import { type CallArguments, type FunctionSpec, parameters } from "./function-spec.js";

/** Converters of times and durations. */

const DIRECTIVES = "strptime directives (%Y-%m-%dT%H:%M:%S) or a Go layout (2006-01-02T15:04:05)";

function calendarConverter(name: string, what: string, read: (calendar: Calendar) => number): FunctionSpec {
  return {
    name,
    parameters: parameters("time: time"),
    returns: "int",
    summary: `The ${what} of a time.`,
    example: `${name}(Now())`,
    compile(args) {
      const time = args.time("time");
      return (ctx) => BigInt(read(calendarOf(time(ctx))));
    },
  };
}

function durationConverter(name: string, nanos: bigint, isInteger: boolean): FunctionSpec {
  return {
    name,
    parameters: parameters("duration: duration"),
    returns: isInteger ? "int" : "double",
    summary: `A duration as ${isInteger ? "a whole number of" : ""} ${name.toLowerCase()}.`.replace("  ", " "),
    example: `${name}(Duration("1h"))`,
    compile(args) {
      const duration = args.duration("duration");
      if (isInteger) return (ctx) => duration(ctx).nanos / nanos;
      // Whole units and the rest are added separately, so the last digit equals Go's.
      return (ctx) => {
        const { nanos: value } = duration(ctx);
        return Number(value / nanos) + Number(value % nanos) / Number(nanos);
      };
    },
  };
}

function epochConverter(name: string, what: string, nanos: bigint): FunctionSpec {
  return {
    name,
    parameters: parameters("time: time"),
    returns: "int",
    summary: `A time as ${what} since 1970.`,
    example: `${name}(Now())`,
    compile(args) {
      const time = args.time("time");
      return (ctx) => BigInt.asIntN(64, floorDivide(time(ctx).nanos, nanos));
    },
  };
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

function layoutArgument(args: CallArguments, name: string): LayoutPart[] {
  const format = args.literalText(name);
  if (format === "") args.reject(name, "the format is empty");
  try {
    return parseLayout(format);
  } catch (error) {
    if (isValueError(error)) args.reject(name, error.message);
    throw error;
  }
}

function timeZoneArgument(args: CallArguments): string | undefined {
  if (!args.has("location")) return undefined;
  const written = args.literalText("location");
  if (written === "") return undefined;
  const name = written === "Local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : written;
  try {
    zoneAt(name, 0);
  } catch {
    args.reject("location", `no such time zone: ${name}`);
  }
  return name;
}

function localeArgument(args: CallArguments): TimeNames | undefined {
  if (!args.has("locale")) return undefined;
  const locale = args.literalText("locale");
  if (/^en\b/i.test(locale)) return undefined;
  try {
    return timeNames(locale);
  } catch (error) {
    if (isValueError(error)) args.reject("locale", error.message);
    throw error;
  }
}

/** Go counts from the year 1 when it truncates. */
const YEAR_ONE = 62_135_596_800n * 1_000_000_000n;

function truncate(time: OttlTime, duration: OttlDuration): OttlTime {
  if (duration.nanos <= 0n) return time;
  const since = time.nanos + YEAR_ONE;
  return new OttlTime(time.nanos - (((since % duration.nanos) + duration.nanos) % duration.nanos), time.zone);
}

const now = () => BigInt(Date.now()) * 1_000_000n;

export const TIME_CONVERTERS: readonly FunctionSpec[] = [
  {
    name: "Now",
    parameters: [],
    returns: "time",
    summary: "The current time.",
    example: 'set(attributes["seen"], UnixMilli(Now()))',
    compile: () => () => new OttlTime(now()),
  },
  {
    name: "Time",
    parameters: parameters("time: string", "format: STRING", "location?: STRING", "locale?: STRING"),
    returns: "time",
    summary: `Parses a time: the format uses ${DIRECTIVES}. Without a zone in it the time is in \`location\`, or UTC. Names of months and days are English, or of the language that \`locale\` names (\`fr\`, \`pt-BR\`).`,
    example: 'Time(body["time"], "%Y-%m-%d %H:%M:%S", "Europe/Berlin")',
    compile(args) {
      const text = args.text("time");
      const layout = layoutArgument(args, "format");
      const place = timeZoneArgument(args);
      const names = localeArgument(args);
      return (ctx) => {
        const { nanos, zone } = parseTime(layout, text(ctx), place, now(), names);
        return new OttlTime(nanos, zone);
      };
    },
  },
  {
    name: "FormatTime",
    parameters: parameters("time: time", "format: STRING"),
    returns: "string",
    summary: `A time as text: the format uses ${DIRECTIVES}.`,
    example: 'FormatTime(time, "%Y-%m-%d")',
    compile(args) {
      const time = args.time("time");
      const layout = layoutArgument(args, "format");
      return (ctx) => formatTime(layout, time(ctx));
    },
  },
  {
    name: "TruncateTime",
    parameters: parameters("time: time", "duration: duration"),
    returns: "time",
    summary: "A time truncated to a multiple of the duration.",
    example: 'TruncateTime(start_time, Duration("1h"))',
    compile(args) {
      const time = args.time("time");
      const duration = args.duration("duration");
      return (ctx) => truncate(time(ctx), duration(ctx));
    },
  },
  {
    name: "Unix",
    parameters: parameters("seconds: int", "nanoseconds?: int"),
    returns: "time",
    summary: "The time from seconds and nanoseconds since 1970.",
    example: "Unix(1672527600)",
    compile(args) {
      const seconds = args.int("seconds");
      const nanos = args.has("nanoseconds") ? args.int("nanoseconds") : () => 0n;
      return (ctx): OttlValue => new OttlTime(seconds(ctx) * 1_000_000_000n + nanos(ctx));
    },
  },
  {
    name: "Duration",
    parameters: parameters("duration: string"),
    returns: "duration",
    summary: "Parses a duration such as 1h30m, 1.5s or 100ms.",
    example: 'Duration("3s")',
    compile(args) {
      const text = args.text("duration");
      return (ctx) => new OttlDuration(parseGoDuration(text(ctx)));
    },
  },
  epochConverter("UnixNano", "nanoseconds", 1n),
  epochConverter("UnixMicro", "microseconds", 1000n),
  epochConverter("UnixMilli", "milliseconds", 1_000_000n),
  epochConverter("UnixSeconds", "seconds", 1_000_000_000n),
  durationConverter("Nanoseconds", 1n, true),
  durationConverter("Microseconds", 1000n, true),
  durationConverter("Milliseconds", 1_000_000n, true),
  durationConverter("Seconds", 1_000_000_000n, false),
  durationConverter("Minutes", 60_000_000_000n, false),
  durationConverter("Hours", 3_600_000_000_000n, false),
  calendarConverter("Year", "year", (c) => c.year),
  calendarConverter("Month", "month (1 to 12)", (c) => c.month),
  calendarConverter("Day", "day of the month", (c) => c.day),
  calendarConverter("Weekday", "day of the week (0 is Sunday)", (c) => c.weekday),
  calendarConverter("Hour", "hour", (c) => c.hour),
  calendarConverter("Minute", "minute", (c) => c.minute),
  calendarConverter("Second", "second", (c) => c.second),
  calendarConverter("Nanosecond", "nanosecond", (c) => c.nanosecond),
];
