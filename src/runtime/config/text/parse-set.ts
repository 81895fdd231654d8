import { type MapNode, mapNode, type Node, nodeAtSpan, type Span, scalarNode } from "./node.js";
import { parseYaml } from "./parse-yaml.js";
import type { Problem } from "./problem.js";
import { SourceText } from "./source-text.js";

/** The file name in problems about `--set` arguments. */
export const SET_SOURCE = "--set";

/** The `--set` arguments as one text with one argument per line, so that problems can show places in it. */
export function setSource(sets: readonly string[]): SourceText {
  return new SourceText(SET_SOURCE, sets.map((set) => set.replace(/\r?\n/g, " ")).join("\n"));
}

/**
 * Parses `a.b.c=value` (or `a::b::c=value`, for keys with dots) from line `index` of the `--set` source; the value is
 * YAML. If the form is wrong, adds a problem and returns undefined.
 */
export function parseSet(source: SourceText, index: number, problems: Problem[]): MapNode | undefined {
  const range = source.lineRange(index + 1)!;
  const line = source.text.slice(range.start, range.end);
  const equals = line.indexOf("=");
  const left = equals === -1 ? line : line.slice(0, equals);
  const keys = left.split(left.includes("::") ? "::" : ".").map((key) => key.trim());
  const span: Span = { source, start: range.start, end: range.start + left.length };
  if (equals === -1 || keys.some((key) => key === "")) {
    const place = source.placeAt(range.start);
    const message = "--set takes key.path=value, such as --set exporters.debug.verbosity=detailed";
    problems.push({ severity: "error", code: "invalid_set", place, path: left, message });
    return undefined;
  }
  return nest(
    keys,
    parseSetValue(line.slice(equals + 1), { source, start: span.end + 1, end: range.end }, problems),
    span,
  );
}

function parseSetValue(text: string, span: Span, problems: Problem[]): Node {
  const valueProblems: Problem[] = [];
  const value = parseYaml(new SourceText(SET_SOURCE, text), valueProblems);
  if (valueProblems.some((problem) => problem.severity === "error")) {
    const place = span.source.placeAt(span.start);
    problems.push({
      severity: "error",
      code: "yaml_syntax",
      place,
      path: "",
      message: `--set: ${valueProblems[0]!.message}`,
    });
  }
  return value === undefined ? scalarNode(span, null) : nodeAtSpan(value, span, false);
}

function nest(keys: readonly string[], value: Node, span: Span): MapNode {
  let node = value;
  for (const key of [...keys].reverse()) node = mapNode(span, new Map([[key, { key: span, value: node }]]));
  return node as MapNode;
}
