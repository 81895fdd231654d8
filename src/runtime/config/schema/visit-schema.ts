import type { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import type { ListNode, MapNode, Node, ScalarNode, Span } from "../text/node.js";
import { childSchemas, itemSchemas, keysOf, recordSchemas } from "./zod-schema.js";

/**
 * Walks config and schemas together. It is used to prepare input for schemas, to warn, and to find secrets.
 * `visitSchema` visits the written values; `visitKeys` visits all possible keys.
 */

/** A value of a config, and the schemas that apply to it. */
export interface SchemaValue<Kind extends Node = Node> {
  readonly node: Kind;
  /** Several if a union leaves it open; none behind an unknown key. */
  readonly schemas: readonly z.ZodType[];
  /** The keys and indexes that lead to the value, as written. */
  readonly path: ConfigPath;
}

/** A value with its key. */
export interface SchemaEntry extends SchemaValue {
  /** The key as written. */
  readonly key: string;
  readonly keySpan: Span;
  /** The key in the schemas' spelling, if the two differ only in case; otherwise as written. */
  readonly name: string;
  /** All keys in the schemas of the map. The entry's key is known if its name is among them. */
  readonly known: ReadonlyMap<string, z.ZodType>;
}

/** Handles one value. Get the contents of a list or a map from `itemsOf` and `entriesOf`, and visit them in turn. */
export interface SchemaVisitor<Result> {
  scalar(value: SchemaValue<ScalarNode>): Result;
  list(list: SchemaValue<ListNode>): Result;
  map(map: SchemaValue<MapNode>): Result;
}

export function visitSchema<Result>(value: SchemaValue, visitor: SchemaVisitor<Result>): Result {
  switch (value.node.kind) {
    case "scalar":
      return visitor.scalar(value as SchemaValue<ScalarNode>);
    case "list":
      return visitor.list(value as SchemaValue<ListNode>);
    case "map":
      return visitor.map(value as SchemaValue<MapNode>);
  }
}

export function itemsOf({ node, schemas, path }: SchemaValue<ListNode>): SchemaValue[] {
  return node.items.map((item, i) => ({ node: item, schemas: childrenAt(schemas, i), path: [...path, i] }));
}

export function entriesOf({ node, schemas, path }: SchemaValue<MapNode>): SchemaEntry[] {
  const known = allKeys(schemas);
  return [...node.entries].map(([key, { key: keySpan, value }]) => {
    const name = knownKey(key, known, node.entries);
    return { node: value, schemas: childrenAt(schemas, name), path: [...path, key], key, keySpan, name, known };
  });
}

/** The same value with only the first of its schemas, for callers that cannot handle several. */
export function withFirstSchema(value: SchemaValue): SchemaValue {
  return value.schemas.length < 2 ? value : { ...value, schemas: value.schemas.slice(0, 1) };
}

/** The schemas that apply to the value at a key or index. */
export function childrenAt(schemas: readonly z.ZodType[], key: string | number): z.ZodType[] {
  return schemas.flatMap((schema) => childSchemas(schema, key));
}

/** The schemas at a path. Suggestions and secrets are looked up in them. */
export function schemasAt(schema: z.ZodType, path: ConfigPath): readonly z.ZodType[] {
  return path.reduce<readonly z.ZodType[]>(childrenAt, [schema]);
}

/** The schema's name for a key that is written in another case; otherwise the key itself. */
export function knownKey(
  key: string,
  known: ReadonlyMap<string, unknown>,
  taken: ReadonlyMap<string, unknown>,
): string {
  if (known.has(key)) return key;
  const folded = key.toLowerCase();
  for (const name of known.keys()) if (name.toLowerCase() === folded && !taken.has(name)) return name;
  return key;
}

function allKeys(schemas: readonly z.ZodType[]): ReadonlyMap<string, z.ZodType> {
  return schemas.length === 1 ? keysOf(schemas[0]!) : new Map(schemas.flatMap((schema) => [...keysOf(schema)]));
}

/** Needed because a recursive schema has endless keys. */
const MAX_DEPTH = 8;

/**
 * Calls a function for every key of a schema, each section before its keys, and returns the results. Paths are dotted;
 * `[]` stands for each item of a list, `*` for any key.
 */
export function visitKeys<Result>(
  schema: z.ZodType,
  visit: (path: string, schema: z.ZodType) => Result,
  prefix = "",
  depth = 0,
): Result[] {
  if (depth > MAX_DEPTH) return [];
  const inside = (child: z.ZodType, path: string) => visitKeys(child, visit, path, depth + 1);
  return [...keysOf(schema)].flatMap(([key, child]) => {
    const path = prefix === "" ? key : `${prefix}.${key}`;
    return [
      visit(path, child),
      ...inside(child, path),
      ...itemSchemas(child).flatMap((item) => inside(item, `${path}[]`)),
      ...recordSchemas(child).flatMap((value) => inside(value, `${path}.*`)),
    ];
  });
}
