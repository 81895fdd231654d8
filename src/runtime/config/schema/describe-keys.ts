import type { z } from "zod";
import { byteSizeText, durationText, isRecord } from "#contract/schema";
import { visitKeys } from "./visit-schema.js";
import { defaultOf, enumValues, formatsOf, isRequired, metaOf, type ValueKind, valueKinds } from "./zod-schema.js";

/** Describes one key of a component. */
export interface KeyDescription {
  /** Dotted path; `[]` stands for each item of a list, `*` for any key. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  /** In YAML form; absent when there is none. */
  readonly default?: unknown;
  readonly description?: string;
  readonly secret?: true;
  readonly deprecated?: string;
  readonly ignored?: string;
}

/** All keys of a schema, each section before its keys. */
export function describeKeys(schema: z.ZodType): KeyDescription[] {
  return visitKeys(schema, describeKey);
}

/** A key's default in YAML form; undefined when it has none. */
export function writtenDefault(schema: z.ZodType): unknown {
  const found = defaultOf(schema);
  if (found === undefined) return undefined;
  const [format] = formatsOf(schema);
  if (found.written || typeof found.value !== "number") return found.value;
  if (format === "duration") return durationText(found.value);
  return format === "bytes" ? byteSizeText(found.value) : found.value;
}

/** Merges written values over defaults, key by key. Without a written value the defaults stay. */
export function withDefaults(defaults: unknown, written: unknown): unknown {
  if (!isRecord(defaults)) return written === undefined ? defaults : written;
  if (written === undefined || written === null) return defaults;
  if (!isRecord(written)) return written;
  const merged = new Map(Object.entries(defaults));
  for (const [key, value] of Object.entries(written)) merged.set(key, withDefaults(merged.get(key), value));
  return Object.fromEntries(merged);
}

function describeKey(path: string, schema: z.ZodType): KeyDescription {
  const notes = metaOf(schema);
  const defaultValue = writtenDefault(schema);
  const description = notes.unsupported === undefined ? notes.description : `Not supported: ${notes.unsupported}.`;
  return {
    path,
    type: typeText(schema),
    required: isRequired(schema),
    ...(defaultValue === undefined ? {} : { default: defaultValue }),
    ...(description === undefined ? {} : { description }),
    ...(notes.secret === true ? { secret: true as const } : {}),
    ...(notes.deprecated === true ? { deprecated: notes.instead ?? "" } : {}),
    ...(notes.ignored === undefined ? {} : { ignored: notes.ignored }),
  };
}

const KIND_LABELS: Readonly<Record<ValueKind, string>> = {
  string: "text",
  word: "word",
  number: "number",
  boolean: "true or false",
  null: "nothing",
  map: "section",
  list: "list",
  any: "anything",
};

function typeText(schema: z.ZodType): string {
  const [format] = formatsOf(schema);
  if (format !== undefined) return format;
  const enumTexts = enumValues(schema);
  const kinds = [...valueKinds(schema)]
    .filter((kind) => kind !== "word" && kind !== "null")
    .map((kind) => KIND_LABELS[kind]);
  return [...enumTexts.map((word) => JSON.stringify(word)), ...kinds].join(" | ");
}
