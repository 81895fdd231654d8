import { isAbsolute, join } from "node:path";
import type { z } from "zod";
import { isNull, isScalar, type ListNode, type MapNode, type Node, type ScalarNode, toPlain } from "../text/node.js";
import { baseSchemas, childSchemas, keysOf, metaOf, readsNull, valueKinds, zodDefinition } from "./zod-schema.js";

/**
 * A node as the plain value that a schema is to parse. Only here do YAML's types give way to the schema's wishes:
 *
 * - a string field takes a number or boolean as it was written (`0123` stays `0123`);
 * - a key behind which nothing stands is as good as absent, unless the schema reads null itself;
 * - a key that differs from a known one only by case is that key, as in the Collector;
 * - the path of a file that belongs to the config begins at the folder of the source it stands in.
 */
export function schemaInput(node: Node, schema: z.ZodType): unknown {
  if (node.kind === "scalar") return resolvedPath(node, scalarInput(node, schema), schema);
  if (node.kind === "list") return listInput(node, schema);
  return mapInput(node, schema);
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

function scalarInput(node: ScalarNode, schema: z.ZodType): unknown {
  const kinds = valueKinds(schema);
  const native = node.value === null ? "null" : (typeof node.value as "string" | "number" | "boolean");
  if (kinds.has("any") || kinds.has(native)) return node.value;
  if (node.value === null) return node.substituted && kinds.has("string") ? node.text : null;
  return kinds.has("string") || kinds.has("word") ? node.text : node.value;
}

function resolvedPath(node: ScalarNode, value: unknown, schema: z.ZodType): unknown {
  if (typeof value !== "string" || value === "" || isAbsolute(value)) return value;
  return metaOf(schema).format === "path" ? join(node.source.folder, value) : value;
}

function listInput(node: ListNode, schema: z.ZodType): unknown {
  return node.items.map((item, i) => {
    const [child] = childSchemas(schema, i);
    return child === undefined ? toPlain(item) : schemaInput(item, child);
  });
}

function mapInput(node: MapNode, schema: z.ZodType): unknown {
  const candidates = baseSchemas(schema).filter((base) => ["object", "record"].includes(zodDefinition(base).type));
  if (candidates.length < 2) return candidates[0] === undefined ? toPlain(node) : mapInputFor(node, candidates[0]);
  const values = candidates.map((candidate) => mapInputFor(node, candidate));
  const fitting = candidates.findIndex((candidate, i) => candidate.safeParse(values[i]).success);
  return values[Math.max(fitting, 0)];
}

function mapInputFor(node: MapNode, schema: z.ZodType): Record<string, unknown> {
  const known = keysOf(schema);
  const values: [string, unknown][] = [];
  for (const [key, { value }] of node.entries) {
    const name = knownKey(key, known, node.entries);
    const [child] = childSchemas(schema, name);
    if (child === undefined) values.push([name, toPlain(value)]);
    else if (!isAbsent(value, child, known.has(name))) values.push([name, entryInput(value, child)]);
  }
  return Object.fromEntries(values);
}

function isAbsent(value: Node, schema: z.ZodType, named: boolean): boolean {
  if (!isNull(value) || !named) return false;
  const kinds = valueKinds(schema);
  if (kinds.has("null") || kinds.has("any") || (kinds.has("map") && readsNull(schema))) return false;
  return !(isScalar(value) && value.substituted && kinds.has("string"));
}

/** A header without a value is an empty one. */
function entryInput(value: Node, schema: z.ZodType): unknown {
  const result = schemaInput(value, schema);
  return result === null && valueKinds(schema).has("string") && !valueKinds(schema).has("null") ? "" : result;
}
