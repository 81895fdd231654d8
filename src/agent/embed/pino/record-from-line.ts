import { SEVERITIES } from "#otlp/signals";
import type { LogInput } from "../log-record.js";
import { DEFAULT_FORMAT, type LineFormat } from "./line-format.js";

/** OpenTelemetry names of the fields that pino and its OpenTelemetry instrumentation write. */
const ATTRIBUTE_NAMES = new Map([
  ["pid", "process.pid"],
  ["hostname", "host.name"],
  ["name", "logger.name"],
]);

/**
 * Converts a line of pino to a log record: `msg` becomes the body, `level` the severity, `time` the timestamp, `err`
 * the attributes exception.*, and trace_id and span_id the ids of the trace. All other fields (bindings, merged
 * objects), and fields with unexpected values, become attributes. A line that is not pino's JSON becomes the body of a
 * record.
 */
export function recordFromLine(line: string, format: LineFormat = DEFAULT_FORMAT): LogInput {
  const fields = parseLine(line);
  if (fields === undefined) return { body: line };
  const { [format.messageKey]: body, [format.errorKey]: err, level, time, trace_flags: _, ...others } = fields;
  const { trace_id: traceId, span_id: spanId, ...attributes } = others;
  const severity = severityOf(level, format);
  const timestamp = timeOf(time);
  return {
    ...severity,
    ...(timestamp !== undefined && { timestamp }),
    ...(body !== undefined && { body }),
    attributes: {
      ...(level !== undefined && severity === undefined && { level }),
      ...(time !== undefined && timestamp === undefined && { time }),
      ...withOtelNames(attributes),
      ...exceptionOf(err, format.errorKey),
    },
    // An invalid id becomes an attribute later.
    ...(traceId !== undefined && { traceId: traceId as string }),
    ...(spanId !== undefined && { spanId: spanId as string }),
  };
}

function parseLine(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Custom levels are numbered between pino's own: 35 becomes INFO2, as OpenTelemetry numbers severities. */
function severityOf(level: unknown, { labels }: LineFormat): Pick<LogInput, "severity" | "severityNumber"> | undefined {
  if (typeof level === "string") return { severity: level };
  if (typeof level !== "number" || !(level > 0)) return undefined;
  const step = Math.min(Math.max(Math.floor(level / 10), 1), SEVERITIES.length);
  const between = Math.min(Math.floor(Math.max(level - step * 10, 0) / 2.5), 3);
  const label = Object.hasOwn(labels, level) ? String(labels[level]) : SEVERITIES[step - 1]!;
  return { severity: label, severityNumber: (step - 1) * 4 + 1 + between };
}

/**
 * Accepts milliseconds, seconds (pino's `unixTime`: values that would be in the 1970s as milliseconds), or a date
 * string.
 */
function timeOf(time: unknown): number | undefined {
  const number = typeof time === "string" ? Date.parse(time) : time;
  if (typeof number !== "number" || !Number.isFinite(number)) return undefined;
  return typeof time === "number" && number < MIN_TIME_MS ? number * 1000 : number;
}

const MIN_TIME_MS = 1e11;

function withOtelNames(fields: Record<string, unknown>): Record<string, unknown> {
  const attributes: Record<string, unknown> = Object.create(null);
  for (const [key, value] of Object.entries(fields)) attributes[ATTRIBUTE_NAMES.get(key) ?? key] = value;
  return attributes;
}

function exceptionOf(err: unknown, key: string): Record<string, unknown> {
  if (typeof err !== "object" || err === null) return err === undefined ? {} : { [key]: err };
  const { type, message, stack, ...others } = err as Record<string, unknown>;
  return {
    ...(type !== undefined && { "exception.type": type }),
    ...(message !== undefined && { "exception.message": message }),
    ...(stack !== undefined && { "exception.stacktrace": stack }),
    ...(Object.keys(others).length > 0 && { [key]: others }),
  };
}
