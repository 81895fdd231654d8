import type { LogEntry } from "./entries/log-entry.js";
import type { LogField } from "./log-field.js";

export interface TraceSettings {
  readonly trace_id: LogField;
  readonly span_id: LogField;
  readonly trace_flags: LogField;
}

/** Reads trace ids and flags of an entry from fields in hexadecimal digits. */
export class EntryTrace {
  private readonly settings: TraceSettings;

  constructor(settings: TraceSettings) {
    this.settings = settings;
  }

  /** Skips missing fields; throws if a field is not a valid id. */
  read(entry: LogEntry): void {
    const { trace_id, span_id, trace_flags } = this.settings;
    entry.traceId = readHex(entry, trace_id, 16);
    entry.spanId = readHex(entry, span_id, 8);
    const flags = readHex(entry, trace_flags, 1);
    if (flags !== undefined) entry.traceFlags = flags[0];
  }
}

function readHex(entry: LogEntry, field: LogField, size: number): Uint8Array | undefined {
  const value = field.get(entry);
  if (value === undefined || value === null || value === "") return undefined;
  const text = String(value);
  if (!/^[0-9a-fA-F]+$/.test(text) || text.length !== 2 * size)
    throw new Error(`${field} is not ${2 * size} hexadecimal digits`);
  return Buffer.from(text, "hex");
}
