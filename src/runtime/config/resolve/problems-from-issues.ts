import type { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import { alternatives, didYouMean, REDACTED } from "#contract/schema";
import { successorOf } from "../schema/old-keys.js";
import { schemasAt } from "../schema/visit-schema.js";
import { enumValues, keysOf } from "../schema/zod-schema.js";
import { isSecretValue } from "../secrets/find-secrets.js";
import { withoutSecretTexts } from "../secrets/secret-text.js";
import { isNull, locatePath, type Node, nodeAt, placeOf, type Span } from "../text/node.js";
import { placeInText } from "../text/place-in-text.js";
import type { Place, Problem } from "../text/problem.js";

type ZodIssue = z.core.$ZodIssue;

/** A parsed node, its schema, and its path from the root of the config. */
interface CheckedNode {
  readonly node: Node;
  readonly schema: z.ZodType;
  readonly path: ConfigPath;
  /** Place of problems that no single value in the node causes. */
  readonly key: Span;
  /** Keys of the same map that another schema takes; suggestions may name them too. */
  readonly siblings?: readonly string[];
}

/** Turns zod's issues into problems with places, and messages that say what to write. */
export function problemsFromIssues(issues: readonly ZodIssue[], parsed: CheckedNode): Problem[] {
  return withoutConsequences(issues.flatMap((issue) => problemsFromIssue(issue, parsed)));
}

/** Leaves out that a key is missing, and what is wrong with its whole map, where a misspelt key is the reason. */
function withoutConsequences(problems: readonly Problem[]): Problem[] {
  const misspelt = problems.filter(({ code, suggestion }) => code === "unknown_key" && suggestion !== undefined);
  const maps = misspelt.map(({ path }) => path.slice(0, path.lastIndexOf(".")));
  const meant = misspelt.map(({ suggestion }, i) => `${maps[i]}.${suggestion!.split('"')[1]}`);
  return problems.filter(({ code, path }) => {
    if (code === "missing_key") return !meant.includes(path);
    return code !== "wrong_value" || !maps.includes(path);
  });
}

function problemsFromIssue(issue: ZodIssue, parsed: CheckedNode): Problem[] {
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => unknownKey(key, issue.path as ConfigPath, parsed));
  if (issue.code === "invalid_union" && !isCustom(issue)) return unionProblems(issue, parsed);
  if ((issue.code === "invalid_key" || issue.code === "invalid_element") && !isCustom(issue)) {
    return problemsFromIssues(
      issue.issues.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as ZodIssue),
      parsed,
    );
  }
  return [valueProblem(issue, parsed)];
}

function unknownKey(key: string, path: ConfigPath, parsed: CheckedNode): Problem {
  const written = pathAsWritten(parsed.node, [...path, key]);
  const owner = nodeAt(parsed.node, written.slice(0, -1));
  const span = owner?.kind === "map" ? owner.entries.get(key)?.key : undefined;
  const known = schemasAt(parsed.schema, path).flatMap((schema) => [...keysOf(schema).keys()]);
  if (path.length === 0) known.push(...(parsed.siblings ?? []));
  const successor = successorOf(key, known);
  const guess = successor === undefined ? didYouMean(key, known) : { suggestion: successor };
  const listed =
    guess.suggestion === undefined && known.length > 0 ? `; expected ${alternatives(known.toSorted())}` : "";
  return {
    severity: "error",
    code: "unknown_key",
    place: span ? placeOf(span) : placeFor(parsed, written),
    path: [...parsed.path, ...path, key].join("."),
    message: known.length === 0 ? `unknown key "${key}"; nothing is expected here` : `unknown key "${key}"${listed}`,
    ...guess,
  };
}

/** Reports only the union's branch that came closest; if none came close, says what each branch expects. */
function unionProblems(issue: Extract<ZodIssue, { code: "invalid_union" }>, parsed: CheckedNode): Problem[] {
  const branches = issue.errors.filter((branch) => branch.length > 0);
  const close = branches.filter((branch) => !branch.some((inner) => inner.path.length === 0 && isMismatch(inner)));
  const best = close.toSorted((a, b) => a.length - b.length)[0] ?? (branches.length === 1 ? branches[0] : undefined);
  if (best !== undefined) {
    return problemsFromIssues(
      best.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as ZodIssue),
      parsed,
    );
  }
  const wanted = branches.flat().map((inner) => expectedText(inner, []).replace(/^expected /, ""));
  return [valueProblem({ ...issue, message: `Invalid input: ${[...new Set(wanted)].join(" or ")}` }, parsed)];
}

/** True when the value has a completely different type than this branch expects. */
function isMismatch({ code }: ZodIssue): boolean {
  return code === "invalid_type" || code === "invalid_value" || code === "invalid_union";
}

function valueProblem(issue: ZodIssue, parsed: CheckedNode): Problem {
  const path = pathAsWritten(parsed.node, issue.path as ConfigPath);
  const node = nodeAt(parsed.node, path);
  const missing = node === undefined || (isNull(node) && path.length > 0);
  const fullPath = [...parsed.path, ...path];
  const schemas = schemasAt(parsed.schema, issue.path as ConfigPath);
  const hidden = isSecretValue(fullPath, node, schemas);
  const expected = expectedText(issue, schemas);
  const received = missing || isCustom(issue) ? "" : `, got ${describeNode(node, hidden)}`;
  const key = JSON.stringify(String(path.at(-1) ?? ""));
  const message = missing && path.length > 0 ? `${key} is required: ${expected}` : expected + received;
  return {
    severity: "error",
    code: missing ? "missing_key" : (CODES[issue.code] ?? "wrong_value"),
    place: placeWithin(issue, node) ?? placeFor(parsed, path),
    path: fullPath.join("."),
    message: hidden ? withValueRedacted(message, node) : message,
    ...suggestionFor(issue, node, hidden, schemas),
  };
}

/** An issue about a part of a string gives its position in `params: { offset, length }`. */
function placeWithin(issue: ZodIssue, node: Node | undefined): Place | undefined {
  if (issue.code !== "custom" || node?.kind !== "scalar") return undefined;
  const { offset, length } = issue.params ?? {};
  return typeof offset === "number" ? placeInText(node, offset, typeof length === "number" ? length : 1) : undefined;
}

const CODES: Readonly<Record<string, Problem["code"]>> = { invalid_type: "wrong_type", invalid_union: "wrong_type" };

function suggestionFor(
  issue: ZodIssue,
  node: Node | undefined,
  hidden: boolean,
  schemas: readonly z.ZodType[],
): { suggestion?: string } {
  if (node?.kind !== "scalar" || hidden) return {};
  if (issue.code === "custom" && typeof issue.params?.["suggestion"] === "string")
    return { suggestion: issue.params["suggestion"] };
  if (issue.code === "invalid_value" || issue.code === "invalid_union")
    return didYouMean(node.text, schemas.flatMap(enumValues));
  if (issue.code !== "invalid_type") return {};
  if (issue.expected === "array") return { suggestion: `write a list: [${node.text}]` };
  const bare = UNQUOTED[issue.expected];
  if (typeof node.value !== "string" || bare === undefined || !bare.test(node.text)) return {};
  return { suggestion: `write ${node.text} without quotes` };
}

const UNQUOTED: Readonly<Record<string, RegExp>> = {
  number: /^-?\d+(\.\d+)?$/,
  int: /^-?\d+$/,
  boolean: /^(true|false)$/,
};

function expectedText(issue: ZodIssue, schemas: readonly z.ZodType[]): string {
  if (isCustom(issue)) return withoutSecretTexts(issue.message);
  switch (issue.code) {
    case "invalid_type":
      return `expected ${typeLabel(issue.expected)}`;
    case "invalid_value":
      return `expected ${alternatives(issue.values.map(String))}`;
    case "too_small":
      return `expected ${sizeText(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum)}`;
    case "too_big":
      return `expected ${sizeText(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum)}`;
    case "not_multiple_of":
      return `expected a multiple of ${issue.divisor}`;
    case "invalid_format":
      return issue.format === "regex" ? `expected text that matches ${issue.pattern}` : `expected ${issue.format}`;
    case "invalid_union":
      return `expected ${issue.message.replace(/^Invalid input: /, "")}`;
    default:
      return schemas.length === 0 ? "not expected here" : issue.message.replace(/^Invalid input: /, "");
  }
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a map of keys",
  record: "a map of keys",
  array: "a list",
  null: "nothing",
};

function typeLabel(type: string): string {
  return TYPE_LABELS[type] ?? type;
}

function sizeText(origin: string, relation: string, bound: number | bigint): string {
  if (origin === "string") return `text of ${relation} ${bound} characters`;
  if (origin === "array" || origin === "set") return `a list of ${relation} ${bound} items`;
  return `a number of ${relation} ${bound}`;
}

function describeNode(node: Node | undefined, hidden: boolean): string {
  if (node === undefined) return "nothing";
  if (node.kind === "map") return "a map";
  if (node.kind === "list") return "a list";
  if (hidden) return "a value that is not shown here";
  if (node.value === null) return "nothing";
  const text = withoutSecretTexts(node.text);
  const shown = text.length > 60 ? `${text.slice(0, 57)}...` : text;
  return typeof node.value === "string" ? `the text ${JSON.stringify(shown)}` : shown;
}

function placeFor({ node, key }: CheckedNode, path: ConfigPath): Place {
  const written = path.length > 0 && nodeAt(node, path.slice(0, 1)) !== undefined;
  return written ? locatePath(node, path).place : placeOf(key);
}

/** Zod's own messages have a few fixed forms; any other message comes from the schema's author. */
function isCustom(issue: ZodIssue): boolean {
  return issue.code === "custom" || !/^(Invalid |Too (small|big)|Unrecognized )/.test(issue.message);
}

function withValueRedacted(message: string, node: Node | undefined): string {
  return node?.kind === "scalar" && node.text.length > 2 ? message.replaceAll(node.text, REDACTED) : message;
}

/** Converts a schema's path to the spelling of the config, where keys may have another case. */
function pathAsWritten(root: Node, path: ConfigPath): ConfigPath {
  let node: Node | undefined = root;
  return path.map((key) => {
    const entries = node?.kind === "map" ? node.entries : undefined;
    let name = key;
    if (entries !== undefined && !entries.has(String(key))) {
      const folded = String(key).toLowerCase();
      name = [...entries.keys()].find((written) => written.toLowerCase() === folded) ?? key;
    }
    node = nodeAt(node, [name]);
    return name;
  });
}
