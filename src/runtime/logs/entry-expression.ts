import { environmentVariable } from "#system";
import {
  type CompiledExpression,
  compileExpression,
  ExpressionDuration,
  ExpressionError,
  ExpressionTime,
  ZERO_TIME,
} from "#text/expressions";
import type { LogEntry } from "./entries/log-entry.js";
import { copyValue, type LogValue } from "./entries/log-value.js";

/** An expression about an entry, such as `attributes["level"] == "debug"`. */
export class EntryExpression {
  readonly source: string;
  private readonly expression: CompiledExpression;

  /** Throws an `ExpressionError` if the source is invalid. */
  constructor(source: string) {
    this.source = source;
    this.expression = compileExpression(source, NAMES);
  }

  /** Throws an `ExpressionError` if there is no value. */
  evaluate(entry: LogEntry): LogValue {
    const { body, attributes, resource, severityText, severityNumber, timestamp } = entry;
    const scope = {
      body,
      attributes,
      resource,
      severity_text: severityText,
      severity_number: severityNumber,
      timestamp: timestamp === undefined ? ZERO_TIME : new ExpressionTime(timestamp),
      $: body,
      $body: body,
      $record: body,
      $attributes: attributes,
      $labels: attributes,
      $resource: resource,
    };
    return this.expression(scope) as LogValue;
  }

  holds(entry: LogEntry): boolean {
    const value = this.evaluate(entry);
    if (typeof value !== "boolean") throw new ExpressionError(`${this.source} is not true or false`);
    return value;
  }
}

const NAMES = {
  variables: [
    "body",
    "attributes",
    "resource",
    "severity_text",
    "severity_number",
    "timestamp",
    "$",
    "$body",
    "$record",
    "$attributes",
    "$labels",
    "$resource",
  ],
  functions: { env: (name: unknown) => environmentVariable(String(name)) ?? "" },
  allowsUnknown: true,
};

const START = "EXPR(";

/**
 * The value of an operator or attribute: a text that is one `EXPR(...)` from beginning to end takes the value of its
 * expression, any other text is meant as it is written.
 */
export class EntryValue {
  private readonly expression: EntryExpression | undefined;
  private readonly written: string;

  constructor(text: string) {
    this.written = text;
    const isExpression = text.startsWith(START) && text.endsWith(")");
    this.expression = isExpression ? new EntryExpression(text.slice(START.length, -1)) : undefined;
  }

  of(entry: LogEntry): LogValue {
    if (this.expression === undefined) return this.written;
    const value = this.expression.evaluate(entry);
    if (value instanceof ExpressionTime || value instanceof ExpressionDuration) return String(value);
    return copyValue(value); // an entry must not become a part of itself, as with `EXPR(attributes)`
  }
}

/** A text in which every `EXPR(...)` is replaced by the text that its expression gives. */
export class EntryTemplate {
  private readonly parts: readonly (string | EntryExpression)[];

  constructor(text: string) {
    this.parts = splitTemplate(text);
  }

  text(entry: LogEntry): string {
    return this.parts.map((part) => (typeof part === "string" ? part : String(part.evaluate(entry)))).join("");
  }
}

/** As in the Collector, an expression ends at the last `)` before the next `EXPR(`. Without one it is ordinary text. */
function splitTemplate(text: string): (string | EntryExpression)[] {
  const parts: (string | EntryExpression)[] = [];
  let from = 0;
  for (let start = text.indexOf(START); start >= 0; start = text.indexOf(START, from)) {
    const next = text.indexOf(START, start + START.length);
    const end = text.lastIndexOf(")", (next < 0 ? text.length : next) - 1);
    if (end < start) break;
    parts.push(text.slice(from, start), new EntryExpression(text.slice(start + START.length, end)));
    from = end + 1;
  }
  parts.push(text.slice(from));
  return parts;
}
