import type { TreeValue } from "#otlp/bytes";
import { printable } from "#text";
import type { Tree } from "../../plugin.js";

/** Values of telemetry as text for a person: safe to print, bounded in length, exact in every digit. */

/** Returns at most `max` characters, and tells how many were cut. */
export function truncated(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = /[\ud800-\udbff]/.test(text[max - 1]!) ? max - 1 : max;
  return `${text.slice(0, cut)}… (+${withThousandsSeparators(text.length - cut)} characters)`;
}

/** Returns an AnyValue as text: strings in quotes, other values so that their type is visible. */
export function valueText(value: TreeValue | undefined, max: number): string {
  if (!isTree(value)) return "(empty)";
  return truncated(anyValueText(value, max), max);
}

/** Does the same, but returns a string without quotes: for bodies, and where only text is expected. */
export function plainText(value: TreeValue | undefined, max: number): string {
  const text = isTree(value) ? value["stringValue"] : undefined;
  return typeof text === "string" ? printable(truncated(text, max)) : valueText(value, max);
}

export function attributeEntries(attributes: TreeValue | undefined): [key: string, value: TreeValue | undefined][] {
  if (!Array.isArray(attributes)) return [];
  const entries: [key: string, value: TreeValue | undefined][] = [];
  for (const entry of attributes)
    if (isTree(entry)) entries.push([printable(String(entry["key"] ?? "")), entry["value"]]);
  return entries;
}

/** Returns ISO 8601 with nanoseconds; undefined if there is no time. */
export function timeText(nanos: TreeValue | undefined): string | undefined {
  if (typeof nanos !== "bigint" || nanos === 0n) return undefined;
  const second = nanos / 1_000_000_000n;
  if (second !== lastSecond) {
    lastSecond = second;
    lastSecondText = new Date(Number(second) * 1000).toISOString().slice(0, 19);
  }
  return `${lastSecondText}.${String(nanos - second * 1_000_000_000n).padStart(9, "0")}Z`;
}

/** Records that follow one another mostly have the same second. */
let lastSecond = -1n;
let lastSecondText = "";

const DURATION_UNITS: readonly (readonly [string, bigint])[] = [
  ["s", 1_000_000_000n],
  ["ms", 1_000_000n],
  ["µs", 1000n],
];

/** 1.5s, 12.345ms, 250µs, 17ns */
export function elapsedText(nanos: bigint): string {
  if (nanos < 0n) return `-${elapsedText(-nanos)}`;
  const unit = DURATION_UNITS.find(([, size]) => nanos >= size);
  if (unit === undefined) return `${nanos}ns`;
  const thousandths = (nanos * 1000n + unit[1] / 2n) / unit[1];
  return `${Number(thousandths) / 1000}${unit[0]}`;
}

export function hex(bytes: TreeValue | undefined): string {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString("hex") : "";
}

/** 12,345 */
export function withThousandsSeparators(number: number): string {
  // At most 25 characters.
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function isTree(value: TreeValue | undefined): value is Tree {
  return typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** Returns the messages of a repeated field. */
export function messages(value: TreeValue | undefined): Tree[] {
  return Array.isArray(value) ? value.filter(isTree) : [];
}

function anyValueText(value: Tree, max: number): string {
  const { stringValue, arrayValue, kvlistValue, doubleValue, bytesValue } = value;
  if (typeof stringValue === "string") return printable(JSON.stringify(truncated(stringValue, max)));
  if (typeof doubleValue === "number") return doubleText(doubleValue);
  if (bytesValue instanceof Uint8Array) return bytesText(bytesValue, max);
  if (isTree(arrayValue)) return `[${listText(arrayValue["values"], max, (item) => valueText(item, max))}]`;
  if (isTree(kvlistValue)) return `{${listText(kvlistValue["values"], max, (item) => pairText(item, max))}}`;
  return String(value["intValue"] ?? value["boolValue"] ?? "(empty)");
}

/** Stops when there is enough text, and only counts the rest. */
function listText(items: TreeValue | undefined, max: number, textOf: (item: TreeValue) => string): string {
  if (!Array.isArray(items)) return "";
  const texts: string[] = [];
  let length = 0;
  for (const item of items) {
    if (length > max) {
      texts.push(`… (+${withThousandsSeparators(items.length - texts.length)} more)`);
      break;
    }
    const text = textOf(item);
    texts.push(text);
    length += text.length;
  }
  return texts.join(", ");
}

function pairText(pair: TreeValue, max: number): string {
  const [entry] = attributeEntries([pair]);
  return entry ? `${entry[0]}: ${valueText(entry[1], max)}` : "";
}

/** A whole double keeps its decimal point, which distinguishes it from an integer. */
export function doubleText(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(1) : String(value);
}

function bytesText(bytes: Uint8Array, max: number): string {
  const shown = bytes.subarray(0, Math.ceil(max / 2));
  const more = bytes.length > shown.length ? "…" : "";
  return `0x${hex(shown)}${more} (${withThousandsSeparators(bytes.length)} bytes)`;
}
