import { WireWriter } from "#otlp/bytes";
import { type LogEntry, writeSeverity } from "./entries/log-entry.js";
import type { LogValue } from "./entries/log-value.js";
import type { LogField } from "./log-field.js";

interface SeveritySettings {
  readonly parse_from: LogField;
  readonly preset: string;
  readonly mapping: Readonly<Record<string, unknown>>;
  readonly overwrite_text: boolean;
}

/** Severities by name (such as `info2`); the number is the index plus one, from 1 to 24. */
const LEVELS: readonly string[] = ["trace", "debug", "info", "warn", "error", "fatal"].flatMap((level) => [
  level,
  `${level}2`,
  `${level}3`,
  `${level}4`,
]);

/** Reads the severity of an entry from one of its fields. */
export class EntrySeverity {
  private readonly settings: SeveritySettings;
  private readonly numbers = new Map<string, number>();
  /** Texts written before, with their encoded fields. */
  private readonly written: { readonly text: Buffer; readonly fields: Uint8Array }[] = [];

  /** Throws if the mapping is invalid. */
  constructor(settings: SeveritySettings) {
    this.settings = settings;
    if (settings.preset !== "none") this.addPreset(settings.preset);
    for (const [level, values] of Object.entries(settings.mapping)) {
      const number = severityNumber(level);
      for (const value of Array.isArray(values) ? values : [values]) {
        for (const text of mappedTexts(value)) this.numbers.set(text, number);
      }
    }
  }

  /** The attribute whose text `write` reads; undefined if `read` is needed. */
  get attribute(): string | undefined {
    const { root, keys } = this.settings.parse_from;
    return root === "attributes" && keys.length === 1 ? keys[0] : undefined;
  }

  /** Writes the severity of a record from the text of `attribute`, which is valid UTF-8. */
  write(writer: WireWriter, b: Buffer, from: number, to: number): void {
    const { written } = this;
    let known = written.find(({ text }) => isText(text, b, from, to));
    if (known === undefined) {
      known = { text: Buffer.from(b.subarray(from, to)), fields: this.encode(b.toString("utf8", from, to)) };
      if (written.length < MAX_WRITTEN) written.push(known);
    }
    writer.copy(known.fields, 0, known.fields.length);
  }

  private encode(text: string): Uint8Array {
    const writer = new WireWriter(64);
    const severity = this.severityOf(text);
    writeSeverity(writer, severity.number, severity.text);
    return Uint8Array.from(writer.written());
  }

  /** A text without a mapping gives no number and keeps its text. Throws if the field is missing. */
  read(entry: LogEntry): void {
    const { parse_from: field } = this.settings;
    const value = field.get(entry);
    if (value === undefined) throw new Error(`there is no ${field} to read the severity from`);
    const severity = this.severityOf(severityText(value));
    entry.severityNumber = severity.number;
    entry.severityText = severity.text;
  }

  private severityOf(text: string): { readonly number: number; readonly text: string } {
    const number = this.numbers.get(text.toLowerCase()) ?? 0;
    return { number, text: this.settings.overwrite_text && number > 0 ? LEVELS[number - 1]!.toUpperCase() : text };
  }

  private addPreset(preset: string): void {
    for (const [index, level] of LEVELS.entries()) {
      this.numbers.set(level, index + 1).set(String(index + 1), index + 1);
      if (preset !== "" && preset !== "default") continue;
      if (level.startsWith("warn")) this.numbers.set(level.replace("warn", "warning"), index + 1);
      if (level.startsWith("error")) this.numbers.set(level.replace("error", "err"), index + 1);
    }
  }
}

/** Programs use few texts; more than this are not remembered. */
const MAX_WRITTEN = 32;

function isText(text: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  if (text.length !== to - from) return false;
  for (let i = 0; i < text.length; i++) if (text[i] !== b[from + i]) return false;
  return true;
}

/** As in the Collector, texts that are mapped to an unknown severity get none. */
function severityNumber(level: string): number {
  const number = /^\d+$/.test(level) ? Number(level) : LEVELS.indexOf(level.toLowerCase()) + 1;
  return number >= 1 && number <= LEVELS.length ? number : 0;
}

const MAX_RANGE = 100_000;

function mappedTexts(value: unknown): string[] {
  if (typeof value === "number") return [String(value)];
  if (typeof value === "string") {
    const status = /^([2-5])xx$/.exec(value);
    return status === null ? [value.toLowerCase()] : range(Number(`${status[1]}00`), Number(`${status[1]}99`));
  }
  const { min, max } = (value ?? {}) as { readonly min?: unknown; readonly max?: unknown };
  if (Number.isInteger(min) && Number.isInteger(max)) return range(min as number, max as number);
  throw new Error("expected a text, a number, or {min, max}");
}

function range(from: number, to: number): string[] {
  const [low, high] = from < to ? [from, to] : [to, from];
  if (high - low > MAX_RANGE) throw new Error(`a range has at most ${MAX_RANGE} numbers`);
  return Array.from({ length: high - low + 1 }, (_, i) => String(low + i));
}

function severityText(value: LogValue): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && Number.isInteger(value)) return String(value);
  throw new Error("a severity is a string or a whole number");
}
