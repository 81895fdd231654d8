import { anyValueAt, anyValueEnd, findAttribute } from "#otlp/bytes";
import { STRING_VALUE_TAG } from "#otlp/tags";
import { plainGoNumber } from "#text/go";
import type { ContextName } from "../paths/context.js";
import { parseValue } from "../syntax/parser.js";
import { plainText } from "../values/conversions.js";
import type { OttlValue } from "../values/value.js";
import { type Condition, compilerFor } from "./compile.js";
import { allOf, anyOf, isEncodedText, negated } from "./predicate.js";

/** Conditions that a component builds from its settings, however many and long, instead of writing them as one text. */

/** Whether the path has this value, compared with `==`. */
export function valueIs(path: string, context: ContextName, value: OttlValue): Condition {
  const left = parseValue(path);
  const { at, end } = left;
  const right = { kind: "literal" as const, value, at, end };
  const matches = compilerFor(context).condition({
    kind: "compare",
    operator: "==",
    left,
    right,
    at,
    end,
  });
  return { text: path, context, matches };
}

/**
 * Whether the text of the path's value matches. Any value except nil has a text; with `plain` lists, maps and bytes
 * have none.
 */
export function textMatches(
  path: string,
  context: ContextName,
  fits: (text: string) => boolean,
  { plain = false } = {},
): Condition {
  const get = compilerFor(context).value(parseValue(path));
  const matchesOther = (value: OttlValue) => {
    if (value === null || (plain && typeof value === "object")) return false;
    return fits(plain && typeof value === "number" ? plainGoNumber(value) : plainText(value));
  };
  const matches: Condition["matches"] = (ctx) => {
    const value = get(ctx);
    return typeof value === "string" ? fits(value) : matchesOther(value);
  };
  return { text: path, context, matches };
}

/** Whether that text is one of these. A few texts are compared with the bytes of an attribute without decoding. */
export function textIsOneOf(path: string, context: ContextName, texts: readonly string[]): Condition {
  const all = new Set(texts);
  const condition = textMatches(path, context, (text) => all.has(text));
  const { attribute } = compilerFor(context).path(parseValue(path));
  if (attribute === undefined || all.size > MAX_COMPARED_TEXTS) return condition;
  const known = [...all].map((text) => ({ text, bytes: Buffer.from(text, "utf8") }));
  const matches: Condition["matches"] = (ctx) => {
    const message = attribute.select(ctx);
    if (message.edits !== undefined) return condition.matches(ctx);
    const { bytes } = message;
    const at = findAttribute(bytes, message.start, message.end, message.attributesTag, attribute.encoded);
    const start = at < 0 ? -1 : anyValueAt(bytes, at);
    if (start < 0) return false;
    const end = anyValueEnd;
    if (start < end && bytes[start] !== STRING_VALUE_TAG) return condition.matches(ctx);
    for (let i = 0; i < known.length; i++)
      if (isEncodedText(bytes, start, end, known[i]!.text, known[i]!.bytes)) return true;
    return false;
  };
  return { text: path, context, matches };
}

const MAX_COMPARED_TEXTS = 8;

/** All, any or none of several conditions of one context. */
export function composed(which: "all" | "any" | "none", conditions: readonly Condition[]): Condition {
  const tests = conditions.map(({ matches }) => matches);
  const { context } = conditions[0]!;
  const text = `${which} of ${conditions.map((one) => one.text).join(", ")}`;
  const matches = which === "all" ? allOf(tests) : which === "any" ? anyOf(tests) : negated(anyOf(tests));
  return { text, context, matches };
}
