import type { LogInput } from "../embed/log-record.js";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"];

/** What pino and its OpenTelemetry instrumentation call things, and what OpenTelemetry does. */
const NAMES = new Map([
  ["pid", "process.pid"],
  ["hostname", "host.name"],
  ["name", "logger.name"],
]);

/**
 * A line of pino as a log record: `msg` is the body, `level` the severity, `time` the time, `err` becomes exception.*,
 * trace_id and span_id lead to the trace, and everything else (bindings, merged objects) is an attribute. What is no
 * line of pino is a record with the text as its body.
 */
export function recordOfLine(line: string): LogInput {
  const fields = parsed(line);
  if (fields === undefined) return { body: line };
  const { level, time, msg, err, trace_id: traceId, span_id: spanId, trace_flags: _, ...others } = fields;
  return {
    ...severityOf(level),
    ...timeOf(time),
    ...(msg !== undefined && { body: msg }),
    attributes: { ...named(others), ...exceptionOf(err) },
    ...(typeof traceId === "string" && { traceId }),
    ...(typeof spanId === "string" && { spanId }),
  };
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Levels of one's own lie between pino's: 35 is an `info2`, as OpenTelemetry numbers them. */
function severityOf(level: unknown): Pick<LogInput, "severity" | "severityNumber"> {
  if (typeof level === "string") return { severity: level };
  if (typeof level !== "number" || !(level > 0)) return {};
  const step = Math.min(Math.max(Math.floor(level / 10), 1), LEVELS.length);
  const between = Math.min(Math.floor(Math.max(level - step * 10, 0) / 2.5), 3);
  return { severity: LEVELS[step - 1]!, severityNumber: (step - 1) * 4 + 1 + between };
}

function timeOf(time: unknown): Pick<LogInput, "timestamp"> {
  const ms = typeof time === "string" ? Date.parse(time) : time;
  return typeof ms === "number" && Number.isFinite(ms) ? { timestamp: ms } : {};
}

function named(fields: Record<string, unknown>): Record<string, unknown> {
  const attributes: Record<string, unknown> = Object.create(null);
  for (const [key, value] of Object.entries(fields)) attributes[NAMES.get(key) ?? key] = value;
  return attributes;
}

function exceptionOf(err: unknown): Record<string, unknown> {
  if (typeof err !== "object" || err === null) return err === undefined ? {} : { err };
  const { type, message, stack, ...others } = err as Record<string, unknown>;
  return {
    ...(type !== undefined && { "exception.type": type }),
    ...(message !== undefined && { "exception.message": message }),
    ...(stack !== undefined && { "exception.stacktrace": stack }),
    ...(Object.keys(others).length > 0 && { err: others }),
  };
}
