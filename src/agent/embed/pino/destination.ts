import type { LogInput } from "../log-record.js";
import { DEFAULT_FORMAT, formatFromMessage } from "./line-format.js";
import { recordFromLine } from "./record-from-line.js";

/** What pino needs of a destination. */
export interface PinoDestination {
  /** By this pino knows a destination from options. */
  readonly writable: true;
  /** Takes a line. Never throws and never waits; what is refused is counted and logged by Sluice. */
  write(line: string): void;
  /** For `logger.flush(callback)`: calls back when every line written until now is settled. */
  flush(callback?: (error?: Error) => void): void;
  /** By this pino tells how it writes its lines. */
  emit(event: string, message: unknown): boolean;
}

/** The part of an embedded Sluice that a destination uses. */
interface RecordEmitter {
  readonly logs: { emit(record: LogInput): Promise<void> };
  flush(): Promise<void>;
}

/** Hands pino's lines to a Sluice in the same thread: there is no worker that could die with lines in it. */
export function pinoDestination(sluice: RecordEmitter): PinoDestination {
  let format = DEFAULT_FORMAT;
  return {
    writable: true,
    write(line) {
      void sluice.logs.emit(recordFromLine(line.endsWith("\n") ? line.slice(0, -1) : line, format));
    },
    emit(_event, message) {
      format = formatFromMessage(message) ?? format;
      return true;
    },
    flush(callback) {
      void sluice.flush().then(() => callback && setImmediate(callback));
    },
  };
}
