import type { z } from "zod";
import type { AuthSide } from "#contract";
import type { ExtensionRole } from "#contract/services";

/**
 * Inspects zod schemas: their keys, the values they accept, and their metadata. This is the only file that depends on
 * zod's internals; its results use terms of its own.
 */
type Schema = z.ZodType;

interface ZodDefinition {
  readonly type: string;
  readonly innerType?: Schema;
  readonly getter?: () => Schema;
  readonly in?: Schema;
  readonly out?: Schema;
  readonly options?: readonly Schema[];
  readonly left?: Schema;
  readonly right?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly catchall?: Schema;
  readonly element?: Schema;
  readonly items?: readonly Schema[];
  readonly rest?: Schema | null;
  readonly keyType?: Schema;
  readonly valueType?: Schema;
  readonly entries?: Readonly<Record<string, string | number>>;
  readonly values?: readonly unknown[];
  readonly defaultValue?: unknown;
}

/** Metadata that a schema's author added with `.meta()`. */
export interface SchemaMeta {
  readonly secret?: boolean;
  readonly ignored?: string;
  readonly deprecated?: boolean;
  readonly instead?: string;
  /** Writing the key is an error; the text says what to do. */
  readonly unsupported?: string;
  readonly format?: string;
  readonly description?: string;
  /**
   * The value names a program, a file to write, or who may use the agent, so a change from afar is refused unless the
   * agent's own files allow it.
   */
  readonly privileged?: boolean;
  /** The value looks like one of these, and is none. */
  readonly harmless?: boolean;
  /** The content is unknown, so it may hold secrets. */
  readonly opaque?: boolean;
  /** The value is the id of an extension that authenticates this side of a connection. */
  readonly authenticator?: AuthSide;
  /** The value is the id of an extension that serves receivers in this way. */
  readonly extensionRole?: ExtensionRole;
}

/** `word` is one of a fixed list of strings; `any` accepts everything. */
export type ValueKind = "string" | "word" | "number" | "boolean" | "null" | "map" | "list" | "any";

const WRAPPERS = new Set([
  "optional",
  "nullable",
  "default",
  "prefault",
  "nonoptional",
  "readonly",
  "catch",
  "success",
]);

function zodDefinition(schema: Schema): ZodDefinition {
  return schema._zod.def as unknown as ZodDefinition;
}

/** Caches a fact about a schema: it is looked up for every key of a map, and for every loaded config. */
function readOnce<Fact extends object>(read: (schema: Schema) => Fact): (schema: Schema) => Fact {
  const facts = new WeakMap<Schema, Fact>();
  return (schema) => {
    const known = facts.get(schema);
    if (known !== undefined) return known;
    const fact = read(schema);
    facts.set(schema, fact);
    return fact;
  };
}

/** The schema inside one wrapper; undefined when the schema is not a wrapper. */
function unwrapOnce(schema: Schema): Schema | undefined {
  const definition = zodDefinition(schema);
  if (WRAPPERS.has(definition.type)) return definition.innerType;
  if (definition.type === "lazy") return definition.getter?.();
  if (definition.type === "pipe") return isTransform(definition.in!) ? definition.out : definition.in;
  return undefined;
}

/** The schema and everything wrapped in it, outermost first, down to the innermost. */
const schemaLayers = readOnce((schema): readonly Schema[] => {
  const found: Schema[] = [];
  for (let at: Schema | undefined = schema; at !== undefined; at = unwrapOnce(at)) found.push(at);
  return found;
});

/** The schemas inside all wrappers and unions: those that a value is really checked against. */
const baseSchemas = readOnce((schema): readonly Schema[] => {
  const base = schemaLayers(schema).at(-1)!;
  const definition = zodDefinition(base);
  if (definition.type === "union") return definition.options!.flatMap(baseSchemas);
  if (definition.type === "intersection") return [definition.left!, definition.right!].flatMap(baseSchemas);
  return [base];
});

/** The author's metadata; an outer layer overrides an inner one. */
export const metaOf = readOnce((schema): SchemaMeta => {
  const notes = schemaLayers(schema).map((layer) => layer.meta?.() ?? {});
  return Object.assign({}, ...notes.reverse());
});

/** All formats of the schema and its alternatives, the schema's own first. */
export function formatsOf(schema: Schema): string[] {
  const formats = [schema, ...baseSchemas(schema)].map((each) => metaOf(each).format);
  return formats.filter((format) => format !== undefined);
}

/**
 * A value is secret if any schema that applies to it is marked so; a string that stands for a list is secret if the
 * items are.
 */
export function isSecretSchema(schema: Schema): boolean {
  if (metaOf(schema).secret === true || baseSchemas(schema).some((base) => metaOf(base).secret === true)) return true;
  const item = itemOfTextList(schema);
  if (item !== undefined && isSecretSchema(item)) return true;
  const pipes = schemaLayers(schema).map(zodDefinition);
  return pipes.some(({ type, out }) => type === "pipe" && !isTransform(out!) && isSecretSchema(out!));
}

/** The values that an opaque schema accepts are unknown. */
export function isOpaqueSchema(schema: Schema): boolean {
  return metaOf(schema).opaque === true;
}

export const valueKinds = readOnce((schema): ReadonlySet<ValueKind> => {
  const kinds = new Set(baseSchemas(schema).flatMap(baseKinds));
  if (schemaLayers(schema).some((layer) => zodDefinition(layer).type === "nullable")) kinds.add("null");
  return kinds;
});

/** Whether the schema accepts any scalar, such as the value of an attribute. */
export function isUntypedSchema(schema: Schema): boolean {
  const kinds = valueKinds(schema);
  return kinds.has("any") || (["string", "number", "boolean"] as const).every((kind) => kinds.has(kind));
}

/** True if the schema converts null itself, so that an empty section (`grpc:`) has a meaning. */
export function readsNull(schema: Schema): boolean {
  return schemaLayers(schema).some((layer) => {
    const definition = zodDefinition(layer);
    return definition.type === "pipe" && isTransform(definition.in!);
  });
}

/** The contents of a schema without wrappers and alternatives. */
interface SchemaChildren {
  /** An object has named keys, a record any keys; all items of a list share a schema, those of a tuple do not. */
  readonly holder: "object" | "record" | "list" | "tuple" | "none";
  /** The schemas of named keys, or of the first items by index. */
  readonly named: Readonly<Record<string, Schema>>;
  /** The schema of all other keys or items. */
  readonly others: Schema | undefined;
}

const childrenOf = readOnce((base): SchemaChildren => {
  const definition = zodDefinition(base);
  switch (definition.type) {
    case "object":
      return { holder: "object", named: definition.shape!, others: definition.catchall };
    case "record":
      return { holder: "record", named: {}, others: definition.valueType };
    case "array":
      return { holder: "list", named: {}, others: definition.element };
    case "tuple":
      return {
        holder: "tuple",
        named: Object.fromEntries(definition.items!.entries()),
        others: definition.rest ?? undefined,
      };
    default:
      return { holder: "none", named: {}, others: undefined };
  }
});

/** The named keys of all maps that the schema accepts. */
export const keysOf = readOnce((schema): ReadonlyMap<string, Schema> => {
  const keys = new Map<string, Schema>();
  for (const base of baseSchemas(schema)) {
    const { holder, named } = childrenOf(base);
    if (holder !== "object") continue;
    for (const [key, value] of Object.entries(named)) if (!keys.has(key)) keys.set(key, value);
  }
  return keys;
});

/** The schemas for the value at a key of a map or an index of a list; several if a union leaves it open. */
export function childSchemas(schema: Schema, key: string | number): Schema[] {
  const holders = typeof key === "number" ? ["list", "tuple"] : ["object", "record"];
  return baseSchemas(schema).flatMap((base) => {
    const { holder, named, others } = childrenOf(base);
    if (!holders.includes(holder)) return [];
    return withoutNever(Object.hasOwn(named, key) ? named[key] : others);
  });
}

/** The schemas for each item of the lists that this schema accepts, where all items share a schema. */
export function itemSchemas(schema: Schema): Schema[] {
  return othersIn(schema, "list");
}

/**
 * The schema of each item if the schema accepts a list of strings but no string: a comma-separated string may then
 * stand for the list.
 */
export function itemOfTextList(schema: Schema): Schema | undefined {
  const kinds = valueKinds(schema);
  if (!kinds.has("list") || ["string", "word", "any"].some((kind) => kinds.has(kind as ValueKind))) return undefined;
  return itemSchemas(schema).find((item) => valueKinds(item).has("string") || valueKinds(item).has("word"));
}

/** The schemas for each value of the maps with arbitrary keys that this schema accepts. */
export function recordSchemas(schema: Schema): Schema[] {
  return othersIn(schema, "record");
}

function othersIn(schema: Schema, wanted: SchemaChildren["holder"]): Schema[] {
  return baseSchemas(schema).flatMap((base) => {
    const { holder, others } = childrenOf(base);
    return holder === wanted ? withoutNever(others) : [];
  });
}

/** The alternatives of a schema that accept a map. */
export function mapSchemas(schema: Schema): Schema[] {
  return baseSchemas(schema).filter((base) => ["object", "record"].includes(childrenOf(base).holder));
}

/** The values of the schema's enums. */
export function enumValues(schema: Schema): string[] {
  return baseSchemas(schema).flatMap((base) => {
    const definition = zodDefinition(base);
    const values = Object.values(definition.entries ?? {}).concat((definition.values ?? []) as string[]);
    return values.filter((value) => typeof value === "string");
  });
}

/** The value that an absent key gets, if any. `written` tells whether it is in YAML form or already parsed. */
export function defaultOf(schema: Schema): { readonly value: unknown; readonly written: boolean } | undefined {
  for (const layer of schemaLayers(schema)) {
    const definition = zodDefinition(layer);
    if (definition.type === "default" || definition.type === "prefault") {
      const value = valueOr(() => definition.defaultValue, undefined);
      return value === undefined ? undefined : { value, written: definition.type === "prefault" };
    }
  }
  return undefined;
}

/** A key is required if the schema does not accept undefined. */
export function isRequired(schema: Schema): boolean {
  return valueOr(() => !schema.safeParse(undefined).success, true);
}

/**
 * Returns `otherwise` if `ask` throws: a plugin's schema may contain code that throws, and one of another zod release
 * may not be understood.
 */
export function valueOr<T>(ask: () => T, otherwise: T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}

/** The kind of a single layer. "fixed" is a number, a boolean or an enum. */
type LayerKind = "optional" | "conversion" | "string" | "container" | "fixed" | "other";

/** The kind of the outermost layer only, because zod's JSON Schema is adjusted layer by layer. */
export function layerKind(schema: Schema): LayerKind {
  return LAYER_KINDS[zodDefinition(schema).type] ?? "other";
}

const LAYER_KINDS: Readonly<Record<string, LayerKind>> = {
  optional: "optional",
  default: "optional",
  prefault: "optional",
  pipe: "conversion",
  string: "string",
  object: "container",
  record: "container",
  array: "container",
  number: "fixed",
  int: "fixed",
  boolean: "fixed",
  enum: "fixed",
  literal: "fixed",
};

function isTransform(schema: Schema): boolean {
  return zodDefinition(schema).type === "transform";
}

function baseKinds(base: Schema): ValueKind[] {
  const definition = zodDefinition(base);
  switch (definition.type) {
    case "string":
    case "template_literal":
      return ["string"];
    case "number":
    case "int":
    case "bigint":
      return ["number"];
    case "boolean":
      return ["boolean"];
    case "null":
      return ["null"];
    case "object":
    case "record":
      return ["map"];
    case "array":
    case "tuple":
      return ["list"];
    case "enum":
      return Object.values(definition.entries!).map((value) => (typeof value === "number" ? "number" : "word"));
    case "literal":
      return definition.values!.map(literalKind);
    default:
      return ["any"];
  }
}

function literalKind(value: unknown): ValueKind {
  if (value === null) return "null";
  return typeof value === "number" ? "number" : typeof value === "boolean" ? "boolean" : "word";
}

function withoutNever(schema: Schema | undefined): Schema[] {
  return schema === undefined || zodDefinition(schema).type === "never" ? [] : [schema];
}
