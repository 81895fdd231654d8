import type { Tree } from "#otlp/bytes";
import { type CompiledExpression, compileExpression, ExpressionError } from "#text/expressions";
import { kindOf, pointsOf } from "../functions/metric/metric-tree.js";
import type { RecordContext } from "../paths/record-context.js";
import { OttlError, OttlSyntaxError } from "../values/error.js";
import type { Condition } from "./compile.js";

/** The attributes of the current point; an evaluation ends before the next one begins. */
let attributes: readonly Tree[] = [];

function labelOf(name: unknown, more: readonly unknown[]): Tree | undefined {
  if (typeof name !== "string" || more.length > 0) throw new ExpressionError("a label is asked for by one string");
  return attributes.find(({ key }) => key === name);
}

const NAMES = {
  variables: ["MetricName", "MetricType"],
  functions: {
    HasLabel: (name: unknown, ...more: unknown[]) => labelOf(name, more) !== undefined,
    Label: (name: unknown, ...more: unknown[]) =>
      (labelOf(name, more)?.["value"] as Tree | undefined)?.["stringValue"] ?? "",
  },
};

/**
 * Expressions on metrics with the semantics of the Collector's `match_type: expr`: whether any of them is true for any
 * point, or with `negated` for none. Throws an `OttlSyntaxError` for an invalid expression.
 */
export function compileMetricExpressions(texts: readonly string[], negated: boolean): Condition {
  const expressions = texts.map(compileOne);
  const test = (metric: Tree): boolean => {
    const scope = { MetricName: metric["name"] ?? "", MetricType: typeOf(metric) };
    return pointsOf(metric).some((point) => {
      attributes = (point["attributes"] ?? []) as Tree[];
      return expressions.some((expression) => truthOf(expression(scope)));
    });
  };
  return { text: texts.join(" or "), context: "metric", matches: (ctx) => decide(ctx, test) !== negated };
}

function compileOne(text: string): CompiledExpression {
  try {
    return compileExpression(text, NAMES);
  } catch (error) {
    if (error instanceof ExpressionError)
      throw new OttlSyntaxError(`not an expression: ${error.message}`, error.at ?? 0);
    throw error;
  }
}

function decide(ctx: RecordContext, test: (metric: Tree) => boolean): boolean {
  try {
    return test(ctx.metricTree());
  } catch (error) {
    if (error instanceof ExpressionError) throw new OttlError(error.message);
    throw error;
  }
}

function truthOf(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new OttlError("the expression gives no bool");
}

function typeOf(metric: Tree): string {
  const kind = kindOf(metric) ?? "empty";
  return kind[0]!.toUpperCase() + kind.slice(1);
}
