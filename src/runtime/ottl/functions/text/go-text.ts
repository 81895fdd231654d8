import { formatDuration, formatTime, parseGoLayout } from "#text";
import { goNumber } from "#text/go";
import { compareText } from "../../values/compare.js";
import { joinTexts } from "../../values/limits.js";
import { OttlDuration, OttlId, OttlMessages, OttlProfileId, OttlTime, type OttlValue } from "../../values/value.js";

/** Go's names of values and types, and its quoting of texts. */

const GO_TIME = parseGoLayout("2006-01-02 15:04:05.999999999 -0700 MST");

/** %#v. */
export function goSyntax(value: OttlValue): string {
  if (value instanceof OttlDuration) return String(value.nanos);
  if (typeof value === "string") return `"${escaped(value, '"', false)}"`;
  if (value instanceof Uint8Array)
    return `${value instanceof OttlId ? goType(value) : "[]byte"}{${[...value].map((byte) => `0x${byte.toString(16)}`).join(", ")}}`;
  if (Array.isArray(value)) return `[]interface {}{${joinTexts(value.map(goSyntax), ", ")}}`;
  return goText(value);
}

export function goText(value: OttlValue): string {
  if (value === null) return "<nil>";
  if (typeof value === "string") return value;
  if (typeof value === "number") return goNumber(value);
  if (value instanceof OttlId) return value.some((byte) => byte !== 0) ? Buffer.from(value).toString("hex") : "";
  if (value instanceof Uint8Array) return `[${[...value].join(" ")}]`;
  if (Array.isArray(value)) return `[${joinTexts(value.map(goText), " ")}]`;
  if (value instanceof Map) {
    const entries = [...value].sort(([a], [b]) => compareText(a, b)).map(([key, item]) => `${key}:${goText(item)}`);
    return `map[${joinTexts(entries, " ")}]`;
  }
  if (value instanceof OttlTime) return formatTime(GO_TIME, value);
  if (value instanceof OttlDuration) return formatDuration(value.nanos);
  if (value instanceof OttlMessages) return `[${value.items.length} ${value.kind}]`;
  return String(value);
}

export function goType(value: OttlValue): string {
  if (value === null) return "<nil>";
  if (typeof value === "bigint") return "int64";
  if (typeof value === "number") return "float64";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (value instanceof OttlId)
    return value instanceof OttlProfileId
      ? "pprofile.ProfileID"
      : value.length === 16
        ? "pcommon.TraceID"
        : "pcommon.SpanID";
  if (value instanceof Uint8Array) return "[]uint8";
  if (value instanceof OttlTime) return "time.Time";
  if (value instanceof OttlDuration) return "time.Duration";
  return Array.isArray(value) ? "[]interface {}" : "pcommon.Map";
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
};

export function escaped(text: string, quote: string, asciiOnly: boolean): string {
  return text.replace(/[\s\S]/gu, (c) => {
    if (c === quote) return `\\${c}`;
    if (ESCAPES[c] !== undefined) return ESCAPES[c];
    const code = c.codePointAt(0)!;
    if (code < 0x80 ? code >= 0x20 && code !== 0x7f : !asciiOnly && /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(c)) return c;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

export function quoteCharacter(character: string, asciiOnly: boolean): string {
  return `'${escaped(character, "'", asciiOnly)}'`;
}
