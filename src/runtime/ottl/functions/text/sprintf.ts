import { compareText } from "../../values/compare.js";
import { OttlError } from "../../values/error.js";
import { joinTexts, MAX_TEXT_LENGTH, textTooLong } from "../../values/limits.js";
import { OttlDuration, OttlMessages, OttlTime, type OttlValue } from "../../values/value.js";
import { formatDuration, formatTime } from "./time-format.js";
import { parseLayout } from "./time-layout.js";

const MAX_WIDTH = 10_000;
const GO_TIME = parseLayout("2006-01-02 15:04:05.999999999 -0700 MST");

/** Go's Sprintf for the values of the language; what does not fit is written the way Go writes it, as %!d(string=x). */
export function sprintf(format: string, values: readonly OttlValue[]): string {
  let next = 0;
  let length = 0;
  const text = format.replace(
    /%([-+# 0]*)(\d+)?(?:\.(\d+)?)?(.)|%$/gsu,
    (whole, flags = "", width, precision, verb) => {
      if (verb === "%") return "%";
      if (verb === undefined) return "%!(NOVERB)";
      if (next >= values.length) return `%!${verb}(MISSING)`;
      const size = Number(width ?? 0);
      if (size > MAX_WIDTH || Number(precision ?? 0) > MAX_WIDTH)
        throw new OttlError(`Format: more than ${MAX_WIDTH} characters wide`);
      const decimals = precision === undefined ? (whole.includes(".") ? 0 : undefined) : Number(precision);
      const written = padded(formatVerbOrError(verb, values[next++]!, flags, decimals), size, flags);
      length += written.length;
      if (length > MAX_TEXT_LENGTH) throw textTooLong();
      return written;
    },
  );
  if (next >= values.length) return text;
  const extra = values.slice(next).map((value) => `${goType(value)}=${goText(value)}`);
  return `${text}%!(EXTRA ${joinTexts(extra, ", ")})`;
}

function padded(text: string, width: number, flags: string): string {
  if (text.length >= 2 * width) return text;
  const length = [...text].length;
  if (length >= width) return text;
  const fill = width - length;
  if (flags.includes("-")) return text + " ".repeat(fill);
  if (!flags.includes("0")) return " ".repeat(fill) + text;
  const sign = /^[+-]/.test(text) ? text[0]! : "";
  return sign + "0".repeat(fill) + text.slice(sign.length);
}

function formatVerbOrError(verb: string, value: OttlValue, flags: string, precision: number | undefined): string {
  const written = formatVerb(verb, value, flags, precision);
  if (written !== undefined) return written;
  return value === null ? `%!${verb}(<nil>)` : `%!${verb}(${goType(value)}=${goText(value)})`;
}

function formatVerb(verb: string, value: OttlValue, flags: string, precision: number | undefined): string | undefined {
  if (verb === "v") return goText(value);
  if (verb === "T") return goType(value);
  if (typeof value === "bigint") return integerText(verb, value, flags);
  if (typeof value === "number") return doubleText(verb, value, flags, precision);
  if (typeof value === "boolean") return verb === "t" ? String(value) : undefined;
  if (typeof value === "string" || value instanceof Uint8Array) return stringText(verb, value, precision);
  if (value instanceof OttlDuration && verb !== "s") return integerText(verb, value.nanos, flags);
  return verb === "s" && value !== null ? goText(value) : undefined;
}

function integerText(verb: string, value: bigint, flags: string): string | undefined {
  const radix = { d: 10, x: 16, X: 16, o: 8, b: 2 }[verb];
  if (verb === "c") return String.fromCodePoint(value >= 0n && value <= 0x10ffffn ? Number(value) : 0xfffd);
  if (radix === undefined) return undefined;
  const prefix = flags.includes("#") ? ({ x: "0x", X: "0X", o: "0", b: "0b" }[verb] ?? "") : "";
  const digits = (value < 0n ? -value : value).toString(radix);
  return signOf(value < 0n, flags) + prefix + (verb === "X" ? digits.toUpperCase() : digits);
}

function doubleText(verb: string, value: number, flags: string, precision: number | undefined): string | undefined {
  if (!"feEgGF".includes(verb)) return undefined;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  const sign = signOf(value < 0 || Object.is(value, -0), flags);
  const absolute = Math.abs(value);
  if (verb === "f" || verb === "F") return sign + fixed(absolute, Math.min(100, precision ?? 6));
  if (verb === "e" || verb === "E") {
    const text = twoDigitExponent(absolute.toExponential(Math.min(100, precision ?? 6)));
    return sign + (verb === "E" ? text.toUpperCase() : text);
  }
  return sign + shortestDouble(absolute, precision);
}

function fixed(absolute: number, decimals: number): string {
  if (absolute < 1e21) return absolute.toFixed(decimals);
  return `${BigInt(absolute)}${decimals === 0 ? "" : `.${"0".repeat(decimals)}`}`;
}

function shortestDouble(absolute: number, precision: number | undefined): string {
  const rounded =
    precision === undefined ? absolute : Number(absolute.toPrecision(Math.min(100, Math.max(1, precision))));
  const exponentOf = rounded === 0 ? 0 : Math.floor(Math.log10(rounded));
  const limit = precision === undefined ? 21 : Math.max(1, precision);
  if (exponentOf < -4 || exponentOf >= limit) return twoDigitExponent(rounded.toExponential());
  return String(rounded);
}

/** At least two digits in the exponent, as Go writes it. */
function twoDigitExponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

function stringText(verb: string, value: string | Uint8Array, precision: number | undefined): string | undefined {
  const bytes = typeof value === "string" ? undefined : Buffer.from(value);
  const text = typeof value === "string" ? value : bytes!.toString("utf8");
  const cut = precision === undefined ? text : [...text].slice(0, precision).join("");
  if (verb === "s") return cut;
  if (verb === "q") return JSON.stringify(cut);
  if (verb === "x") return Buffer.from(bytes ?? cut).toString("hex");
  if (verb === "X")
    return Buffer.from(bytes ?? cut)
      .toString("hex")
      .toUpperCase();
  return undefined;
}

function signOf(negative: boolean, flags: string): string {
  if (negative) return "-";
  return flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
}

function goText(value: OttlValue): string {
  if (value === null) return "<nil>";
  if (typeof value === "string") return value;
  if (typeof value === "number")
    return Number.isFinite(value)
      ? shortestDouble(Math.abs(value), undefined).replace(/^/, value < 0 ? "-" : "")
      : (doubleText("g", value, "", undefined) ?? "");
  if (value instanceof Uint8Array) return `[${[...value].join(" ")}]`;
  if (Array.isArray(value)) return `[${joinTexts(value.map(goText), " ")}]`;
  if (value instanceof Map) {
    const entries = [...value].sort(([a], [b]) => compareText(a, b)).map(([key, item]) => `${key}:${goText(item)}`);
    return `map[${joinTexts(entries, " ")}]`;
  }
  if (value instanceof OttlTime) return formatTime(GO_TIME, value);
  if (value instanceof OttlDuration) return formatDuration(value);
  if (value instanceof OttlMessages) return `[${value.items.length} ${value.kind}]`;
  return String(value);
}

function goType(value: OttlValue): string {
  if (value === null) return "<nil>";
  if (typeof value === "bigint") return "int64";
  if (typeof value === "number") return "float64";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (value instanceof Uint8Array) return "[]uint8";
  if (value instanceof OttlTime) return "time.Time";
  if (value instanceof OttlDuration) return "time.Duration";
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}
