import { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import { configPath, didYouMean } from "#contract/schema";
import type { Value } from "#otlp/bytes";
import { parseEventName, VERSION_ATTRIBUTE } from "./event-name.js";
import { readSchemaFile, type SchemaFamily } from "./schema-file.js";
import { CONVERTED_TYPES, createUpcaster, type Upcaster } from "./upcast.js";

/** The versions of an event. */
export interface EventVersions {
  readonly current: number;
  /** Upcasts by the version they start from. Each leads closer to the current version. */
  readonly steps: ReadonlyMap<number, { readonly to: number; readonly upcast: Upcaster }>;
}

export interface VersioningConfig {
  readonly events: ReadonlyMap<string, EventVersions>;
  readonly unknown: "pass" | "dead_letter" | "drop";
  /** Schemas by their URL without the version. */
  readonly schemas: ReadonlyMap<string, { readonly family: SchemaFamily; readonly target: string }>;
}

const version = () => z.number().int().min(1).max(999_999_999);
const attributeKey = () =>
  z.string().min(1).refine(isUpcastable, `an upcast must not change the name and version of an event`);

const value: z.ZodType<Value> = z.lazy(() =>
  z.union([z.string(), z.number(), z.boolean(), z.array(value), z.record(z.string(), value)], {
    error: "expected text, a number, true or false, a list or a map",
  }),
);

const upcast = z.strictObject({
  from: version().meta({ description: "The version that it starts from." }),
  to: version().meta({ description: "The version that it leads to." }),
  remove: z.array(attributeKey()).default([]).meta({ description: "Attributes to remove; done first." }),
  rename: z
    .record(attributeKey(), attributeKey())
    .default({})
    .meta({ description: "Old keys and their new keys; values stay unchanged." }),
  convert: z
    .record(attributeKey(), z.enum(CONVERTED_TYPES))
    .default({})
    .meta({ description: "New types of attributes, by their new keys." }),
  set: z.record(attributeKey(), value).default({}).meta({ description: "Attributes and their new values." }),
  use: z.string().optional().meta({ description: "An upcaster in code, by its name; done last." }),
});

const event = z.strictObject({
  current: version().meta({ description: "The version that later components receive." }),
  upcasts: z.array(upcast).default([]).meta({ description: "Steps from older versions to newer ones." }),
});

const rawSchema = z.strictObject({
  events: z.record(z.string().min(1), event).default({}).meta({ description: "Events by their plain names." }),
  unknown: z
    .enum(["pass", "dead_letter", "drop"])
    .default("pass")
    .meta({ description: "What to do with versions that are newer, or that have no upcast." }),
  schemas: z
    .array(configPath())
    .default([])
    .meta({ description: "OpenTelemetry schema files; relative paths begin at the folder of the config." }),
  target: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({ description: "Schema URL to translate to, one for each family. Default: that of the file." }),
});

type RawVersioningConfig = z.infer<typeof rawSchema>;
/** Returns the config schema of a versioning processor with these named upcasters. */
export function versioningSchema(upcasters: Readonly<Record<string, Upcaster>>): z.ZodType<VersioningConfig> {
  return rawSchema.transform((config, context): VersioningConfig => {
    const events = Object.entries(config.events).map(([name, one]) => {
      const path = ["events", name];
      const { plain } = parseEventName(name);
      if (plain !== name) addIssue(context, path, `write the plain name, without a version: ${plain}`);
      return [name, { current: one.current, steps: stepsOf(one, upcasters, path, context) }] as const;
    });
    return { events: new Map(events), unknown: config.unknown, schemas: schemasOf(config, context) };
  });
}

function addIssue(context: z.RefinementCtx, path: ConfigPath, message: string, suggestion?: string): void {
  context.addIssue({
    code: "custom",
    path: [...path],
    message,
    params: suggestion === undefined ? {} : { suggestion },
  });
}

function isUpcastable(name: string): boolean {
  return name !== VERSION_ATTRIBUTE && name !== "event.name";
}

/**
 * Checks the steps: each must lead upwards, each version may have only one, and every path must end at the current
 * version.
 */
function stepsOf(
  { current, upcasts }: z.infer<typeof event>,
  upcasters: Readonly<Record<string, Upcaster>>,
  path: ConfigPath,
  context: z.RefinementCtx,
): EventVersions["steps"] {
  const steps = new Map<number, { to: number; upcast: Upcaster }>();
  const sourceVersions = new Set(upcasts.map(({ from }) => from));
  for (const [i, one] of upcasts.entries()) {
    const at = [...path, "upcasts", i];
    if (one.to <= one.from)
      addIssue(context, [...at, "to"], `expected a version above ${one.from}: upcasts go upwards`);
    else if (one.to > current) addIssue(context, [...at, "to"], `expected at most the current version, ${current}`);
    else if (one.to < current && !sourceVersions.has(one.to))
      addIssue(context, [...at, "to"], `there is no upcast from version ${one.to}; the current version is ${current}`);
    if (steps.has(one.from)) addIssue(context, [...at, "from"], `there is another upcast from version ${one.from}`);
    if (!hasDistinctTargets(one.rename)) addIssue(context, [...at, "rename"], "two attributes would get the same key");
    steps.set(one.from, { to: one.to, upcast: upcastOf(one, upcasters, at, context) });
  }
  return steps;
}

function hasDistinctTargets(rename: Readonly<Record<string, string>>): boolean {
  const targets = Object.values(rename);
  return new Set(targets).size === targets.length;
}

function upcastOf(
  one: z.infer<typeof upcast>,
  upcasters: Readonly<Record<string, Upcaster>>,
  path: ConfigPath,
  context: z.RefinementCtx,
): Upcaster {
  const edits = createUpcaster(one);
  if (one.use === undefined) return edits;
  const named = Object.hasOwn(upcasters, one.use) ? upcasters[one.use] : undefined;
  if (named === undefined) {
    const known = Object.keys(upcasters);
    const hint = known.length === 0 ? "; upcasters in code come with a plugin's own versioning processor" : "";
    addIssue(
      context,
      [...path, "use"],
      `there is no upcaster "${one.use}"${hint}`,
      didYouMean(one.use, known).suggestion,
    );
    return edits;
  }
  return (subject) => {
    edits(subject);
    named(subject);
  };
}

function schemasOf(config: RawVersioningConfig, context: z.RefinementCtx): VersioningConfig["schemas"] {
  const found = new Map<string, { family: SchemaFamily; target: string }>();
  for (const [i, file] of config.schemas.entries()) {
    const read = readSchemaFile(file);
    if ("problem" in read) addIssue(context, ["schemas", i], read.problem);
    else if (found.has(read.url))
      addIssue(context, ["schemas", i], `there is another file of the schemas at ${read.url}`);
    else found.set(read.url, { family: read, target: read.versions.at(-1)! });
  }
  const targets = typeof config.target === "string" ? [config.target] : (config.target ?? []);
  for (const [i, url] of targets.entries()) {
    const path = typeof config.target === "string" ? ["target"] : ["target", i];
    setTarget(found, url, config.schemas.length, (message) => addIssue(context, path, message));
  }
  return found;
}

function setTarget(
  found: Map<string, { family: SchemaFamily; target: string }>,
  url: string,
  files: number,
  report: (message: string) => void,
): void {
  const at = url.lastIndexOf("/");
  const [base, target] = [url.slice(0, at), url.slice(at + 1)];
  const schema = found.get(base);
  if (files === 0) report("there is no schema file for the translation: name one in schemas");
  else if (schema === undefined) {
    if (found.size === files) report(`no schema file is for ${base}; there is ${[...found.keys()].join(", ")}`);
  } else if (!schema.family.versions.includes(target))
    report(`the file has no version ${target}; it has ${schema.family.versions.join(", ")}`);
  else found.set(base, { ...schema, target });
}
