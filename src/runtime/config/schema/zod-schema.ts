import type { z } from "zod";

/**
 * Looks into zod schemas: which keys there are, what a value may be, what its author noted about it. The only file that
 * knows how zod stores a schema.
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

/** What an author noted with `.meta()`. */
export interface SchemaMeta {
  readonly secret?: boolean;
  readonly ignored?: string;
  readonly deprecated?: boolean;
  readonly instead?: string;
  readonly format?: string;
  readonly description?: string;
  /** Nothing is known of what is inside: it may hold secrets. */
  readonly opaque?: boolean;
}

/** `word` is a string from a fixed list; `any` takes everything. */
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

export function zodDefinition(schema: Schema): ZodDefinition {
  return schema._zod.def as unknown as ZodDefinition;
}

/** The schema inside one wrapper; undefined when there is none. */
function unwrapOnce(schema: Schema): Schema | undefined {
  const definition = zodDefinition(schema);
  if (WRAPPERS.has(definition.type)) return definition.innerType;
  if (definition.type === "lazy") return definition.getter?.();
  if (definition.type === "pipe") return isTransform(definition.in!) ? definition.out : definition.in;
  return undefined;
}

/** The schema and everything wrapped in it, outermost first, down to what is no wrapper. */
export function schemaLayers(schema: Schema): Schema[] {
  const found: Schema[] = [];
  for (let at: Schema | undefined = schema; at !== undefined; at = unwrapOnce(at)) found.push(at);
  return found;
}

/** Schemas that are no wrappers and no unions: what a value is really held against. */
export function baseSchemas(schema: Schema): Schema[] {
  const base = schemaLayers(schema).at(-1)!;
  const definition = zodDefinition(base);
  if (definition.type === "union") return definition.options!.flatMap(baseSchemas);
  if (definition.type === "intersection") return [...baseSchemas(definition.left!), ...baseSchemas(definition.right!)];
  return [base];
}

/** The author's notes; those of an outer layer win. */
export function metaOf(schema: Schema): SchemaMeta {
  const notes = schemaLayers(schema).map((layer) => layer.meta?.() ?? {});
  return Object.assign({}, ...notes.reverse());
}

/** Any of the schemas a value is held against is marked secret. */
export function isSecretSchema(schema: Schema): boolean {
  if (metaOf(schema).secret === true || baseSchemas(schema).some((base) => metaOf(base).secret === true)) return true;
  const pipes = schemaLayers(schema).map(zodDefinition);
  return pipes.some(({ type, out }) => type === "pipe" && !isTransform(out!) && isSecretSchema(out!));
}

/** Nothing is known of what this schema takes. */
export function isOpaqueSchema(schema: Schema): boolean {
  return metaOf(schema).opaque === true;
}

export function valueKinds(schema: Schema): ReadonlySet<ValueKind> {
  const kinds = new Set(baseSchemas(schema).flatMap(baseKinds));
  if (schemaLayers(schema).some((layer) => zodDefinition(layer).type === "nullable")) kinds.add("null");
  return kinds;
}

/** An empty section (`grpc:`) means something to this schema: it turns null into a value itself. */
export function readsNull(schema: Schema): boolean {
  return schemaLayers(schema).some((layer) => {
    const definition = zodDefinition(layer);
    return definition.type === "pipe" && isTransform(definition.in!);
  });
}

/** Named keys of the maps this schema takes. */
export function keysOf(schema: Schema): ReadonlyMap<string, Schema> {
  const keys = new Map<string, Schema>();
  for (const base of baseSchemas(schema)) {
    for (const [key, value] of Object.entries(zodDefinition(base).shape ?? {}))
      if (!keys.has(key)) keys.set(key, value);
  }
  return keys;
}

/** What the value behind a key or index is held against; several where a union leaves it open. */
export function childSchemas(schema: Schema, key: string | number): Schema[] {
  return baseSchemas(schema).flatMap((base) => {
    const definition = zodDefinition(base);
    switch (definition.type) {
      case "object":
        return withoutNever(Object.hasOwn(definition.shape!, key) ? definition.shape![key] : definition.catchall);
      case "record":
        return withoutNever(definition.valueType);
      case "array":
        return withoutNever(definition.element);
      case "tuple":
        return withoutNever(definition.items![Number(key)] ?? definition.rest ?? undefined);
      default:
        return [];
    }
  });
}

/** The schemas at a path: what suggestions and secrets are looked up in. */
export function schemasAt(schema: Schema, path: readonly (string | number)[]): Schema[] {
  return path.reduce<Schema[]>((schemas, key) => schemas.flatMap((at) => childSchemas(at, key)), [schema]);
}

/** The words an enum takes. */
export function enumValues(schema: Schema): string[] {
  return baseSchemas(schema).flatMap((base) => {
    const definition = zodDefinition(base);
    const values = Object.values(definition.entries ?? {}).concat((definition.values ?? []) as string[]);
    return values.filter((value) => typeof value === "string");
  });
}

/** The value an absent key gets, if any: `written` when it is given as in YAML, else as code gets it. */
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

/** An absent key is an error. */
export function isRequired(schema: Schema): boolean {
  return valueOr(() => !schema.safeParse(undefined).success, true);
}

/** A plugin's schema may have code in it, which may throw. */
function valueOr<T>(ask: () => T, otherwise: T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}

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
