import { z } from "zod";
import { compilePattern, type Pattern } from "#text/patterns";
import { caseInsensitiveEnum, secret } from "../../../plugin.js";

const HASHES = ["", "md5", "sha1", "sha3", "hmac-sha256", "hmac-sha512"] as const;
export type HashFunction = (typeof HASHES)[number];

const keys = () => z.array(z.string()).nullish();
const patterns = () =>
  z
    .array(
      z.string().transform((text, context): Pattern => {
        try {
          return compilePattern(text);
        } catch (error) {
          context.addIssue({
            code: "custom",
            message: `expected a pattern in RE2 syntax: ${(error as Error).message}`,
          });
          return z.NEVER;
        }
      }),
    )
    .nullish()
    .transform((list) => list ?? []);

const urlSanitizer = z.strictObject({
  enabled: z.boolean().default(false).meta({ description: "Whether ids in URLs become *." }),
  attributes: keys().meta({ description: "Attributes with URLs." }),
  sanitize_span_name: z
    .boolean()
    .nullish()
    .meta({ description: "Whether names of HTTP spans are changed too. Default: true." }),
});

const rawSchema = z.strictObject({
  allow_all_keys: z
    .boolean()
    .default(false)
    .meta({ description: "Allow all keys. Otherwise keys that are not allowed are removed." }),
  allowed_keys: keys().meta({ description: "Keys to keep; all others are removed unless allow_all_keys is set." }),
  ignored_keys: keys().meta({ description: "Keys that are never changed, whatever their value." }),
  ignored_key_patterns: patterns().meta({ description: "Patterns of keys that are never changed." }),
  redact_all_types: z.boolean().default(false).meta({ description: "Also check values that are not texts." }),
  blocked_key_patterns: patterns().meta({ description: "Values of these keys are masked." }),
  blocked_values: patterns().meta({ description: "Patterns whose matches in values are masked." }),
  allowed_values: patterns().meta({ description: "Patterns of values that are never changed." }),
  hash_function: caseInsensitiveEnum(HASHES)
    .default("")
    .meta({ description: "Replaces values by a hash instead of ****." }),
  hmac_key: secret()
    .optional()
    .meta({ description: "The key of an hmac hash: at least 32 bytes for hmac-sha256, 64 for hmac-sha512." }),
  summary: z
    .enum(["debug", "info", "silent", ""])
    .default("silent")
    .meta({ description: "info adds the number of treated keys and values, debug also adds their keys." }),
  url_sanitizer: urlSanitizer
    .nullish()
    .meta({ description: "Replaces ids in URLs, in the given attributes, in all log bodies and in span names." }),
  db_sanitizer: z
    .looseObject({})
    .nullish()
    .meta({ description: "Not supported unless it is switched off: use blocked_key_patterns or transform." }),
});

/** The minimum key size in bytes that the Collector requires. */
const MIN_KEY_BYTES: Partial<Record<HashFunction, number>> = { "hmac-sha256": 32, "hmac-sha512": 64 };

export const redactionSchema = rawSchema
  .superRefine((config, context) => {
    const problem = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    const shortest = MIN_KEY_BYTES[config.hash_function];
    const size = Buffer.byteLength(config.hmac_key ?? "");
    if (shortest !== undefined && size < shortest) {
      problem(["hmac_key"], `${config.hash_function} needs a key of at least ${shortest} bytes, not ${size}`);
    }
    for (const [name, database] of Object.entries(config.db_sanitizer ?? {})) {
      if ((database as { enabled?: unknown } | null)?.enabled === true) {
        problem(["db_sanitizer", name], "sanitizing queries is not supported: use blocked_key_patterns or transform");
      }
    }
  })
  .transform((config) => ({
    allowedKeys: config.allow_all_keys ? undefined : new Set(config.allowed_keys ?? []),
    ignoredKeys: new Set(config.ignored_keys ?? []),
    ignoredKeyPatterns: config.ignored_key_patterns,
    allTypes: config.redact_all_types,
    blockedKeys: config.blocked_key_patterns,
    blockedValues: config.blocked_values,
    allowedValues: config.allowed_values,
    hashFunction: config.hash_function,
    hmacKey: config.hmac_key ?? "",
    summary: config.summary,
    sanitizesUrls: config.url_sanitizer?.enabled === true,
    urlAttributes: new Set((config.url_sanitizer?.enabled === true && config.url_sanitizer.attributes) || []),
    sanitizesSpanNames: config.url_sanitizer?.enabled === true && config.url_sanitizer.sanitize_span_name !== false,
  }));

export type RedactionConfig = z.infer<typeof redactionSchema>;
