import type { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import type { ListNode, MapNode, Node, ScalarNode, Span } from "../text/node.js";
import { childSchemas, itemSchemas, keysOf, recordSchemas } from "./zod-schema.js";

/**
 * How config and schemas are walked, for everyone who does: what a schema is given, what is worth a warning, what must not
 * be shown. `visitSchema` goes over what is written; `visitKeys` over all that could be.
 */

/** A value of a config beside the schemas that it is held against. */
export interface SchemaValue<Kind extends Node = Node> {
  readonly node: Kind;
  /** There are several where a union leaves it open, and none behind a key that no schema knows. */
  readonly schemas: readonly z.ZodType[];
  /** The keys and indexes that lead to the value, as they are written. */
  readonly path: ConfigPath;
}

/** A value behind a key. */
export interface SchemaEntry extends SchemaValue {
  /** The key as it is written. */
  readonly key: string;
  readonly keySpan: Span;
  /** The key by the schemas' spelling, where the two differ only by case; otherwise as written. */
  readonly name: string;
  /** All keys that the schemas of the map name. The entry's key is a known one when its name is among them. */
  readonly known: ReadonlyMap<string, z.ZodType>;
}

/** What is made of a value. What is inside a list or a map is given by `itemsOf` and `entriesOf`, to be visited in turn. */
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

/** The same value held against the first of its schemas alone, for those who cannot do with several. */
export function withFirstSchema(value: SchemaValue): SchemaValue {
  return value.schemas.length < 2 ? value : { ...value, schemas: value.schemas.slice(0, 1) };
}

/** What the value behind a key or index is held against. */
export function childrenAt(schemas: readonly z.ZodType[], key: string | number): z.ZodType[] {
  return schemas.flatMap((schema) => childSchemas(schema, key));
}

/** The schemas at a path: what suggestions and secrets are looked up in. */
export function schemasAt(schema: z.ZodType, path: ConfigPath): readonly z.ZodType[] {
  return path.reduce<readonly z.ZodType[]>(childrenAt, [schema]);
}

/** The name by which a schema knows a key that is written in another case; otherwise the key itself. */
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

/** A recursive schema has keys without end. */
const MAX_DEPTH = 8;

/**
 * What is made of every key that a schema names, sections before what is in them. Paths are dotted; `[]` stands for each
 * item of a list, `*` for any key.
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
