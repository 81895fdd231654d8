import { z } from "zod";
import type { ComponentFactory, ComponentKind } from "#contract";
import { DURATION_PATTERN, isRecord, uncheckedExporterSettingsSchema } from "#contract/schema";
import { SIGNALS } from "#otlp/signals";
import { noEffectTypes } from "../resolve/other-types.js";
import type { Registry } from "../resolve/registry.js";
import { SECTIONS, type SectionName } from "./component-id.js";
import { pipelineErrorModeSchema, pipelineIntakeSchema, serviceSchema } from "./service-schema.js";
import { type JsonSchema, shareDefinitions } from "./share-definitions.js";
import { itemOfTextList, layerKind, metaOf, valueOr } from "./zod-schema.js";

export type { JsonSchema };

/** A string that contains `${env:NAME}` or `$NAME` may become any value. */
const VARIABLE = "\\$(\\{|[A-Za-z_])";

/**
 * The JSON Schema (draft 7) of a whole config, for editors. It is more lenient than loading: any value with a variable
 * is accepted, and in a config with plugins, unknown component types are accepted because a plugin may have them. Draft
 * 7, because every editor supports it.
 */
export function configJsonSchema(registry: Registry): JsonSchema {
  const definitions: JsonSchema = {};
  const common = convertSchema(uncheckedExporterSettingsSchema, "common", definitions);
  definitions["common"] = common;
  for (const factory of registry.all())
    definitions[definitionName(factory)] = componentSchema(factory, common, definitions);
  const sections = Object.entries(SECTIONS).map(([section, kind]) => [section, sectionSchema(section, kind, registry)]);
  return shareDefinitions({
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Sluice config",
    type: "object",
    properties: { plugins: PLUGINS, ...Object.fromEntries(sections), service: serviceJsonSchema(definitions) },
    required: ["service"],
    additionalProperties: false,
    if: { required: ["plugins"] },
    else: { properties: Object.fromEntries(knownTypes(registry)) },
    $defs: definitions,
  });
}

/** Patterns for the ids of each section, for configs without plugins. */
function knownTypes(registry: Registry): [string, JsonSchema][] {
  return Object.entries(SECTIONS).map(([section, kind]) => {
    const types = registry.all(kind).flatMap(({ type, aliases = [] }) => [type, ...aliases]);
    const pattern = `^\\s*(${[...types, ...noEffectTypes(kind)].join("|")})\\s*(/.*)?$`;
    return [section, { propertyNames: { pattern } }];
  });
}

const PLUGINS: JsonSchema = {
  ...nullable({ type: "array" }),
  items: { type: "string" },
  description: "Packages and files with your own components, relative to the folder of this file.",
};

function sectionSchema(section: string, kind: ComponentKind, registry: Registry): JsonSchema {
  const spellings = registry.all(kind).flatMap((factory) => {
    const names = [factory.type, ...(factory.aliases ?? [])];
    return names.map((name) => [name, { $ref: `#/$defs/${definitionName(factory)}` }] as const);
  });
  return {
    ...nullable({ type: "object" }),
    description: DESCRIPTIONS[section as SectionName],
    properties: Object.fromEntries(spellings),
    patternProperties: Object.fromEntries(spellings.map(([name, ref]) => [`^${name}\\s*/`, ref])),
  };
}

const DESCRIPTIONS: Readonly<Record<SectionName, string>> = {
  receivers: "Sources of data, each under its type or type/name.",
  processors: "Processing steps, each under its type or type/name.",
  exporters: "Destinations of data, each under its type or type/name.",
  connectors: "Components that connect the end of one pipeline with the beginning of others.",
  extensions: "Components that run beside the pipelines; service.extensions enables them.",
};

function componentSchema(factory: ComponentFactory, common: JsonSchema, definitions: JsonSchema): JsonSchema {
  const keys = valueOr(() => convertSchema(factory.schema, definitionName(factory), definitions), {});
  const description = factory.summary === "" ? {} : { description: factory.summary };
  if (factory.kind !== "exporter" || !isRecord(keys["properties"]))
    return { ...keys, ...nullable(keys), ...description };
  const properties = { ...refsTo(common), ...keys["properties"] };
  return { ...keys, ...nullable(keys), ...description, properties };
}

/** The keys that every exporter has are defined once in the schema, and referenced. */
function refsTo(common: JsonSchema): JsonSchema {
  const keys = Object.keys(common["properties"] as object);
  return Object.fromEntries(keys.map((key) => [key, { $ref: `#/$defs/common/properties/${key}` }]));
}

function serviceJsonSchema(definitions: JsonSchema): JsonSchema {
  const settings = convertSchema(serviceSchema, "service", definitions);
  const ids = (description: string): JsonSchema => ({
    ...nullable({ type: "array" }),
    items: { type: "string" },
    description,
  });
  const pipeline = {
    type: ["object", "string"],
    pattern: VARIABLE,
    properties: {
      receivers: ids("Ids of receivers, and of connectors that feed this pipeline."),
      processors: ids("Ids of processors, in the order in which data passes them."),
      exporters: ids("Ids of exporters, and of connectors that this pipeline feeds."),
      intake: {
        ...convertSchema(pipelineIntakeSchema, "pipelineIntake", definitions),
        description: "When clients of this pipeline get their answer.",
      },
      error_mode: convertSchema(pipelineErrorModeSchema, "pipelineErrorMode", definitions),
    },
    additionalProperties: false,
  };
  const pipelines = {
    type: ["object", "string"],
    pattern: VARIABLE,
    description: "The pipelines; each is called logs, traces or metrics, or one of these with /name.",
    patternProperties: { [`^(${[...SIGNALS, "profiles"].join("|")})(\\s*/.+)?$`]: pipeline },
    additionalProperties: false,
  };
  const extensions = ids("Ids of the extensions that run, in this order.");
  return {
    ...settings,
    properties: { ...(settings["properties"] as object), extensions, pipelines },
    required: ["pipelines"],
    description: "Which components run, and the agent's own telemetry and limits.",
  };
}

/** Converts one schema. The definitions of a recursive schema are added to `all`, under its name. */
function convertSchema(schema: z.ZodType, name: string, all: JsonSchema): JsonSchema {
  const { $schema, definitions, ...json } = z.toJSONSchema(schema, {
    target: "draft-7",
    io: "input",
    unrepresentable: "any",
    reused: "inline",
    override: ({ zodSchema, jsonSchema }) => adjustForYaml(zodSchema as unknown as z.ZodType, jsonSchema as JsonSchema),
  });
  for (const [key, inner] of Object.entries(definitions ?? {})) all[`${name}.${key}`] = prefixRefs(inner, name);
  return prefixRefs(json, name) as JsonSchema;
}

function prefixRefs(json: unknown, name: string): unknown {
  if (Array.isArray(json)) return json.map((item) => prefixRefs(item, name));
  if (!isRecord(json)) return json;
  const entries = Object.entries(json).map(([key, value]) => {
    if (key !== "$ref" || typeof value !== "string") return [key, prefixRefs(value, name)];
    return [key, value === "#" ? `#/$defs/${name}` : value.replace("#/definitions/", `#/$defs/${name}.`)];
  });
  return Object.fromEntries(entries);
}

/**
 * Adjusts one layer of a schema, because YAML input may differ from what the schema takes: see `schemaInput`. Only zod
 * knows how its checks translate to JSON Schema, so zod walks the schema and calls this function for every layer.
 */
function adjustForYaml(schema: z.ZodType, json: JsonSchema): void {
  const { format, ignored, unsupported, instead } = metaOf(schema);
  for (const note of [
    "secret",
    "privileged",
    "harmless",
    "ignored",
    "unsupported",
    "instead",
    "opaque",
    "format",
    "authenticator",
    "extensionRole",
  ])
    delete json[note];
  if (ignored !== undefined) Object.assign(json, { deprecated: true, description: `Has no effect: ${ignored}.` });
  if (unsupported !== undefined)
    Object.assign(json, { deprecated: true, description: `Not supported: ${unsupported}.` });
  if (instead !== undefined) json["description"] = `Deprecated: ${instead}.`;
  const text = format === undefined ? undefined : FORMATS[format];
  if (text !== undefined) {
    delete json["anyOf"];
    Object.assign(json, text);
  } else Object.assign(json, loosenedForYaml(schema, json));
  if (layerKind(schema) === "optional") Object.assign(json, withNull(json));
}

const FROM_VARIABLE = { type: "string", pattern: VARIABLE };

const FORMATS: Readonly<Record<string, JsonSchema>> = {
  duration: {
    type: ["string", "integer"],
    pattern: `^(${DURATION_PATTERN}|\\d+)$|${VARIABLE}`,
    examples: ["5s", "100ms", "1m30s", "30d"],
  },
  bytes: { type: ["string", "integer"], pattern: `^\\d+(\\.\\d+)?\\s*[A-Za-z]*$|${VARIABLE}`, examples: ["64MiB"] },
};

function loosenedForYaml(schema: z.ZodType, json: JsonSchema): JsonSchema {
  const kind = layerKind(schema);
  if (kind === "conversion") return withSpellings(schema, json);
  if (kind === "string" && json["type"] === "string") return { type: ["string", "number", "boolean"] };
  if (kind === "container")
    return itemOfTextList(schema) === undefined ? nullable(json) : { type: ["array", "null", "string"] };
  if (kind !== "fixed" || json["anyOf"] !== undefined) return {};
  const { description, ...fixed } = json;
  const inner = { ...fixed, ...withUnquotedNumbers(json["enum"]) };
  for (const key of Object.keys(json)) delete json[key];
  for (const [key, bound] of Object.entries(inner)) if (isUnbounded(bound)) delete inner[key];
  const either = isPlainType(inner) ? orText(inner) : { anyOf: [inner, FROM_VARIABLE] };
  return { ...either, ...(description !== undefined && { description }) };
}

/**
 * A number or boolean without a fixed list of values: its constraints do not apply to strings, so `string` can be added
 * to its type without `anyOf`.
 */
function isPlainType({ type, enum: words, const: word }: JsonSchema): boolean {
  return ["number", "integer", "boolean"].includes(String(type)) && words === undefined && word === undefined;
}

/** This way editors show a key's description once; below `anyOf` they repeat it for each alternative. */
function orText(json: JsonSchema): JsonSchema {
  return { ...json, type: [json["type"], "string"], pattern: VARIABLE };
}

/** Also accepts numbers for strings that look like one, such as TLS "1.2" without quotes. */
function withUnquotedNumbers(words: unknown): JsonSchema {
  const numeric = Array.isArray(words) ? words.filter((word) => /^\d+(\.\d+)?$/.test(String(word))) : [];
  return numeric.length === 0 ? {} : { type: ["string", "number"], enum: [...(words as []), ...numeric.map(Number)] };
}

function isUnbounded(bound: unknown): boolean {
  return typeof bound === "number" && Math.abs(bound) === Number.MAX_SAFE_INTEGER;
}

/** Accepts enum values in any case, and an empty value if the schema handles it. */
function withSpellings(schema: z.ZodType, json: JsonSchema): JsonSchema {
  const anyOf = (json["anyOf"] ?? []) as readonly JsonSchema[];
  const words = anyOf.flatMap(({ enum: each }) => (each ?? []) as unknown[]).filter((word) => typeof word === "string");
  const takes = (word: string) => valueOr(() => schema.safeParse(word).success, false);
  const isKnown = anyOf.some(({ pattern }) => pattern === caseInsensitivePattern(words)["pattern"]);
  const more = [
    ...(!isKnown && words.length > 0 && words.every((word) => takes(word.toUpperCase()))
      ? [caseInsensitivePattern(words)]
      : []),
    ...(words.length > 0 && !words.includes("") && takes("") ? [{ const: "" }] : []),
  ];
  return more.length === 0 ? {} : { anyOf: [...anyOf, ...more] };
}

function caseInsensitivePattern(words: readonly string[]): JsonSchema {
  const letters = (word: string) =>
    [...word].map((letter) =>
      /[a-z]/i.test(letter)
        ? `[${letter.toLowerCase()}${letter.toUpperCase()}]`
        : `\\u{${letter.codePointAt(0)!.toString(16)}}`,
    );
  return { type: "string", pattern: `^(${words.map((word) => letters(word).join("")).join("|")})$` };
}

/** An optional key may be written without a value. */
function withNull(json: JsonSchema): JsonSchema {
  const { type, anyOf } = json;
  if (Array.isArray(anyOf)) return { anyOf: [...anyOf.filter((each) => each.type !== "null"), { type: "null" }] };
  if (type === undefined || json["enum"] !== undefined) return {};
  return { type: [...new Set([type, "null"].flat())] };
}

/**
 * A section or list without a value is null in YAML, and counts as absent; a variable may also provide the whole value.
 */
function nullable({ type }: JsonSchema): JsonSchema {
  return type === "object" || type === "array" ? { type: [type, "null", "string"], pattern: VARIABLE } : {};
}

function definitionName({ kind, type }: ComponentFactory): string {
  return `${kind}.${type}`;
}
