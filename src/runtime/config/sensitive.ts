import type { z } from "zod";
import type { Node, Path, Span } from "./node.js";
import { childSchemas, isSecret } from "./shape.js";

/** What stands in the place of a secret, wherever config is shown. */
export const REDACTED = "[REDACTED]";

const SECRET_WORDS =
  /^(?:pass|passwd|password|passphrase|pwd|secret|secrets|token|apikey|authorization|credential|credentials|htpasswd|dsn|cookie|pem|signature)$/;
const SECRET_KEYS =
  /(?:^|_)(?:api|auth|private|access|licen[sc]e|space|account|secret|encryption|ingestion|write|signing)_keys?$/;
const SECRET_LINE =
  /((?:pass\w*|secret|token|key|authorization|credentials?|dsn|cookie|connection_?string)["']?\s*[:=]\s*)(?![|>]?[-+]?\s*$)(\S.*)$/i;

/** A key whose value is better not shown, by its name alone: `password`, `x-api-key`, `headers`, `connectionString`. */
export function looksSecret(key: string): boolean {
  const folded = key
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/[-.\s]/g, "_")
    .toLowerCase();
  if (folded === "headers" || /connection_?string$/.test(folded) || SECRET_KEYS.test(folded)) return true;
  return SECRET_WORDS.test(folded.split("_").at(-1)!);
}

/** A URL's user, password and secret-looking query parameters, taken out. */
export function withoutUrlSecrets(text: string): string {
  return text
    .replace(/(:\/\/)[^/@\s]+@/g, `$1${REDACTED}@`)
    .replace(/([?&](?:[\w-]*(?:key|token|secret|password|sig))=)[^&\s]+/gi, `$1${REDACTED}`);
}

/** A line of source in which what looks like a secret is not shown; for text that could not be parsed. */
export function maskedLine(line: string): string {
  return withoutUrlSecrets(line.replace(SECRET_LINE, `$1${REDACTED}`));
}

/** Whether a value must not be shown: by its schema, by its origin, or by the name of any key above it. */
export function isSensitive(path: Path, node: Node | undefined, schemas: readonly z.ZodType[]): boolean {
  if (node?.kind === "scalar" && node.substituted) return true;
  return schemas.some(isSecret) || path.some((key) => typeof key === "string" && looksSecret(key));
}

/** Every scalar of a tree that is secret by its schema or by a key's name, for masking the text it stands in. */
export function secretSpans(node: Node, schemas: readonly z.ZodType[], hidden = false): Span[] {
  const secret = hidden || schemas.some(isSecret);
  if (node.kind === "scalar") return secret && node.value !== null ? [node] : [];
  const children: (readonly [string | number, Node])[] =
    node.kind === "list"
      ? node.items.map((item, i) => [i, item] as const)
      : [...node.entries].map(([key, entry]) => [key, entry.value] as const);
  return children.flatMap(([key, child]) =>
    secretSpans(
      child,
      schemas.flatMap((schema) => childSchemas(schema, key)),
      secret || (typeof key === "string" && looksSecret(key)),
    ),
  );
}
