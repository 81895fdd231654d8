import { environmentVariable } from "#system";
import { type CompiledExpression, compileExpression, ExpressionError } from "#text/expressions";
import type { LogEntry } from "./entries/log-entry.js";
import type { LogValue } from "./entries/log-value.js";

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
    const { body, attributes, resource, severityText, severityNumber } = entry;
    const scope = {
      body,
      attributes,
      resource,
      severity_text: severityText,
      severity_number: severityNumber,
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
    ...["body", "attributes", "resource", "severity_text", "severity_number"],
    ...["$", "$body", "$record", "$attributes", "$labels", "$resource"],
  ],
  functions: { env: (name: unknown) => environmentVariable(String(name)) ?? "" },
};

/** A text that may contain `EXPR(...)`, or any other value unchanged. */
export class EntryTemplate {
  private readonly parts: readonly (string | EntryExpression)[];

  constructor(text: string) {
    this.parts = splitTemplate(text);
  }

  /** A text that consists of one expression takes the type of its value. */
  value(entry: LogEntry): LogValue {
    const [only] = this.parts;
    if (this.parts.length === 1 && only instanceof EntryExpression) {
      const value = only.evaluate(entry);
      // Whole numbers from expressions are integers.
      return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
    }
    return this.text(entry);
  }

  text(entry: LogEntry): string {
    return this.parts.map((part) => (typeof part === "string" ? part : String(part.evaluate(entry)))).join("");
  }
}

function splitTemplate(text: string): (string | EntryExpression)[] {
  const parts: (string | EntryExpression)[] = [];
  let from = 0;
  for (let start = text.indexOf("EXPR("); start >= 0; start = text.indexOf("EXPR(", from)) {
    if (start > from) parts.push(text.slice(from, start));
    const end = closingParenthesis(text, start + 5);
    parts.push(new EntryExpression(text.slice(start + 5, end)));
    from = end + 1;
  }
  if (from < text.length || parts.length === 0) parts.push(text.slice(from));
  return parts;
}

function closingParenthesis(text: string, from: number): number {
  let depth = 1;
  let quote = "";
  for (let i = from; i < text.length; i++) {
    const char = text[i]!;
    if (quote !== "") {
      if (char === "\\" && quote !== "`") i++;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'" || char === "`") quote = char;
    else if (char === "(") depth++;
    else if (char === ")" && --depth === 0) return i;
  }
  throw new ExpressionError("EXPR( has no )", from);
}
