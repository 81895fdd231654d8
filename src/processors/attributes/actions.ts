import { hash } from "node:crypto";
import { z } from "zod";
import { valueText } from "#otlp/bytes";
import { compilePattern } from "#text/patterns";
import { type Attributes, asDouble, type Origin, type Value } from "../../plugin.js";

const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number(), z.boolean()]))]);

const SOURCES = ["value", "from_attribute", "from_context"] as const;

/** One change to attributes, with the Collector's keys. */
export const actionSchema = z
  .strictObject({
    key: z.string().optional().meta({ description: "The attribute that is changed." }),
    pattern: z
      .string()
      .optional()
      .meta({ description: "For extract: named groups become attributes. For delete and hash: which keys." }),
    action: z.enum(["insert", "update", "upsert", "delete", "hash", "extract", "convert"]).meta({
      description:
        "insert adds a missing attribute, update changes an existing one, upsert does both; delete, hash, extract (parts of its text), convert (its type).",
    }),
    value: value.optional().meta({ description: "The new value." }),
    from_attribute: z.string().optional().meta({ description: "The attribute to copy the value from." }),
    from_context: z.string().optional().meta({
      description:
        "metadata.<name>: a header of the client's request; client.address: its address. The receiver needs include_metadata: true.",
    }),
    converted_type: z
      .enum(["int", "double", "string"])
      .optional()
      .meta({ description: "For convert: the new type of the value." }),
  })
  .superRefine((config, context) => {
    const problem = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    const sources = SOURCES.filter((source) => config[source] !== undefined);
    const byPattern = config.action === "delete" || config.action === "hash";
    if (config.key === undefined && !(byPattern && config.pattern !== undefined)) {
      problem(["key"], `expected the key of an attribute${byPattern ? ", or a pattern" : ""}`);
    }
    if (["insert", "update", "upsert"].includes(config.action) && sources.length !== 1) {
      problem(["action"], `${config.action} takes one of value, from_attribute and from_context`);
    }
    if (config.action === "convert" && config.converted_type === undefined) {
      problem(["converted_type"], "expected int, double or string");
    }
    if (config.action === "extract" && config.pattern === undefined) problem(["pattern"], "extract needs a pattern");
    if (config.pattern !== undefined) checkPattern(config.pattern, config.action === "extract", problem);
  });

function checkPattern(pattern: string, isExtract: boolean, problem: (path: string[], message: string) => void): void {
  try {
    const { groupNames } = compilePattern(pattern);
    if (isExtract && groupNames.length === 0) problem(["pattern"], "expected at least one named group: (?P<name>...)");
  } catch (error) {
    problem(["pattern"], `expected a pattern in RE2 syntax: ${(error as Error).message}`);
  }
}

export type ActionConfig = z.infer<typeof actionSchema>;
type Action = (attributes: Attributes, origin: Origin) => void;

/**
 * Compiles one configured action. The returned function leaves the attributes untouched when there is nothing to
 * change.
 */
export function createAction(config: ActionConfig): Action {
  const { key = "", action } = config;
  switch (action) {
    case "insert":
    case "update":
    case "upsert":
      return assignAction(key, action, valueSourceOf(config));
    case "delete":
      return keysAction(config, (attributes, name) => attributes.delete(name));
    case "hash":
      return keysAction(config, (attributes, name) => attributes.set(name, hashValue(attributes.get(name) ?? null)));
    case "extract":
      return extractAction(key, config.pattern ?? "");
    case "convert":
      return convertAction(key, config.converted_type ?? "string");
  }
}

type ValueSource = (attributes: Attributes, origin: Origin) => Value | undefined;

function valueSourceOf(config: ActionConfig): ValueSource {
  const { value: fixed, from_attribute: attribute, from_context: context } = config;
  if (fixed !== undefined) return () => fixed;
  if (attribute !== undefined) return (attributes) => attributes.get(attribute);
  const header = context?.replace(/^metadata\./, "").toLowerCase() ?? "";
  return (_, origin) => origin.metadata?.get(header)?.join(";");
}

function assignAction(key: string, action: "insert" | "update" | "upsert", source: ValueSource): Action {
  return (attributes, origin) => {
    if (action !== "upsert" && attributes.has(key) !== (action === "update")) return;
    const next = source(attributes, origin);
    if (next !== undefined) attributes.set(key, next);
  };
}

function keysAction({ key, pattern }: ActionConfig, change: (attributes: Attributes, key: string) => void): Action {
  const keys = pattern === undefined ? undefined : compilePattern(pattern);
  return (attributes) => {
    if (key !== undefined && attributes.has(key)) change(attributes, key);
    if (keys === undefined) return;
    for (const name of attributes.keys()) if (name !== key && keys.test(name)) change(attributes, name);
  };
}

function extractAction(key: string, pattern: string): Action {
  const compiled = compilePattern(pattern);
  return (attributes) => {
    const text = attributes.get(key);
    if (typeof text !== "string") return;
    for (const [name, found] of Object.entries(compiled.groups(text) ?? {})) attributes.set(name, found);
  };
}

function convertAction(key: string, type: "int" | "double" | "string"): Action {
  return (attributes) => {
    const old = attributes.get(key);
    const next = old === undefined || old === null ? undefined : convertValue(old, type);
    if (next !== undefined && next !== old) attributes.set(key, next);
  };
}

/** Returns undefined when the value cannot be read as that type; the caller then keeps the old value. */
function convertValue(old: Value, type: "int" | "double" | "string"): Value | undefined {
  if (type === "string") return valueText(old);
  if (typeof old === "boolean") return type === "int" ? Number(old) : asDouble(Number(old));
  if (typeof old === "bigint") return type === "int" ? old : asDouble(Number(old));
  if (typeof old === "number") return type === "int" ? Math.trunc(old) : asDouble(old);
  if (typeof old !== "string" || old.trim() === "") return undefined;
  if (type === "int") return /^[+-]?\d{1,64}$/.test(old) ? parseInteger(old) : undefined;
  return Number.isNaN(Number(old)) ? undefined : asDouble(Number(old));
}

function parseInteger(text: string): number | bigint | undefined {
  const exact = BigInt(text.replace("+", ""));
  if (BigInt.asIntN(64, exact) !== exact) return undefined;
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

function hashValue(old: Value): string {
  return hash("sha256", valueText(old), "hex");
}
