import { textOf } from "../record-facts.js";
export type TemplateFacts = Readonly<Record<string, unknown>>;

/** A compiled template: returns the JSON value for some facts. */
export type RenderTemplate = (facts: TemplateFacts) => unknown;

/** A problem of a template, and its path. */
interface TemplateProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

// Linear: a placeholder ends before the next one begins.
const PLACEHOLDER = /\{\{((?:[^{}]|\{(?!\{)|\}(?!\}))*)\}\}/g;
const PATH = /^\s*([a-z_]+)((?:\.[A-Za-z_][A-Za-z0-9_]*|\["(?:[^"\\]|\\.)*"\])*)\s*$/;
const STEP = /\.([A-Za-z_][A-Za-z0-9_]*)|\["((?:[^"\\]|\\.)*)"\]/g;
const MAX_DEPTH = 32;

/**
 * Compiles a JSON value whose texts contain placeholders such as `{{ attributes["http.status_code"] }}`. A text that
 * consists of one placeholder becomes the value itself, such as a number or an object; within other text the value
 * becomes text. Values are put into the tree, never into written JSON, so no value can change its structure. A missing
 * value becomes null, or no text.
 */
export function compileTemplate(
  template: unknown,
  names: ReadonlySet<string>,
): RenderTemplate | readonly TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  const render = compileValue(template, [], names, problems);
  return problems.length > 0 ? problems : render;
}

function compileValue(
  template: unknown,
  path: readonly (string | number)[],
  names: ReadonlySet<string>,
  problems: TemplateProblem[],
): RenderTemplate {
  if (path.length > MAX_DEPTH) {
    problems.push({ path, message: `expected at most ${MAX_DEPTH} levels` });
    return () => null;
  }
  if (typeof template === "string") return compileText(template, path, names, problems);
  if (Array.isArray(template)) {
    const elements = template.map((each, i) => compileValue(each, [...path, i], names, problems));
    return (facts) => elements.map((render) => render(facts));
  }
  if (typeof template === "object" && template !== null) {
    const members = Object.entries(template).map(
      ([key, each]) => [key, compileValue(each, [...path, key], names, problems)] as const,
    );
    return (facts) => Object.fromEntries(members.map(([key, render]) => [key, render(facts)]));
  }
  return () => template ?? null;
}

function compileText(
  template: string,
  path: readonly (string | number)[],
  names: ReadonlySet<string>,
  problems: TemplateProblem[],
): RenderTemplate {
  const parts: (string | RenderTemplate)[] = [];
  let from = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    const read = compilePath(match[1]!, names);
    if (typeof read === "string") problems.push({ path, message: read });
    else parts.push(template.slice(from, match.index), read);
    from = match.index + match[0].length;
  }
  parts.push(template.slice(from));
  const texts = parts.filter((part) => part !== "");
  if (texts.length === 1 && typeof texts[0] === "function") return texts[0];
  return (facts) => texts.map((part) => (typeof part === "string" ? part : textOf(part(facts)))).join("");
}

/** Returns a function that reads the value, or the problem of the path. */
function compilePath(text: string, names: ReadonlySet<string>): RenderTemplate | string {
  const [, name, rest = ""] = PATH.exec(text) ?? [];
  if (name === undefined)
    return `expected a name such as {{ body }} or {{ attributes["http.route"] }}, found {{${text}}}`;
  if (!names.has(name)) return `expected one of ${[...names].join(", ")}, found ${name}`;
  const steps = [...rest.matchAll(STEP)].map(([, plain, quoted = ""]) => plain ?? quoted.replace(/\\(.)/g, "$1"));
  return (facts) => {
    let value: unknown = facts[name];
    for (const step of steps) value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
    return value ?? null;
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/**
 * Returns the JSON that a checked template makes, as pieces: bytes, and names whose JSON stands between them. Returns
 * undefined for a template that needs more than whole values of names.
 */
export function templatePieces(template: unknown): readonly (Uint8Array | string)[] | undefined {
  const pieces: (Uint8Array | string)[] = [];
  let text = "";
  const add = (value: unknown): boolean => {
    if (typeof value === "object" && value !== null) {
      const isList = Array.isArray(value);
      text += isList ? "[" : "{";
      // JavaScript moves members whose names are numbers to the front.
      const areAllWhole = Object.entries(value).every(([key, each], i) => {
        text += `${i > 0 ? "," : ""}${isList ? "" : `${JSON.stringify(key)}:`}`;
        return (isList || !/^\d/.test(key)) && add(each);
      });
      text += isList ? "]" : "}";
      return areAllWhole;
    }
    if (typeof value !== "string" || !value.includes("{{")) {
      text += JSON.stringify(value ?? null);
      return true;
    }
    const [, name] = WHOLE_NAME.exec(value) ?? [];
    if (name === undefined) return false;
    pieces.push(Buffer.from(text), name);
    text = "";
    return true;
  };
  if (!add(template)) return undefined;
  return [...pieces, Buffer.from(text)];
}

const WHOLE_NAME = /^\{\{\s*([a-z_]+)\s*\}\}$/;
