import { hash } from "node:crypto";
import { z } from "zod";
import { telemetryValue } from "#contract/schema";
import { isOttlError, type OttlValue, plainText, readOttlValue, toDouble, toInt } from "#ottl";
import { compilePattern } from "#text/patterns";
import { type Attributes, asDouble, caseInsensitiveEnum, type Origin, type Value } from "../../plugin.js";

const SOURCES = ["value", "from_attribute", "from_context"] as const;

/** The keys that an action takes beside `key`, `action` and `default_value`, which the Collector lets pass everywhere. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  insert: SOURCES,
  update: SOURCES,
  upsert: SOURCES,
  delete: ["pattern", "from_context"],
  hash: ["pattern", "from_context"],
  extract: ["pattern"],
  convert: ["converted_type"],
};

/** One change to attributes, with the Collector's keys. */
export const actionSchema = z
  .strictObject({
    key: z.string().optional().meta({ description: "The attribute that is changed." }),
    pattern: z
      .string()
      .optional()
      .meta({ description: "For extract: named groups become attributes. For delete and hash: which keys." }),
    action: caseInsensitiveEnum(["insert", "update", "upsert", "delete", "hash", "extract", "convert"]).meta({
      description:
        "insert adds a missing attribute, update changes an existing one, upsert does both; delete, hash, extract (parts of its text), convert (its type).",
    }),
    value: telemetryValue().optional().meta({ description: "The new value: a scalar, a list or a map." }),
    default_value: telemetryValue()
      .optional()
      .meta({ description: "The new value if from_attribute or from_context finds none." }),
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
    const { action } = config;
    const written = [...SOURCES, "pattern", "converted_type"].filter((name) => isWritten(config, name));
    const byPattern = action === "delete" || action === "hash";
    if (!isWritten(config, "key") && !(byPattern && isWritten(config, "pattern"))) {
      problem(["key"], `expected the key of an attribute${byPattern ? ", or a pattern" : ""}`);
    }
    for (const name of written) if (!TAKES[action]!.includes(name)) problem([name], `${action} does not take ${name}`);
    if (TAKES[action] === SOURCES) checkSources(config, problem);
    if (action === "convert" && config.converted_type === undefined) {
      problem(["converted_type"], "expected int, double or string");
    }
    if (action === "extract" && !isWritten(config, "pattern")) problem(["pattern"], "extract needs a pattern");
    if (isWritten(config, "pattern")) checkPattern(config.pattern!, action === "extract", problem);
  });

type AddProblem = (path: string[], message: string) => void;

/** Empty texts count as not written, as in the Collector; an empty value is one. */
function isWritten(config: Readonly<Record<string, unknown>>, name: string): boolean {
  const written = config[name] ?? undefined;
  return written !== undefined && (name === "value" || written !== "");
}

function checkSources(config: Readonly<Record<string, unknown>>, problem: AddProblem): void {
  const sources = SOURCES.filter((name) => isWritten(config, name));
  const hasDefault = (config["default_value"] ?? undefined) !== undefined;
  if (sources.length > 1 || (sources.length === 0 && !hasDefault)) {
    problem(["action"], `${config["action"]} takes one of value, from_attribute, from_context, or a default_value`);
  }
}

function checkPattern(pattern: string, isExtract: boolean, problem: AddProblem): void {
  try {
    const { groupNames } = compilePattern(pattern);
    if (!isExtract) return;
    if (groupNames.length === 0) problem(["pattern"], "expected at least one named group: (?P<name>...)");
    else if (hasUnnamedGroup(pattern))
      problem(["pattern"], "expected only named groups: (?P<name>...), or (?:...) for others");
  } catch (error) {
    problem(["pattern"], `expected a pattern in RE2 syntax: ${(error as Error).message}`);
  }
}

/** Works for valid patterns only. */
function hasUnnamedGroup(pattern: string): boolean {
  // Linear: in a valid pattern every class ends, so no character is read twice.
  const withoutLiterals = pattern.replace(/\\Q[\s\S]*?(\\E|$)|\\[\s\S]|\[\^?\]?(\\[\s\S]|\[:\w+:\]|[^\]])*\]/g, "");
  return /\((?!\?)/.test(withoutLiterals);
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
      return assignAction(key, action, assignmentOf(config));
    case "delete":
      return keysAction(config, (attributes, name) => attributes.delete(name));
    case "hash":
      return keysAction(config, (attributes, name) => attributes.set(name, hashValue(attributes, name)));
    case "extract":
      return extractAction(key, config.pattern ?? "");
    case "convert":
      return convertAction(key, config.converted_type ?? "string");
  }
}

/** Writes the new value under the key. Does nothing if there is none. */
type Assign = (attributes: Attributes, key: string, origin: Origin) => void;

function assignmentOf(config: ActionConfig): Assign {
  const { value: fixed, from_attribute: attribute, from_context: context, default_value: byDefault } = config;
  if (fixed !== undefined && fixed !== null) return (attributes, key) => attributes.set(key, fixed);
  const assignDefault = (attributes: Attributes, key: string) => {
    if (byDefault !== undefined && byDefault !== null) attributes.set(key, byDefault);
  };
  if (attribute) return (attributes, key) => attributes.copy(attribute, key) || assignDefault(attributes, key);
  if (!context) return assignDefault;
  const header = context.replace(/^metadata\./, "").toLowerCase();
  return (attributes, key, origin) => {
    const found = origin.metadata?.get(header)?.join(";");
    if (found === undefined) assignDefault(attributes, key);
    else attributes.set(key, found);
  };
}

function assignAction(key: string, action: "insert" | "update" | "upsert", assign: Assign): Action {
  return (attributes, origin) => {
    if (action !== "upsert" && attributes.has(key) !== (action === "update")) return;
    assign(attributes, key, origin);
  };
}

/** A key that the pattern finds too is changed twice, as in the Collector: its hash is hashed again. */
function keysAction({ key, pattern }: ActionConfig, change: (attributes: Attributes, key: string) => void): Action {
  const keys = pattern ? compilePattern(pattern) : undefined;
  return (attributes) => {
    if (key && attributes.has(key)) change(attributes, key);
    if (keys === undefined) return;
    for (const name of attributes.keys()) if (keys.test(name)) change(attributes, name);
  };
}

function extractAction(key: string, pattern: string): Action {
  const compiled = compilePattern(pattern);
  const names = compiled.groupNames;
  return (attributes) => {
    const text = attributes.get(key);
    const found = typeof text === "string" ? compiled.groupList(text) : undefined;
    if (found !== undefined) for (let i = 0; i < names.length; i++) attributes.set(names[i]!, found[i] ?? "");
  };
}

type ConversionTarget = NonNullable<ActionConfig["converted_type"]>;

function convertAction(key: string, type: ConversionTarget): Action {
  return (attributes) => {
    if (!attributes.has(key)) return;
    const next = convertValue(exactValue(attributes, key), type);
    if (next !== undefined) attributes.set(key, next);
  };
}

/** Returns undefined when the value has that type already, or cannot be read as that type: it stays as it is then. */
function convertValue(old: OttlValue, type: ConversionTarget): Value | undefined {
  if (type === "string") return typeof old === "string" ? undefined : plainText(old);
  if (typeof old === "object") return undefined;
  if (type === "int") return typeof old === "bigint" ? undefined : (toInt(old) ?? undefined);
  return typeof old === "number" ? undefined : doubleOf(old);
}

function doubleOf(old: OttlValue): Value | undefined {
  try {
    return asDouble(toDouble(old)!);
  } catch (error) {
    if (isOttlError(error)) return undefined;
    throw error;
  }
}

/**
 * The SHA-256 that the Collector gives the value, in hex, so that pseudonyms join wherever they were made: integers and
 * doubles are hashed as their 8 bytes. What has no hash there (bytes, lists, maps, nothing) becomes empty.
 */
function hashValue(attributes: Attributes, key: string): string {
  const size = attributes.copyAscii(key, hashedText);
  if (size >= 0) return hash("sha256", (hashedTexts[size] ??= hashedText.subarray(0, size)), "hex");
  const text = attributes.get(key);
  if (typeof text === "string") return hash("sha256", text, "hex");
  const bytes = hashedBytes(exactValue(attributes, key));
  return bytes === undefined ? "" : hash("sha256", bytes, "hex");
}

/** Holds a text while it is hashed, so that no text is made of it; and its beginnings by size, which are kept. */
const hashedText = new Uint8Array(128);
const hashedTexts: (Uint8Array | undefined)[] = new Array(hashedText.length + 1).fill(undefined);

/** The bits of Go's NaN. */
const GO_NAN = 0x7ff8000000000001n;

function hashedBytes(value: OttlValue): Uint8Array | undefined {
  if (typeof value === "boolean") return Uint8Array.of(value ? 1 : 0);
  const bytes = Buffer.alloc(8);
  if (typeof value === "bigint") bytes.writeBigInt64LE(value);
  else if (Number.isNaN(value)) bytes.writeBigUInt64LE(GO_NAN);
  else if (typeof value === "number") bytes.writeDoubleLE(value);
  else return undefined;
  return bytes;
}

/** The value with integers and doubles told apart. */
function exactValue(attributes: Attributes, key: string): OttlValue {
  const encoded = attributes.encoded(key);
  return encoded === undefined ? null : readOttlValue(encoded, 0, encoded.length);
}
