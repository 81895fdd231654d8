import type { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import { nearest } from "#contract/schema";
import {
  childrenAt,
  entriesOf,
  itemsOf,
  type SchemaEntry,
  type SchemaValue,
  visitSchema,
} from "../schema/visit-schema.js";
import { isSecretSchema, isUntypedSchema } from "../schema/zod-schema.js";
import type { MapNode, Node, ScalarNode, Span } from "../text/node.js";

const SECRET_WORDS =
  /^(?:pass|passwd|password|passphrase|pwd|secret|secrets|token|apikey|authorization|credential|credentials|htpasswd|dsn|cookie|pem|signature)$/;
const SECRET_KEYS =
  /(?:^|_)(?:api|auth|private|access|licen[sc]e|space|account|secret|encryption|ingestion|write|signing)_keys?$/;
/**
 * Whether a value should be hidden because of its key's name: `password`, `x-api-key`, `headers`, `connectionString`.
 */
export function isSecretKey(key: string): boolean {
  const folded = key
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/[-.\s]/g, "_")
    .toLowerCase();
  if (folded === "headers" || /connection_?string$/.test(folded) || SECRET_KEYS.test(folded)) return true;
  const last = folded.split("_").at(-1)!;
  return SECRET_WORDS.test(last) || (last.length > 5 && nearest(last, MISTYPED) !== undefined);
}

/** Words long enough that a similar word is most likely one of them, mistyped. */
const MISTYPED = ["password", "passphrase", "authorization", "credentials"];

/** Whether a value must not be shown, because of its schema, its origin, or the name of any key above it. */
export function isSecretValue(path: ConfigPath, node: Node | undefined, schemas: readonly z.ZodType[]): boolean {
  if (node?.kind === "scalar" && node.substituted) return true;
  return schemas.some(isSecretSchema) || path.some((key) => typeof key === "string" && isSecretKey(key));
}

/** Handles config values, each together with whether it may be shown. */
interface SecretVisitor<Result> {
  scalar(node: ScalarNode, isSecret: boolean, schemas: readonly z.ZodType[]): Result;
  list(items: readonly Result[]): Result;
  map(entries: readonly (readonly [key: string, value: Result])[]): Result;
}

/** A value is secret because of its schema, its key's name, or a secret parent. */
export function visitSecrets<Result>(
  node: Node,
  schemas: readonly z.ZodType[],
  visitor: SecretVisitor<Result>,
): Result {
  return visitValue({ node, schemas, path: [] }, false, visitor);
}

function visitValue<Result>(value: SchemaValue, isHidden: boolean, visitor: SecretVisitor<Result>): Result {
  const isSecret = isHidden || value.schemas.some(isSecretSchema);
  return visitSchema(value, {
    scalar: ({ node, schemas }) => visitor.scalar(node, isSecret, schemas),
    list: (list) =>
      visitor.list(
        itemsOf(list).map((item) =>
          visitValue(item, isSecret || isIncluded(item.node, list.node, item.schemas), visitor),
        ),
      ),
    map: (map) =>
      visitor.map(
        entriesOf(map).map((entry) => {
          const schemas = schemasOfSimilarKey(entry, map.schemas);
          const isUnknown = entry.known.size > 0 && schemas.length === 0;
          const isSecretEntry =
            isSecret ||
            (isUnknown && mayBeSecret(entry.node)) ||
            isSecretKey(entry.key) ||
            isValueOfSecret(map.node, entry.key) ||
            isIncluded(entry.node, map.node, schemas);
          return [entry.key, visitValue({ ...entry, schemas }, isSecretEntry, visitor)] as const;
        }),
      ),
  });
}

/** Whether a value of an unknown key could be a secret. True, false and null cannot. */
function mayBeSecret(node: Node): boolean {
  return node.kind !== "scalar" || (typeof node.value !== "boolean" && node.value !== null);
}

/** Whether a key that accepts any value was filled from another file: nothing says that this file is config. */
function isIncluded(node: Node, parent: Node, schemas: readonly z.ZodType[]): boolean {
  return node.source.name !== parent.source.name && schemas.every(isUntypedSchema);
}

/** True for the value in `{key: api_key, value: ...}`, which sets an attribute or header of that name. */
function isValueOfSecret({ entries }: MapNode, key: string): boolean {
  if (key !== "value" && key !== "default_value") return false;
  return ["key", "name"].some((naming) => {
    const named = entries.get(naming)?.value;
    return named?.kind === "scalar" && isSecretKey(named.text);
  });
}

/** An unknown key is treated like the known key that it resembles; if it resembles none, it may hold anything. */
function schemasOfSimilarKey(
  { key, known, schemas }: SchemaEntry,
  parents: readonly z.ZodType[],
): readonly z.ZodType[] {
  const similar = schemas.length > 0 || known.size === 0 ? undefined : nearest(key, known.keys());
  return similar === undefined ? schemas : childrenAt(parents, similar);
}

/** Places of all scalars that are secret because of their schema or a key's name, for masking them in the source. */
export function secretSpans(node: Node, schemas: readonly z.ZodType[]): Span[] {
  return visitSecrets<Span[]>(node, schemas, {
    scalar: (scalar, isSecret) => (isSecret && scalar.value !== null ? [scalar] : []),
    list: (items) => items.flat(),
    map: (entries) => entries.flatMap(([, spans]) => spans),
  });
}
