import { isAbsolute, join } from "node:path";
import type { z } from "zod";
import { isNull, isScalar, type MapNode, mapNode, type Node, type ScalarNode, toPlain, toValue } from "../text/node.js";
import {
  entriesOf,
  itemsOf,
  type SchemaEntry,
  type SchemaValue,
  type SchemaVisitor,
  visitSchema,
  withFirstSchema,
} from "./visit-schema.js";
import { itemOfTextList, keysOf, mapSchemas, metaOf, readsNull, valueKinds, valueOr } from "./zod-schema.js";

/**
 * Converts a node to the plain value that a schema parses. Only here are YAML's types adapted to the schema:
 *
 * - a string field accepts a number or boolean as it was written (`0123` stays `0123`);
 * - a list of strings accepts a comma-separated string, as in the Collector (`${env:HOSTS}`);
 * - a key without a value counts as absent, unless the schema reads null itself;
 * - a key that differs from a known one only in case is that key, as in the Collector;
 * - `enabled` in an optional section keeps the section or leaves it out, as in the Collector;
 * - the path of a file that belongs to the config is resolved against the folder of its source.
 */
export function schemaInput(node: Node, schema: z.ZodType): unknown {
  return inputOf({ node, schemas: [schema], path: [] });
}

function inputOf(value: SchemaValue): unknown {
  if (value.schemas[0] !== undefined && metaOf(value.schemas[0]).format === "value") return toValue(value.node);
  if (value.schemas.length === 0) return toPlain(value.node);
  const single = withFirstSchema(value);
  return originalText(single) ?? visitSchema(single, INPUT);
}

/** The text of a variable that YAML reads as a list or a map, for a field that takes text and neither of them. */
function originalText({ node, schemas: [schema] }: SchemaValue): string | undefined {
  if (node.kind === "scalar" || node.text === undefined || schema === undefined) return undefined;
  const kinds = valueKinds(schema);
  return kinds.has("string") && !kinds.has(node.kind) && !kinds.has("any") ? node.text : undefined;
}

const INPUT: SchemaVisitor<unknown> = {
  scalar: ({ node, schemas }) =>
    listInText(node, schemas[0]!) ?? resolvedPath(node, scalarInput(node, schemas[0]!), schemas[0]!),
  list: (list) => itemsOf(list).map(inputOf),
  map: mapInput,
};

function scalarInput(node: ScalarNode, schema: z.ZodType): unknown {
  const kinds = valueKinds(schema);
  const native = node.value === null ? "null" : (typeof node.value as "string" | "number" | "boolean");
  if (kinds.has("any") || kinds.has(native)) return node.value;
  if (node.value === null) return node.substituted && kinds.has("string") ? node.text : null;
  return kinds.has("string") || kinds.has("word") ? node.text : node.value;
}

/**
 * A comma-separated string is a list only if the schema accepts all of its parts: splitting a condition in the middle
 * would give a misleading error.
 */
function listInText(node: ScalarNode, schema: z.ZodType): readonly unknown[] | undefined {
  const isText = typeof node.value === "string" || (node.substituted && node.value !== null);
  const item = isText ? itemOfTextList(schema) : undefined;
  if (item === undefined) return undefined;
  const parts = node.text.trim() === "" ? [] : node.text.split(",").map((part) => part.trim());
  const list = parts.map((part) => resolvedPath(node, part, item));
  return valueOr(() => schema.safeParse(list).success, false) ? list : undefined;
}

function resolvedPath(node: ScalarNode, value: unknown, schema: z.ZodType): unknown {
  if (typeof value !== "string" || value === "" || isAbsolute(value)) return value;
  return metaOf(schema).format === "path" ? join(node.source.folder, value) : value;
}

/** If several alternatives accept a map, uses the first one that parses it. */
function mapInput(map: SchemaValue<MapNode>): unknown {
  const candidates = map.schemas.flatMap(mapSchemas);
  if (candidates.length === 0) return toPlain(map.node);
  const inputs = candidates.map((schema) => objectInput(entriesOf({ ...map, schemas: [schema] })));
  if (candidates.length === 1) return inputs[0];
  const fitting = candidates.findIndex((candidate, i) => candidate.safeParse(inputs[i]).success);
  return inputs[Math.max(fitting, 0)];
}

function objectInput(entries: readonly SchemaEntry[]): Record<string, unknown> {
  const written = entries.flatMap((entry) => (isAbsent(entry) ? [] : withoutSwitch(entry)));
  return Object.fromEntries(written.map((entry) => [entry.name, entryInput(entry)]));
}

/** Sections that the Collector's `configoptional` reads. */
const SWITCHED_SECTIONS: ReadonlySet<string> = new Set([
  "auth",
  "batch",
  "cookies",
  "cors",
  "enforcement_policy",
  "grpc",
  "http",
  "keepalive",
  "server_parameters",
  "thrift_binary",
  "thrift_compact",
  "thrift_http",
  "tls",
]);

/** Reads `enabled` in a section whose schema has no such key: `false` leaves out the section, `true` only the key. */
function withoutSwitch(entry: SchemaEntry): SchemaEntry[] {
  const { name, node, schemas } = entry;
  const isEnabled = node.kind === "map" && SWITCHED_SECTIONS.has(name) ? node.entries.get("enabled")?.value : undefined;
  if (node.kind !== "map" || !isScalar(isEnabled) || typeof isEnabled.value !== "boolean") return [entry];
  const keys = schemas.flatMap((schema) => [...keysOf(schema).keys()]);
  // The tls section of a client, which has insecure, is not optional in the Collector.
  if (keys.length === 0 || keys.includes("enabled") || keys.includes("insecure")) return [entry];
  if (!isEnabled.value) return [];
  const others = [...node.entries].filter(([key]) => key !== "enabled");
  return [{ ...entry, node: mapNode(node, new Map(others), node.text) }];
}

function isAbsent({ node, name, known, schemas: [schema] }: SchemaEntry): boolean {
  if (schema === undefined || !isNull(node) || !known.has(name)) return false;
  const kinds = valueKinds(schema);
  if (kinds.has("null") || kinds.has("any") || (kinds.has("map") && readsNull(schema))) return false;
  return !(isScalar(node) && node.substituted && kinds.has("string"));
}

/** A header without a value is empty. */
function entryInput(entry: SchemaEntry): unknown {
  const input = inputOf(entry);
  const kinds = input === null && entry.schemas[0] ? valueKinds(entry.schemas[0]) : undefined;
  return kinds?.has("string") && !kinds.has("null") ? "" : input;
}
