import { compilePattern, type Pattern } from "#text/patterns";
import type { LogEntry } from "./entries/log-entry.js";
import { newLogMap, setValue } from "./entries/log-value.js";
import type { LogField } from "./log-field.js";
import { LogOperator, type OperatorContext, type OperatorSettings } from "./log-operator.js";

/** Changes the text in a field. Entries without the field stay as they are. */
abstract class TextOperator extends LogOperator {
  private readonly field: LogField;

  constructor(settings: OperatorSettings & { field: LogField }, context: OperatorContext) {
    super(settings, context);
    this.field = settings.field;
  }

  protected apply(entry: LogEntry): boolean {
    const value = this.field.get(entry);
    if (value === undefined) return true;
    if (typeof value !== "string") throw new Error(`${this.field} is not a text`);
    const changed = this.change(value);
    if (changed !== value) {
      this.makeRoom(entry, changed, undefined, value);
      this.field.set(entry, changed);
    }
    return true;
  }

  protected abstract change(text: string): string;
}

/** Removes the quotes around a text of Go's notation: `"a\tb"`, `'x'` or a text in backquotes. */
export class UnquoteOperator extends TextOperator {
  protected change(text: string): string {
    return unquote(text);
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

function unquote(text: string): string {
  const quote = text[0];
  const inner = text.slice(1, -1);
  if (text.length < 2 || text.at(-1) !== quote) throw notQuoted();
  if (quote === "`") {
    if (inner.includes("`")) throw notQuoted();
    return inner.replaceAll("\r", "");
  }
  if (quote !== '"' && quote !== "'") throw notQuoted();
  const bytes: Buffer[] = [];
  let characters = 0;
  for (let i = 0; i < inner.length; characters++) {
    const char = String.fromCodePoint(inner.codePointAt(i)!);
    if (char === quote || char === "\n") throw notQuoted();
    const escaped = char === "\\" ? readEscape(inner, i, quote) : undefined;
    bytes.push(escaped?.bytes ?? Buffer.from(char));
    i = escaped?.end ?? i + char.length;
  }
  if (quote === "'" && characters !== 1) throw notQuoted();
  return Buffer.concat(bytes).toString("utf8");
}

const ESCAPE_CODE =
  /^(?:x(?<hex>[0-9a-fA-F]{2})|u(?<unicode>[0-9a-fA-F]{4})|U(?<long>[0-9a-fA-F]{8})|(?<octal>[0-7]{3}))/;

/** The bytes of the escape that starts here, and where it ends. */
function readEscape(text: string, at: number, quote: string): { readonly bytes: Buffer; readonly end: number } {
  const found = ESCAPE_CODE.exec(text.slice(at + 1, at + 10));
  const { hex, unicode, long, octal } = found?.groups ?? {};
  if (hex !== undefined) return { bytes: Buffer.from([Number.parseInt(hex, 16)]), end: at + 4 };
  const code = unicode ?? long;
  if (code !== undefined) {
    const point = Number.parseInt(code, 16);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) throw notQuoted();
    return { bytes: Buffer.from(String.fromCodePoint(point)), end: at + 2 + code.length };
  }
  if (octal !== undefined) {
    const byte = Number.parseInt(octal, 8);
    if (byte > 255) throw notQuoted();
    return { bytes: Buffer.from([byte]), end: at + 4 };
  }
  const letter = text[at + 1] ?? "";
  const isOtherQuote = (letter === '"' || letter === "'") && letter !== quote;
  if (!Object.hasOwn(ESCAPES, letter) || isOtherQuote) throw notQuoted();
  return { bytes: Buffer.from(ESCAPES[letter]!), end: at + 2 };
}

function notQuoted(): Error {
  return new Error("the text is not quoted as unquote expects");
}

/** The patterns that `regex_name` stands for. */
export const NAMED_PATTERNS = {
  ansi_control_sequences: "\\x1B\\[[\\x30-\\x3F]*[\\x20-\\x2F]*[\\x40-\\x7E]",
} as const;

interface RegexReplaceSettings extends OperatorSettings {
  readonly field: LogField;
  readonly regex: string;
  readonly regex_name: "" | keyof typeof NAMED_PATTERNS;
  readonly replace_with: string;
}

/** Replaces everything that a pattern matches. */
export class RegexReplaceOperator extends TextOperator {
  private readonly pattern: Pattern;
  private readonly replacement: string;

  constructor(settings: RegexReplaceSettings, context: OperatorContext) {
    super(settings, context);
    const { regex, regex_name: name, replace_with } = settings;
    this.pattern = compilePattern(name === "" ? regex : NAMED_PATTERNS[name]);
    this.replacement = replace_with;
  }

  protected change(text: string): string {
    return this.pattern.replaceAll(text, this.replacement);
  }
}

/** Replaces invalid text. Text that was read from a file is valid already. */
export class SanitizeUtf8Operator extends TextOperator {
  protected change(text: string): string {
    return Buffer.from(text).toString();
  }
}

/** Turns a list into a map by giving its items keys. */
export class AssignKeysOperator extends LogOperator {
  private readonly field: LogField;
  private readonly keys: readonly string[];

  constructor(settings: OperatorSettings & { field: LogField; keys: readonly string[] }, context: OperatorContext) {
    super(settings, context);
    this.field = settings.field;
    this.keys = settings.keys;
  }

  protected apply(entry: LogEntry): boolean {
    const { field, keys } = this;
    const list = field.get(entry);
    if (list === undefined) throw new Error(`there is no ${field}`);
    if (!Array.isArray(list)) throw new Error(`${field} is not a list`);
    if (list.length !== keys.length) throw new Error(`${field} has ${list.length} items for ${keys.length} keys`);
    const map = newLogMap();
    for (const [index, key] of keys.entries()) setValue(map, key, list[index]!);
    this.makeRoom(entry, map, undefined, list);
    field.set(entry, map);
    return true;
  }
}
