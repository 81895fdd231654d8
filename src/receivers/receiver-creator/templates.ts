import type { ObservedEndpoint } from "#contract/services";
import { type CompiledExpression, compileExpression, ExpressionError, typeName } from "#text/expressions";

/** The variables of all types of endpoints. */
const VARIABLES =
  `type endpoint id host port name uid labels annotations namespace pod transport container_name container_id
  container_image cluster_ip service_type scheme path hostname external_ip internal_ip external_dns internal_dns
  kubelet_endpoint_port process_name command is_ipv6 os image tag alternate_port`.split(/\s+/);

const FUNCTIONS = { typeOf: typeName };

/** The variables of rules and templates for an endpoint. */
export type EndpointVariables = Readonly<Record<string, unknown>>;

export function variablesOf({ id, type, target, variables }: ObservedEndpoint): EndpointVariables {
  const [, inBrackets, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):([^:/]*)$/.exec(target) ?? [];
  const split = port === undefined ? { host: target } : { host: inBrackets ?? plain, port };
  return { ...split, ...variables, endpoint: target, type, id };
}

/** A condition that endpoints meet or not, such as `type == "port" && port == 6379`. */
export class EndpointRule {
  readonly source: string;
  private readonly expression: CompiledExpression;

  /** Throws an `ExpressionError` if the source is invalid. */
  constructor(source: string) {
    this.source = source;
    this.expression = compileExpression(source, { variables: VARIABLES, functions: FUNCTIONS, allowsUnknown: true });
  }

  /** Throws an `ExpressionError` if it cannot tell. */
  matches(variables: EndpointVariables): boolean {
    const value = this.expression(variables);
    if (typeof value !== "boolean") throw new ExpressionError("the rule is not true or false");
    return value;
  }
}

/** Throws an `ExpressionError` if a text of the config has a template that no endpoint could fill. */
export function checkTemplate(text: string): void {
  for (const { expression } of partsOf(text))
    if (expression !== undefined) compileExpression(expression, { variables: VARIABLES });
}

/**
 * Replaces the expressions in backticks in all texts of a value. A text that is one expression becomes its value, such
 * as a number; every other text stays one. Throws an `ExpressionError` if an expression has no value.
 */
export function expand(value: unknown, variables: EndpointVariables): unknown {
  if (typeof value === "string") return expandText(value, variables);
  if (Array.isArray(value)) return value.map((item) => expand(item, variables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item, variables)]));
}

function expandText(text: string, variables: EndpointVariables): unknown {
  if (!text.includes("`") && !text.includes("\\")) return text;
  const values = partsOf(text).map(({ text: plain, expression }) =>
    expression === undefined ? plain : evaluate(expression, variables),
  );
  return values.length === 1 ? values[0] : values.map(textOfValue).join("");
}

/** An endpoint lacks the variables of other types. */
function evaluate(expression: string, variables: EndpointVariables): unknown {
  const value = compileExpression(expression, { variables: Object.keys(variables) })(variables);
  return typeof value === "bigint" ? Number(value) : value;
}

/** The text of a value, as in the Collector. */
export function textOfValue(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(textOfValue).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${textOfValue(item)}`).join(" ")}]`;
}

interface TemplatePart {
  readonly text: string;
  readonly expression?: string;
}

/** Splits a text at its backticks; a backslash in front of one makes it an ordinary character. */
function partsOf(source: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let text = "";
  for (let i = 0; i < source.length; i++) {
    if (source[i] === "\\" && source[i + 1] === "`") text += source[++i];
    else if (source[i] === "`") {
      const end = source.indexOf("`", i + 1);
      if (end < 0) throw new ExpressionError("a backtick is missing behind the expression", i);
      const expression = source.slice(i + 1, end);
      if (expression.trim() === "") throw new ExpressionError("the expression between the backticks is empty", i);
      if (text !== "") parts.push({ text });
      parts.push({ text: "", expression });
      text = "";
      i = end;
    } else text += source[i];
  }
  if (text !== "" || parts.length === 0) parts.push({ text });
  return parts;
}
