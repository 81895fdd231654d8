import type { TreeValue } from "#otlp/bytes";
import { SEVERITY_NUMBER_NAMES, SPAN_KINDS, STATUS_CODES, TEMPORALITIES } from "#otlp/signals";
import { printable } from "#text";
import { hex, isTree, timeText, truncated, valueText, withThousandsSeparators } from "./values.js";

/** Fields of messages as text: their labels, and their values unless these are messages. */

/** The maximum number of characters of a value. */
export const MAX_TEXT_LENGTH = 16_384;
const MAX_ITEMS = 200;

const CHILD_NOUNS: Readonly<Record<string, string>> = {
  events: "Event",
  links: "Link",
  dataPoints: "Data point",
  exemplars: "Exemplar",
  quantileValues: "Quantile",
  entityRefs: "Entity",
};
const ENUM_NAMES: Readonly<Record<string, readonly string[]>> = {
  kind: SPAN_KINDS,
  code: STATUS_CODES,
  aggregationTemporality: TEMPORALITIES,
};

/** observedTimeUnixNano -> observed time */
export function labelOf(field: string): string {
  if (field === "asInt" || field === "asDouble") return "value";
  return field.replace(/UnixNano$/, "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** events -> Event */
export function childNoun(field: string): string {
  return CHILD_NOUNS[field] ?? labelOf(field);
}

/** Returns the value of a field. Only a body can have several lines. */
export function scalarText(name: string, value: TreeValue): string {
  if (name === "body") return bodyText(value);
  if (name.endsWith("UnixNano")) return timeText(value) ?? "0";
  if (name === "severityNumber") return `${severityName(Number(value))} (${value})`;
  if (ENUM_NAMES[name] && typeof value === "number") return `${ENUM_NAMES[name][value] ?? "unknown"} (${value})`;
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return listText(value);
  return typeof value === "string" ? printable(truncated(value, MAX_TEXT_LENGTH)) : String(value);
}

/** A body keeps its line breaks. Everything else that a terminal might interpret is escaped. */
function bodyText(body: TreeValue): string {
  const text = isTree(body) ? body["stringValue"] : undefined;
  if (typeof text !== "string") return valueText(body, MAX_TEXT_LENGTH);
  return truncated(text, MAX_TEXT_LENGTH).split(/\r?\n/).map(printable).join("\n");
}

function listText(list: readonly TreeValue[]): string {
  const shown = list.slice(0, MAX_ITEMS).map((item) => printable(String(item)));
  const more = list.length - shown.length;
  return `[${shown.join(", ")}${more > 0 ? `, … (+${withThousandsSeparators(more)} more)` : ""}]`;
}

/** 9 -> INFO, 10 -> INFO2 */
function severityName(number: number): string {
  return number === 0 ? "unspecified" : (SEVERITY_NUMBER_NAMES[number]?.toUpperCase() ?? "unspecified");
}
