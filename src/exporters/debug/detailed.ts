import type { TreeValue } from "#otlp/bytes";
import { SEVERITY_NUMBER_NAMES, SPAN_KINDS, STATUS_CODES, TEMPORALITIES } from "#otlp/signals";
import { type Paint, printable } from "#text";
import type { Batch, Tree } from "../../plugin.js";
import { basicLine } from "./basic.js";
import { resourceGroups } from "./records.js";
import { attributeEntries, hex, isTree, timeText, truncated, valueText, withThousandsSeparators } from "./values.js";

/**
 * Returns every field of every record, indented, under its resource and scope. It follows the decoded tree, so fields
 * that are added to OTLP later are shown too.
 */
export function* detailedLines(batch: Batch, paint: Paint): Iterable<string> {
  yield basicLine(batch, paint);
  const formatter = new FieldFormatter(paint);
  let resources = 0;
  for (const { container, scopes } of resourceGroups(batch)) {
    yield paint("cyan", `Resource ${++resources}`);
    yield* formatter.ownerTexts(container, "resource", "  ");
    for (const scope of scopes) {
      yield `  ${paint("cyan", scopeHeading(scope.container))}`;
      yield* formatter.ownerTexts(scope.container, "scope", "    ");
      for (const [number, item] of scope.items.entries()) {
        yield `    ${paint("bold", `${ITEM_NOUN[batch.signal]} ${number + 1}`)}`;
        yield* formatter.texts(item, "      ");
      }
    }
  }
}

const MAX_TEXT_LENGTH = 16_384;
const MAX_ITEMS = 200;
const ITEM_NOUN = { logs: "Log record", traces: "Span", metrics: "Metric" } as const;
const ATTRIBUTE_FIELDS = new Set(["attributes", "filteredAttributes", "metadata"]);
const CHILD_NOUN: Readonly<Record<string, string>> = {
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

function scopeHeading(container: Tree): string {
  const scope = isTree(container["scope"]) ? container["scope"] : {};
  const name = [scope["name"], scope["version"]].filter((part) => typeof part === "string" && part !== "").join(" ");
  return name === "" ? "Scope" : `Scope ${printable(truncated(name, 200))}`;
}

class FieldFormatter {
  private readonly paint: Paint;

  constructor(paint: Paint) {
    this.paint = paint;
  }

  /** Returns the fields of the resource or scope itself and its schema URL, without the items in it. */
  *ownerTexts(container: Tree, owner: "resource" | "scope", indent: string): Iterable<string> {
    const fields = Object.entries(isTree(container[owner]) ? container[owner] : {});
    const { schemaUrl } = container;
    // A scope's name and version are in its heading.
    const shown = fields.filter(([name]) => owner === "resource" || (name !== "name" && name !== "version"));
    yield* this.texts(Object.fromEntries(shown), indent);
    if (schemaUrl !== undefined && schemaUrl !== "") yield* this.texts({ schemaUrl }, indent);
  }

  /**
   * Returns all fields of a message: plain ones first, aligned; then attributes; then nested messages. A text has several
   * lines, because a step of a generator takes longer than making a line.
   */
  *texts(message: Tree, indent: string): Iterable<string> {
    const plain: string[] = [];
    const others: string[] = [];
    let width = 0;
    for (const name in message) {
      if (!isPlain(name, message[name]!)) others.push(name);
      else {
        plain.push(name);
        width = Math.max(width, labelOf(name).length);
      }
    }
    const lines: string[] = [];
    for (const name of plain)
      this.addField(`${labelOf(name)}:`.padEnd(width + 1), scalarText(name, message[name]!), indent, lines);
    for (const name of others) {
      if (ATTRIBUTE_FIELDS.has(name)) yield* this.attributes(labelOf(name), message[name]!, indent, lines);
      else {
        yield* taken(lines);
        yield* this.nested(name, message[name]!, indent);
      }
    }
    yield* taken(lines);
  }

  /** A text of several lines is printed below its label. */
  private addField(label: string, text: string, indent: string, lines: string[]): void {
    if (!text.includes("\n")) {
      lines.push(`${indent}${this.paint("dim", label)} ${text}`);
      return;
    }
    lines.push(`${indent}${this.paint("dim", label.trimEnd())}`);
    for (const line of text.split("\n")) lines.push(`${indent}  ${line}`);
  }

  /** Adds lines, and returns those that are many. */
  private *attributes(label: string, value: TreeValue, indent: string, lines: string[]): Iterable<string> {
    const entries = attributeEntries(value);
    if (entries.length === 0) return;
    lines.push(`${indent}${this.paint("dim", `${label}:`)}`);
    for (const [key, one] of entries) {
      const name = this.paint("dim", `${truncated(key, MAX_TEXT_LENGTH)}:`);
      lines.push(`${indent}  ${name} ${valueText(one, MAX_TEXT_LENGTH)}`);
      if (lines.length > MAX_LINES) yield* taken(lines);
    }
  }

  private *nested(name: string, value: TreeValue, indent: string): Iterable<string> {
    const noun = CHILD_NOUN[name] ?? labelOf(name);
    const children = Array.isArray(value) ? value : [value];
    for (const [index, child] of children.entries()) {
      yield `${indent}${Array.isArray(value) ? `${noun} ${index + 1}` : noun}`;
      if (isTree(child)) yield* this.texts(child, `${indent}  `);
    }
  }
}

/** The number of lines that are returned together. */
const MAX_LINES = 32;

/** Returns the lines as one text, or nothing if there are none, and removes them. */
function taken(lines: string[]): readonly string[] {
  if (lines.length === 0) return [];
  const text = lines.join("\n");
  lines.length = 0;
  return [text];
}

function isPlain(name: string, value: TreeValue): boolean {
  if (ATTRIBUTE_FIELDS.has(name)) return false;
  if (name === "body") return true;
  return Array.isArray(value) ? !value.some(isTree) : !isTree(value);
}

/** observedTimeUnixNano -> observed time */
function labelOf(field: string): string {
  let label = labels.get(field);
  if (label === undefined) {
    label = madeLabel(field);
    labels.set(field, label);
  }
  return label;
}

/** The labels of OTLP's fields, which are few. */
const labels = new Map<string, string>();

function madeLabel(field: string): string {
  if (field === "asInt" || field === "asDouble") return "value";
  return field.replace(/UnixNano$/, "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function scalarText(name: string, value: TreeValue): string {
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
