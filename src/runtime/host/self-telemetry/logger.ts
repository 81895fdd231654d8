import { pino } from "pino";
import type { Logger } from "#contract";
import { sourceStack, thrownAt } from "../errors/source-position.js";

/** Where log lines go. Gets one line of JSON, with its line end; must not throw and must not wait. */
export interface LogOutput {
  write(line: string): void;
}

interface LoggerSettings {
  readonly level: "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  readonly initialFields: Readonly<Record<string, unknown>>;
  readonly output: LogOutput;
}

/** The agent's own log: every line has `time` (ISO), `level` and `msg`, then the fields. */
export function createLogger({ level, initialFields, output }: LoggerSettings): Logger {
  const withStack = level === "debug";
  const options = {
    level,
    base: { ...initialFields },
    timestamp: pino.stdTimeFunctions.isoTime,
    // Errors are described below, whatever their key; pino would do it again for this one.
    serializers: { err: (value: unknown) => value },
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: object) => loggableFields(fields, withStack),
    },
  };
  return pino(options, output);
}

const MAX_CAUSES = 4;

/** What a log line says of an error: message, code, causes, where a plugin threw it; the stack only when `withStack`. */
function describeError(error: Error, withStack: boolean, depth = 0): Record<string, unknown> {
  const { name, message, cause } = error;
  const { code, status } = error as { code?: unknown; status?: unknown };
  const at = thrownAt(error);
  return {
    ...(name !== "Error" && { type: name }),
    message,
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    ...(at !== undefined && { at }),
    ...(withStack && { stack: sourceStack(error) }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: describeCause(cause, withStack, depth + 1) }),
  };
}

/** The fields of a log line with every error in them described, and 64-bit integers as text. */
function loggableFields(fields: object, withStack: boolean): Record<string, unknown> {
  const loggable: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value instanceof Error) loggable[key] = describeError(value, withStack);
    else loggable[key] = typeof value === "bigint" ? value.toString() : value;
  }
  return loggable;
}

function describeCause(cause: unknown, withStack: boolean, depth: number): unknown {
  return cause instanceof Error ? describeError(cause, withStack, depth) : String(cause);
}
