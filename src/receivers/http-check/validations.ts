import { z } from "zod";
import { compilePattern } from "#text/patterns";
import { section } from "../../plugin.js";

const text = () => z.string().min(1).optional();
const size = () => z.number().int().nonnegative().optional();
/** Throws an error that says what is wrong. */
const checked = (compile: (source: string) => unknown) =>
  text().superRefine((source, context) => {
    try {
      if (source !== undefined) compile(source);
    } catch (error) {
      context.addIssue({ code: "custom", message: (error as Error).message });
    }
  });

export const validationSchema = section(
  z.strictObject({
    contains: text().meta({ description: "A text that the body must contain." }),
    not_contains: text().meta({ description: "A text that it must not contain." }),
    json_path: checked(parseJsonPath).meta({
      harmless: true,
      description: "The path of a value that the body, which is JSON, must have: status, items.0.name, items.#.",
    }),
    equals: z
      .union([z.string(), z.number().transform(String), z.boolean().transform(String)])
      .optional()
      .meta({ description: "What the value at json_path must be, as text." }),
    max_size: size().meta({ description: "How many bytes the body may have." }),
    min_size: size().meta({ description: "How many bytes it must have." }),
    regex: checked(compilePattern).meta({ description: "A pattern, in RE2 syntax, that must match in the body." }),
  }),
).superRefine(({ json_path: path, equals }, context) => {
  if (equals !== undefined && path === undefined)
    context.addIssue({ code: "custom", path: ["equals"], message: "expected json_path with it" });
});

type ValidationConfig = z.infer<typeof validationSchema>;

/** A rule for bodies. Metrics use its type as a name. */
export interface Validation {
  readonly type: "contains" | "not_contains" | "json_path" | "size" | "regex";
  readonly passes: (body: AnswerBody) => boolean;
}

/** A body whose text and JSON are decoded at most once. */
export class AnswerBody {
  readonly bytes: Buffer;
  private asText: string | undefined;
  private asJson: { readonly value: unknown } | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get text(): string {
    this.asText ??= this.bytes.toString("utf8");
    return this.asText;
  }

  /** Undefined if the body is not JSON. */
  get json(): unknown {
    this.asJson ??= { value: parsed(this.text) };
    return this.asJson.value;
  }
}

export function compileValidations(configs: readonly ValidationConfig[]): Validation[] {
  return configs.flatMap(
    ({ contains, not_contains: without, json_path: path, equals, max_size: max, min_size: min, regex }) => {
      const rules: Validation[] = [];
      if (contains !== undefined) rules.push({ type: "contains", passes: (body) => body.text.includes(contains) });
      if (without !== undefined) rules.push({ type: "not_contains", passes: (body) => !body.text.includes(without) });
      if (path !== undefined) rules.push({ type: "json_path", passes: jsonRule(path, equals) });
      if (max !== undefined) rules.push({ type: "size", passes: ({ bytes }) => bytes.length <= max });
      if (min !== undefined) rules.push({ type: "size", passes: ({ bytes }) => bytes.length >= min });
      if (regex !== undefined) {
        const pattern = compilePattern(regex);
        rules.push({ type: "regex", passes: (body) => pattern.test(body.text) });
      }
      return rules;
    },
  );
}

function jsonRule(source: string, equals: string | undefined): Validation["passes"] {
  const path = parseJsonPath(source);
  return ({ json }) => {
    const found = valueAt(json, path);
    return found !== undefined && (equals === undefined || plainText(found) === equals);
  };
}

/**
 * Parses `a.b.0`, with `\.` for a dot in a name. `$.a[0]`, a common notation, means the same. Throws for query
 * expressions, which are not supported.
 */
function parseJsonPath(source: string): string[] {
  const plain = source
    .replace(/^\$/, "")
    .replace(/\[(\d+)\]/g, ".$1")
    .replace(/^\./, "");
  if (plain === "") return [];
  return plain.split(/(?<!\\)\./).map((name) => {
    if (name === "" || /^@|[*?|[\](){}]|^#./.test(name.replace(/\\./gs, "")))
      throw new Error("expected names and numbers with dots between them, such as items.0.name; queries are not known");
    return name.replace(/\\(.)/gs, "$1");
  });
}

/** Returns undefined if the path leads nowhere. */
function valueAt(json: unknown, path: readonly string[]): unknown {
  let value = json;
  for (const name of path) {
    if (Array.isArray(value) && name === "#") value = value.length;
    else if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    else value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/** Returns undefined for a value nested too deeply to be written. */
function plainText(value: unknown): string | undefined {
  if (value === null) return "";
  if (typeof value !== "object") return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
