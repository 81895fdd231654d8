import type { z } from "zod";
import { byteSizeText, durationText } from "./duration-text.js";
import {
  baseSchemas,
  childSchemas,
  defaultOf,
  enumValues,
  isRequired,
  keysOf,
  metaOf,
  type ValueKind,
  valueKinds,
  zodDefinition,
} from "./zod-schema.js";

/** One key that a component takes, for people and programs. */
export interface KeyDescription {
  /** Dotted; `[]` stands for each item of a list, `*` for any key. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  /** As one would write it in YAML; absent when there is none. */
  readonly default?: unknown;
  readonly description?: string;
  readonly secret?: true;
  readonly deprecated?: string;
  readonly ignored?: string;
}

const MAX_DEPTH = 8;

/** All keys of a schema, sections before what is in them. */
export function describeKeys(schema: z.ZodType, prefix = "", depth = 0): KeyDescription[] {
  if (depth > MAX_DEPTH) return [];
  return [...keysOf(schema)].flatMap(([key, child]) => {
    const path = prefix === "" ? key : `${prefix}.${key}`;
    return [describeKey(path, child), ...describeInner(path, child, depth)];
  });
}

/** A key's default as it would be written in YAML; undefined when it has none. */
export function writtenDefault(schema: z.ZodType): unknown {
  const found = defaultOf(schema);
  if (found === undefined) return undefined;
  const format = formatOf(schema);
  if (found.written || typeof found.value !== "number") return found.value;
  if (format === "duration") return durationText(found.value);
  return format === "bytes" ? byteSizeText(found.value) : found.value;
}

function describeInner(path: string, schema: z.ZodType, depth: number): KeyDescription[] {
  const lists = baseSchemas(schema).filter((base) => zodDefinition(base).type === "array");
  const records = baseSchemas(schema).filter((base) => zodDefinition(base).type === "record");
  return [
    ...describeKeys(schema, path, depth + 1),
    ...lists.flatMap((list) => childSchemas(list, 0)).flatMap((item) => describeKeys(item, `${path}[]`, depth + 1)),
    ...records
      .flatMap((record) => childSchemas(record, "*"))
      .flatMap((value) => describeKeys(value, `${path}.*`, depth + 1)),
  ];
}

function describeKey(path: string, schema: z.ZodType): KeyDescription {
  const notes = metaOf(schema);
  const defaultValue = writtenDefault(schema);
  return {
    path,
    type: typeText(schema),
    required: isRequired(schema),
    ...(defaultValue === undefined ? {} : { default: defaultValue }),
    ...(notes.description === undefined ? {} : { description: notes.description }),
    ...(notes.secret === true ? { secret: true as const } : {}),
    ...(notes.deprecated === true ? { deprecated: notes.instead ?? "" } : {}),
    ...(notes.ignored === undefined ? {} : { ignored: notes.ignored }),
  };
}

const KIND_WORDS: Readonly<Record<ValueKind, string>> = {
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
  const format = formatOf(schema);
  if (format !== undefined) return format;
  const enumTexts = enumValues(schema);
  const kinds = [...valueKinds(schema)]
    .filter((kind) => kind !== "word" && kind !== "null")
    .map((kind) => KIND_WORDS[kind]);
  return [...enumTexts.map((word) => JSON.stringify(word)), ...kinds].join(" | ");
}

function formatOf(schema: z.ZodType): string | undefined {
  return (
    metaOf(schema).format ??
    baseSchemas(schema)
      .map((base) => metaOf(base).format)
      .find((format) => format !== undefined)
  );
}
