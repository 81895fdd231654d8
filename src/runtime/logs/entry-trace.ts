import type { LogEntry } from "./entries/log-entry.js";
import type { LogField } from "./log-field.js";

interface TraceSettings {
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

  /** Skips missing fields; throws if a field is not valid, and has read the others then. */
  read(entry: LogEntry): void {
    const { trace_id, span_id, trace_flags } = this.settings;
    const errors: string[] = [];
    entry.traceId = readId(entry, trace_id, 16, errors);
    entry.spanId = readId(entry, span_id, 8, errors);
    const flags = textOf(entry, trace_flags);
    if (flags !== undefined && isHex(flags)) entry.traceFlags = Number.parseInt(flags.slice(0, 2), 16);
    else if (flags !== undefined) errors.push(`${trace_flags} is not in pairs of hexadecimal digits`);
    if (errors.length > 0) throw new Error(errors.join("; "));
  }
}

/** An id of zeros counts as missing. */
function readId(entry: LogEntry, field: LogField, size: number, errors: string[]): Uint8Array | undefined {
  const text = textOf(entry, field);
  if (text === undefined) return undefined;
  if (isHex(text) && text.length === 2 * size) return /^0+$/.test(text) ? undefined : Buffer.from(text, "hex");
  errors.push(`${field} is not ${2 * size} hexadecimal digits`);
  return undefined;
}

function textOf(entry: LogEntry, field: LogField): string | undefined {
  const value = field.get(entry);
  return value === undefined || value === null || value === "" ? undefined : String(value);
}

function isHex(text: string): boolean {
  return /^(?:[0-9a-fA-F]{2})+$/.test(text);
}
