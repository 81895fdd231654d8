import { type LogFn, type Logger as PinoLogger, pino } from "pino";
import type { Logger } from "#contract";
import { maskStrings, maskText } from "#text";
import { sourceStack, thrownAt } from "../errors/source-position.js";

/** Destination of log lines. Gets one line of JSON, including its line break; must not throw or block. */
export interface LogOutput {
  write(line: string): void;
}

interface LoggerSettings {
  readonly level: "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  readonly initialFields: Readonly<Record<string, unknown>>;
  readonly output: LogOutput;
}

/**
 * The agent's own log: every line has `time` (ISO), `level` and `msg`, then the fields. Texts may come from outside, so
 * they are masked.
 */
export function createLogger({ level, initialFields, output }: LoggerSettings): Logger {
  const withStack = level === "debug";
  const options = {
    level,
    base: { ...initialFields },
    timestamp: pino.stdTimeFunctions.isoTime,
    // Errors are converted below, whatever their key; pino would convert the one under this key again.
    serializers: { err: (value: unknown) => value },
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: object) => maskStrings(loggableFields(fields, withStack), KEPT_FIELDS),
    },
    hooks: {
      // Plugins may call it with a message alone.
      logMethod(this: PinoLogger, args: Parameters<LogFn>, method: LogFn) {
        const masked = args.map((argument: unknown) => (typeof argument === "string" ? maskText(argument) : argument));
        method.apply(this, masked as Parameters<LogFn>);
      },
    },
  };
  return pino(options, output);
}

/** The name of an authenticated operator, who may be known by an e-mail address, and our own advice. */
const KEPT_FIELDS: ReadonlySet<string> = new Set(["actor", "advice"]);

/**
 * Masks what it passes on to another logger, such as that of the program around an embedded agent. Fields of child
 * loggers are names in the config and stay.
 */
export function maskedLogger(logger: Logger): Logger {
  const method = (level: "debug" | "info" | "warn" | "error") => (fields: object, message: string) =>
    logger[level](maskStrings(fields, KEPT_FIELDS), maskText(message));
  return {
    debug: method("debug"),
    info: method("info"),
    warn: method("warn"),
    error: method("error"),
    child: (fields) => maskedLogger(logger.child(fields)),
  };
}

const MAX_CAUSES = 4;

/**
 * Fields of an error in a log line: message, code, causes, and where a plugin threw it; the stack only if `withStack`
 * is true.
 */
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

/** Converts every error in the fields, and 64-bit integers to strings. */
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
