import type { z } from "zod";
import type { ConfigPath } from "../../contract/schema/schema.js";
import { nearest } from "../../contract/schema/suggest.js";
import { knownKey } from "../schema/schema-input.js";
import { childSchemas, isSecretSchema, keysOf } from "../schema/zod-schema.js";
import type { Node, Span } from "../text/node.js";

/** What stands in the place of a secret, wherever config is shown. */
export const REDACTED = "[REDACTED]";

const SECRET_WORDS =
  /^(?:pass|passwd|password|passphrase|pwd|secret|secrets|token|apikey|authorization|credential|credentials|htpasswd|dsn|cookie|pem|signature)$/;
const SECRET_KEYS =
  /(?:^|_)(?:api|auth|private|access|licen[sc]e|space|account|secret|encryption|ingestion|write|signing)_keys?$/;
/** A key whose value is better not shown, by its name alone: `password`, `x-api-key`, `headers`, `connectionString`. */
export function isSecretKey(key: string): boolean {
  const folded = key
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/[-.\s]/g, "_")
    .toLowerCase();
  if (folded === "headers" || /connection_?string$/.test(folded) || SECRET_KEYS.test(folded)) return true;
  const last = folded.split("_").at(-1)!;
  return SECRET_WORDS.test(last) || (last.length > 5 && nearest(last, MISTYPED) !== undefined);
}

/** Long enough that a word close to one of them is that word, mistyped. */
const MISTYPED = ["password", "passphrase", "authorization", "credentials"];

/** A URL's user, password and secret-looking query parameters, taken out. */
export function withoutUrlSecrets(text: string): string {
  return text
    .replace(/(:\/\/)[^/?#\s]+@/g, `$1${REDACTED}@`)
    .replace(
      /([?&#][\w.-]*(?:key|token|tok|secret|pass|password|pwd|auth|jwt|credentials?|sig|signature|code)=)[^&#\s]+/gi,
      `$1${REDACTED}`,
    );
}

/** Whether a value must not be shown: by its schema, by its origin, or by the name of any key above it. */
export function isSecretValue(path: ConfigPath, node: Node | undefined, schemas: readonly z.ZodType[]): boolean {
  if (node?.kind === "scalar" && node.substituted) return true;
  return schemas.some(isSecretSchema) || path.some((key) => typeof key === "string" && isSecretKey(key));
}

/**
 * What is known of the value behind a key: the schemas it is held against, and whether it is to be hidden. A key that no
 * schema knows counts as the known key it resembles; one that resembles none may hold anything, and is hidden.
 */
export function childView(schemas: readonly z.ZodType[], key: string | number, siblings: ReadonlyMap<string, unknown>) {
  if (typeof key === "number")
    return { schemas: schemas.flatMap((schema) => childSchemas(schema, key)), hidden: false };
  const known = new Map(schemas.flatMap((schema) => [...keysOf(schema)]));
  const name = knownKey(key, known, siblings);
  const exact = schemas.flatMap((schema) => childSchemas(schema, name));
  const meant = exact.length > 0 || known.size === 0 ? undefined : nearest(key, known.keys());
  const found = meant === undefined ? exact : schemas.flatMap((schema) => childSchemas(schema, meant));
  return { schemas: found, hidden: isSecretKey(key) || (known.size > 0 && found.length === 0) };
}

/** Every scalar of a tree that is secret by its schema or by a key's name, for masking the text it stands in. */
export function secretSpans(node: Node, schemas: readonly z.ZodType[], hidden = false): Span[] {
  const secret = hidden || schemas.some(isSecretSchema);
  if (node.kind === "scalar") return secret && node.value !== null ? [node] : [];
  if (node.kind === "list") {
    return node.items.flatMap((item, i) => secretSpans(item, childView(schemas, i, new Map()).schemas, secret));
  }
  return [...node.entries].flatMap(([key, { value }]) => {
    const view = childView(schemas, key, node.entries);
    return secretSpans(value, view.schemas, secret || view.hidden);
  });
}
