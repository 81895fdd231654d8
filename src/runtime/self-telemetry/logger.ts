import { pino } from "pino";
import type { Logger } from "../contract/observability.js";
import { loggableFields } from "./log-errors.js";

/** Where log lines go. Gets one line of JSON, with its line end; must not throw and must not wait. */
export interface LogOutput {
  write(line: string): void;
}

export interface LoggerSettings {
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
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: object) => loggableFields(fields, withStack),
    },
  };
  return pino(options, output);
}
