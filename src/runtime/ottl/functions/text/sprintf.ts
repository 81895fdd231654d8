import { formatDouble } from "#text/go";
import { OttlError } from "../../values/error.js";
import { joinTexts, MAX_TEXT_LENGTH, textTooLong } from "../../values/limits.js";
import { OttlDuration, OttlId, OttlTime, type OttlValue } from "../../values/value.js";
import { escaped, goSyntax, goText, goType, quoteCharacter } from "./go-text.js";

const MAX_WIDTH = 10_000;

/** Go's Sprintf for the values of the language; arguments that do not fit are written as in Go: %!d(string=x). */
export function sprintf(format: string, values: readonly OttlValue[]): string {
  return new Formatter(values).format(format);
}

/** The part between the percent sign and the verb. */
interface Spec {
  readonly flags: string;
  readonly width: number | undefined;
  readonly precision: number | undefined;
}

// Linear: an index ends before the next one, and any character can be the verb.
const DIRECTIVE =
  /%([-+# 0]*)(\[[^[\]]*\])?(\d+|\*)?(?:(\.)(\[[^[\]]*\])?(\d+|\*)?)?(\[[^[\]]*\])?(.)|%([-+# 0]*)(?:\d+)?(?:\.\d*)?$/gsu;

class Formatter {
  private readonly values: readonly OttlValue[];
  private next = 0;
  private reordered = false;
  private badIndex = false;
  private length = 0;

  constructor(values: readonly OttlValue[]) {
    this.values = values;
  }

  format(format: string): string {
    const text = format.replace(
      DIRECTIVE,
      (_, flags = "", widthIndex, width, point, precisionIndex, precision, verbIndex, verb) => {
        if (verb === undefined) return "%!(NOVERB)";
        if (verb === "%") return "%";
        this.badIndex = false;
        const written = this.directive(flags, [widthIndex, width, point, precisionIndex, precision, verbIndex], verb);
        this.length += written.length;
        if (this.length > MAX_TEXT_LENGTH) throw textTooLong();
        return written;
      },
    );
    if (this.reordered || this.next >= this.values.length) return text;
    const extra = this.values.slice(this.next).map((value) => typedText(value));
    return `${text}%!(EXTRA ${joinTexts(extra, ", ")})`;
  }

  private directive(flags: string, parts: readonly (string | undefined)[], verb: string): string {
    const [widthIndex, width, point, precisionIndex, precision, verbIndex] = parts;
    this.jump(widthIndex);
    let problem = "";
    let size = this.number(width);
    if (size === "bad") {
      problem = "%!(BADWIDTH)";
      size = undefined;
    }
    this.jump(precisionIndex);
    let digits = point === undefined ? undefined : (this.number(precision) ?? 0);
    if (digits === "bad") {
      problem += "%!(BADPREC)";
      digits = undefined;
    }
    this.jump(verbIndex);
    if (this.badIndex) return `${problem}%!${verb}(BADINDEX)`;
    if (this.next >= this.values.length) return `${problem}%!${verb}(MISSING)`;
    const left = typeof size === "number" && size < 0;
    const spec: Spec = {
      flags: left ? `${flags}-` : flags,
      width: typeof size === "number" ? Math.abs(size) : undefined,
      precision: typeof digits === "number" && digits >= 0 ? digits : undefined,
    };
    if ((spec.width ?? 0) > MAX_WIDTH || (spec.precision ?? 0) > MAX_WIDTH)
      throw new OttlError(`Format: more than ${MAX_WIDTH} characters wide`);
    return problem + formatValue(verb, this.values[this.next++]!, spec);
  }

  /** `[2]` before a width, precision or verb: the second value is next. */
  private jump(index: string | undefined): void {
    if (index === undefined) return;
    this.reordered = true;
    const number = /^\[\d{1,6}\]$/.test(index) ? Number(index.slice(1, -1)) : 0;
    if (number < 1 || number > this.values.length) this.badIndex = true;
    else this.next = number - 1;
  }

  private number(written: string | undefined): number | "bad" | undefined {
    if (written === undefined) return undefined;
    if (written !== "*") return Number(written);
    const value = this.values[this.next++];
    return typeof value === "bigint" && value >= -1_000_000n && value <= 1_000_000n ? Number(value) : "bad";
  }
}

function formatValue(verb: string, value: OttlValue, written: Spec): string {
  const spec = typeof value === "bigint" ? withoutZeroPadding(written) : written;
  if (verb === "T") return padded(goType(value), spec);
  if (Array.isArray(value) && !writesWholeList(verb, spec))
    return formatItems(value, (item) => (item === null ? "<nil>" : formatValue(verb, item, spec)));
  if (value instanceof Uint8Array && writesByteByByte(verb, value, spec))
    return formatItems(value, (byte) => formatByte(verb, byte, spec));
  const text = formatVerb(verb, value, spec);
  if (text === undefined)
    return value === null ? `%!${verb}(<nil>)` : `%!${verb}(${goType(value)}=${mismatchText(value, spec)})`;
  return padded(text, spec, isNumber(value) && !CHARACTER_VERBS.has(verb));
}

/** Formats items one by one. Each may be as wide as the width says, so it stops before they exhaust the memory. */
function formatItems<T>(items: Iterable<T>, format: (item: T) => string): string {
  const texts: string[] = [];
  let length = 0;
  for (const item of items) {
    const text = format(item);
    length += text.length + 1;
    if (length > MAX_TEXT_LENGTH) throw textTooLong();
    texts.push(text);
  }
  return `[${texts.join(" ")}]`;
}

/** Verbs of texts, which treat bytes as text. */
const TEXT_VERBS = new Set(["s", "q", "x", "X"]);

const CHARACTER_VERBS = new Set(["c", "q", "U"]);

function isNumber(value: OttlValue): boolean {
  return typeof value === "bigint" || typeof value === "number" || value instanceof OttlDuration;
}

/** Whether bytes are written one by one, in brackets. With %v an id is written as text too. */
function writesByteByByte(verb: string, value: Uint8Array, spec: Spec): boolean {
  return !TEXT_VERBS.has(verb) && !writesWholeList(verb, spec) && !(value instanceof OttlId && verb === "v");
}

function formatByte(verb: string, byte: number, spec: Spec): string {
  const written = verb === "v" ? { ...spec, flags: spec.flags.replaceAll("+", "") } : spec;
  return formatValue(verb === "v" ? "d" : verb, BigInt(byte), written).replace("(int64=", "(uint8=");
}

/** Whether a list is written as a whole rather than item by item. */
function writesWholeList(verb: string, { flags }: Spec): boolean {
  return verb === "p" || verb === "w" || (verb === "v" && flags.includes("#"));
}

/** An integer with a precision gets its zeros from that and no further padding zeros. */
function withoutZeroPadding(spec: Spec): Spec {
  return spec.precision === undefined ? spec : { ...spec, flags: spec.flags.replaceAll("0", "") };
}

/** A value that does not fit the verb, as %v would write it with the same flags. */
function mismatchText(value: OttlValue, spec: Spec): string {
  if (typeof value === "bigint") return padded(integerText("d", value, spec)!, spec, true);
  if (typeof value === "number") return padded(formatDouble("g", value, spec.flags, spec.precision)!, spec, true);
  if (value instanceof OttlDuration)
    return padded(integerText("d", value.nanos, withoutZeroPadding(spec))!, spec, true);
  if (typeof value === "string") return padded(stringText("s", value, spec)!, spec);
  return typeof value === "boolean" ? padded(String(value), spec) : goText(value);
}

/** Pads to the width. The zeros of a number come after its sign, those of a text before everything. */
function padded(text: string, { width = 0, flags }: Spec, isNumber = false): string {
  if (text.length >= 2 * width) return text;
  const length = [...text].length;
  if (length >= width) return text;
  const fill = width - length;
  if (flags.includes("-")) return text + " ".repeat(fill);
  if (!flags.includes("0") || (isNumber && /^[+-]?(Inf|NaN)$/.test(text))) return " ".repeat(fill) + text;
  const sign = isNumber && /^[+-]/.test(text) ? text[0]! : "";
  return sign + "0".repeat(fill) + text.slice(sign.length);
}

function formatVerb(verb: string, value: OttlValue, spec: Spec): string | undefined {
  if (verb === "v") return spec.flags.includes("#") ? goSyntax(value) : valueText(value, spec);
  if (typeof value === "bigint") return integerText(verb, value, spec);
  if (typeof value === "number") return formatDouble(verb, value, spec.flags, spec.precision);
  if (typeof value === "boolean") return verb === "t" ? String(value) : undefined;
  if (typeof value === "string") return stringText(verb, value, spec);
  if (value instanceof Uint8Array && !(value instanceof OttlId)) return stringText(verb, value, spec);
  if (value instanceof OttlDuration && !TEXT_VERBS.has(verb)) return integerText(verb, value.nanos, spec);
  const isText = value instanceof OttlId || value instanceof OttlTime || value instanceof OttlDuration;
  return (isText || verb === "s") && value !== null ? stringText(verb, goText(value), spec) : undefined;
}

/** %v: numbers keep their sign and precision. */
function valueText(value: OttlValue, spec: Spec): string {
  if (typeof value === "bigint") return integerText("d", value, { ...spec, flags: spec.flags.replace("+", "") })!;
  if (typeof value === "number") return formatDouble("g", value, spec.flags.replace("+", ""), spec.precision)!;
  return typeof value === "string" ? stringText("s", value, spec)! : goText(value);
}

const RADIXES: Readonly<Record<string, number>> = { d: 10, x: 16, X: 16, o: 8, O: 8, b: 2 };
const RADIX_PREFIXES: Readonly<Record<string, string>> = { x: "0x", X: "0X", o: "0", b: "0b" };

function integerText(verb: string, value: bigint, { flags, precision }: Spec): string | undefined {
  if (verb === "c") return characterOf(value);
  if (verb === "q") return quoteCharacter(characterOf(value), flags.includes("+"));
  if (verb === "U") return unicodeText(value, flags);
  const radix = RADIXES[verb];
  if (radix === undefined) return undefined;
  const prefix = verb === "O" ? "0o" : flags.includes("#") ? (RADIX_PREFIXES[verb] ?? "") : "";
  if (precision === 0 && value === 0n) return "";
  const digits = (value < 0n ? -value : value).toString(radix).padStart(precision ?? 0, "0");
  return signOf(value < 0n, flags) + prefix + (verb === "X" ? digits.toUpperCase() : digits);
}

function characterOf(value: bigint): string {
  const valid = value >= 0n && value <= 0x10ffffn && !(value >= 0xd800n && value <= 0xdfffn);
  return String.fromCodePoint(valid ? Number(value) : 0xfffd);
}

function unicodeText(value: bigint, flags: string): string {
  const code = `U+${BigInt.asUintN(64, value).toString(16).toUpperCase().padStart(4, "0")}`;
  return flags.includes("#") ? `${code} '${characterOf(value)}'` : code;
}

function stringText(verb: string, value: string | Uint8Array, { flags, precision }: Spec): string | undefined {
  const bytes = typeof value === "string" ? undefined : Buffer.from(value);
  const text = typeof value === "string" ? value : bytes!.toString("utf8");
  const cut = precision === undefined ? text : [...text].slice(0, precision).join("");
  if (verb === "s") return cut;
  if (verb === "q") {
    if (flags.includes("#") && !/[`\p{Cc}\ufeff]/u.test(cut.replaceAll("\t", ""))) return `\`${cut}\``;
    return `"${escaped(cut, '"', flags.includes("+"))}"`;
  }
  if (verb !== "x" && verb !== "X") return undefined;
  const all = bytes ?? Buffer.from(text);
  const hex = all.subarray(0, precision ?? all.length).toString("hex");
  return hexText(verb === "X" ? hex.toUpperCase() : hex, verb, flags);
}

/** Bytes in hex, with spaces between them or 0x in front as the flags say. */
function hexText(hex: string, verb: string, flags: string): string {
  const prefix = flags.includes("#") && hex !== "" ? `0${verb}` : "";
  if (!flags.includes(" ")) return prefix + hex;
  return (hex.match(/../g) ?? []).map((pair) => prefix + pair).join(" ");
}

function signOf(negative: boolean, flags: string): string {
  if (negative) return "-";
  return flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
}

function typedText(value: OttlValue): string {
  return value === null ? "<nil>" : `${goType(value)}=${goText(value)}`;
}
