import { z } from "zod";
import type { Value } from "#otlp/bytes";
import type { AuthSide } from "../auth.js";
import type { ExtensionRole } from "../services/extension-services.js";
import { parseCron } from "../time/cron.js";
import { parseRecordPattern } from "./record-pattern.js";
import { parseByteSize, parseDuration } from "./units.js";

/** The place of a value in a component's config: keys, and indexes of lists. */
export type ConfigPath = readonly (string | number)[];

/**
 * Building blocks for component schemas: each parses what people write in YAML into what code needs. All of them have a
 * `format` in their metadata, for the reference and the JSON Schema.
 */

/**
 * A duration such as `50ms`, `5s`, `1m30s` or `30d`, parsed into milliseconds. A bare integer is nanoseconds, as in the
 * Collector.
 *
 * @example
 * const schema = z.strictObject({ window: duration().default(1000).meta({ description: "For how long one decision holds." }) });
 */
export function duration() {
  return durationSchema;
}

/** One schema for all keys: making a new one for each took longer than checking a config. */
const durationSchema = z
  .union([z.string(), z.number().int()], { error: "expected a duration such as 50ms, 5s or 1m" })
  .transform((value, context) => {
    const ms = typeof value === "number" ? value / 1e6 : parseDuration(value);
    if (ms !== undefined && ms >= 0) return ms;
    context.addIssue({ code: "custom", message: "expected a duration such as 50ms, 5s or 1m" });
    return z.NEVER;
  })
  .meta({ format: "duration" });

/**
 * A size such as `64MiB`, `1GB` or `512`, parsed into bytes.
 *
 * @example
 * const schema = z.strictObject({ max_bytes: byteSize().default(64 * 1024 * 1024) });
 */
export function byteSize() {
  return byteSizeSchema;
}

const byteSizeSchema = z
  .union([z.string(), z.number().int()], { error: "expected a size such as 64MiB" })
  .transform((value, context) => {
    const bytes = typeof value === "number" ? value : parseByteSize(value);
    if (bytes !== undefined && bytes >= 0) return bytes;
    context.addIssue({ code: "custom", message: "expected a size such as 64MiB" });
    return z.NEVER;
  })
  .meta({ format: "bytes" });

/**
 * A file that belongs to the config, like its plugins. A relative path starts at the folder of the config file that
 * contains it.
 */
export function configPath() {
  return z.string().min(1, "expected the path of a file").meta({ format: "path" });
}

/** A value of any type that becomes telemetry: `1.0` is a double, `1` an integer, and maps and lists are possible. */
export function telemetryValue() {
  return (z.unknown() as z.ZodType<Value>).meta({ format: "value" });
}

/**
 * A pattern for records: `order.*`, `severity>=ERROR`, `attributes.tenant=acme`. It stays text; see
 * `parseRecordPattern`.
 */
export function recordPattern() {
  return z
    .string()
    .superRefine((text, context) => {
      const pattern = parseRecordPattern(text);
      if (typeof pattern === "object") context.addIssue({ code: "custom", message: pattern.problem });
    })
    .meta({ format: "pattern" });
}

/** A cron expression of five fields or a name such as `@daily`, or an empty text. It stays text; see `parseCron`. */
export function cronSchedule() {
  return z
    .string()
    .superRefine((text, context) => {
      const cron = text.trim() === "" ? undefined : parseCron(text);
      if (cron !== undefined && "problem" in cron) context.addIssue({ code: "custom", message: cron.problem });
    })
    .meta({ format: "cron" });
}

/**
 * A text that is never printed: not by print-config, not in a config error, not in a log.
 *
 * @example
 * const schema = z.strictObject({ token: secret().optional() });
 */
export function secret() {
  return z.string().meta({ secret: true });
}

/** A map of header names to values, or a list of `{name, value}`, parsed into the map. The values are secrets. */
export function headers() {
  const list = z.array(
    z.strictObject({
      name: z.string().meta({ description: "The name of the header." }),
      value: secret().meta({ description: "Its value." }),
    }),
  );
  return z
    .union([z.record(z.string(), secret()), list])
    .superRefine((written, context) => {
      if (!Array.isArray(written)) return;
      for (const [i, { name }] of written.entries()) {
        if (written.findIndex((other) => other.name === name) === i) continue;
        context.addIssue({ code: "custom", message: `the header ${name} is in this list twice`, path: [i, "name"] });
      }
    })
    .transform((written) => (Array.isArray(written) ? headerMap(written) : written));
}

function headerMap(list: readonly { readonly name: string; readonly value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

/**
 * One of these lower-case words, written in upper or lower case.
 *
 * @example
 * const schema = z.strictObject({ mode: caseInsensitiveEnum(["fast", "safe"]).default("safe") });
 */
export function caseInsensitiveEnum<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.preprocess((value) => (typeof value === "string" ? value.toLowerCase() : value), z.enum(words));
}

/**
 * A section that may be left empty: `limits:` without a value is YAML's null and means the defaults, while an absent
 * section stays absent.
 *
 * @example
 * const limits = z.strictObject({ records: z.number().int().default(1000) });
 * const schema = z.strictObject({ limits: section(limits).optional() });
 */
export function section<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === null ? {} : value), schema);
}

/**
 * The same with a schema that is made when it is first needed. Most configs have few of the sections they may have, and
 * making all their schemas would be a good part of the time that an agent takes to start.
 */
export function lazySection<T extends z.ZodType>(makeSchema: () => T) {
  return section(lazySchema(makeSchema));
}

/** A schema that is made when it is first needed, for the items of a list that most configs do not have. */
export function lazySchema<T extends z.ZodType>(makeSchema: () => T) {
  let made: T | undefined;
  return z.lazy(() => {
    made ??= makeSchema();
    return made;
  });
}

/**
 * A key of the Collector that is accepted so that existing configs load, but has no effect. `why` is shown as a warning
 * with its place.
 *
 * @example
 * const schema = z.strictObject({ num_workers: ignored("there is one event loop") });
 */
export function ignored(why: string) {
  return z.unknown().optional().meta({ ignored: why });
}

/**
 * A key of the Collector that must not be silently ignored, such as `auth`. Using it is a config error with its place,
 * and `why` says what to do instead. Null counts as not used.
 *
 * @example
 * const schema = z.strictObject({ auth: unsupported("write the token under headers") });
 */
export function unsupported(why: string) {
  return z
    .unknown()
    .refine((value) => value === undefined || value === null, why)
    .optional()
    .meta({ unsupported: why });
}

/**
 * A key that is no longer recommended but still works. `instead` is shown as a warning with its place.
 *
 * @example
 * const schema = z.strictObject({ rate: deprecated(z.number().optional(), "use sampling_percentage") });
 */
export function deprecated<T extends z.ZodType>(schema: T, instead: string): T {
  return schema.meta({ deprecated: true, instead }) as T;
}

/** Replaces secrets wherever config is shown. */
export const REDACTED = "[REDACTED]";

/** Removes user, password and secret-looking query parameters from a URL. */
export function withoutUrlSecrets(text: string): string {
  return text.replace(AUTHORITY, withoutCredentials).replace(SECRET_PARAMETER, `$1${REDACTED}`);
}

/** For http, credentials are recognised after any number of slashes or backslashes. */
const AUTHORITY = /(:\/\/|\bhttps?:[/\\]*)([^/?#\s]*)/gi;
// Linear: a name ends before the next character that may begin one.
const SECRET_PARAMETER =
  /([?&#;][\w.-]*(?:key|keyid|token|tok|secret|pass|password|pwd|auth|jwt|credentials?|sig|signature|code)=)[^&#\s]+/gi;

function withoutCredentials(whole: string, start: string, authority: string): string {
  const at = authority.lastIndexOf("@");
  return at > 0 ? `${start}${REDACTED}${authority.slice(at)}` : whole;
}

/**
 * The schema of `auth: {authenticator: ID}`, which names an extension that authenticates clients to a server, or us as
 * a client. When the config is loaded, it is checked that the extension exists, is listed in service.extensions, and
 * supports this.
 */
export function authReference(side: AuthSide) {
  const keys = {
    authenticator: z.string().min(1, "expected the id of an extension").meta({
      description: DESCRIPTIONS[side],
      authenticator: side,
    }),
  };
  const serverOnly = { request_params: ignored("credentials are read from headers, not from the URL: it is logged") };
  return section(z.strictObject(side === "server" ? { ...keys, ...serverOnly } : keys));
}

/**
 * The schema of the id of an extension that serves receivers. It is checked like `authReference`.
 *
 * @internal
 */
export function extensionReference(role: ExtensionRole) {
  return z.string().min(1, "expected the id of an extension").meta({ extensionRole: role });
}

const DESCRIPTIONS: Readonly<Record<AuthSide, string>> = {
  server: "The id of the extension that authenticates clients, such as basicauth or oidc.",
  client: "The id of the extension that provides the credentials, such as oauth2client.",
};
