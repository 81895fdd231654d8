import type { LogInput } from "../log-record.js";
import { DEFAULT_FORMAT, formatFromMessage } from "./line-format.js";
import { recordFromLine } from "./record-from-line.js";

/** The methods that pino calls on a destination. */
export interface PinoDestination {
  /** Pino uses this property to tell a destination from options. */
  readonly writable: true;
  /** Accepts a line. Never throws or blocks; Sluice counts and logs refused records. */
  write(line: string): void;
  /** Implements `logger.flush(callback)`: calls back when every line written so far is settled. */
  flush(callback?: (error?: Error) => void): void;
  /** Pino calls this with its format settings. */
  emit(event: string, message: unknown): boolean;
}

/** The part of an embedded Sluice that a destination uses. */
interface RecordEmitter {
  readonly logs: { emit(record: LogInput): Promise<void> };
  flush(): Promise<void>;
}

/** Passes pino's lines to a Sluice in the same thread, so no worker can die with lines in it. */
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
