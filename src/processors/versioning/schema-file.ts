import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

/** The changes of one schema version to one kind of subject, in order. */
export type SchemaChange =
  | {
      readonly renames: "attributes";
      readonly map: ReadonlyMap<string, string>;
      /** Limits the change to spans, events or metrics with these names; undefined means all. */
      readonly spans: ReadonlySet<string> | undefined;
      readonly names: ReadonlySet<string> | undefined;
    }
  | { readonly renames: "names"; readonly map: ReadonlyMap<string, string> }
  /** A change that cannot be translated, such as the split of a metric. */
  | { readonly renames: "other" };

export const SUBJECTS = ["resources", "spans", "span_events", "metrics", "logs"] as const;
export type SchemaSubject = (typeof SUBJECTS)[number];

/** The versions of a schema family that one file describes. */
export interface SchemaFamily {
  /** The schema URL without the version. */
  readonly url: string;
  /** Oldest first. */
  readonly versions: readonly string[];
  /** The changes of each version relative to the version before it. */
  readonly changes: ReadonlyMap<string, Readonly<Record<SchemaSubject, readonly SchemaChange[]>>>;
}

const names = z.array(z.string()).optional();
const texts = z.record(z.string(), z.string());
const change = z.looseObject({
  rename_attributes: z
    .looseObject({
      attribute_map: texts.optional(),
      apply_to_spans: names,
      apply_to_events: names,
      apply_to_metrics: names,
    })
    .optional(),
  rename_events: z.looseObject({ name_map: texts }).optional(),
  rename_metrics: texts.optional(),
});
const section = z.looseObject({ changes: z.array(change).nullish() }).nullish();
const file = z.looseObject({
  file_format: z.string().regex(/^1\.[01]\.\d+$/, "expected file_format 1.0.0 or 1.1.0"),
  schema_url: z.string().regex(/^.+\/\d+\.\d+\.\d+$/, "expected a schema_url that ends in a version"),
  versions: z.record(
    z.string().regex(/^\d+\.\d+\.\d+$/, "expected versions such as 1.2.0"),
    z
      .looseObject({
        all: section,
        resources: section,
        spans: section,
        span_events: section,
        metrics: section,
        logs: section,
      })
      .nullish(),
  ),
});

/** Reads an OpenTelemetry schema file of format 1.0 or 1.1. Returns the problem if it is not valid. */
export function readSchemaFile(path: string): SchemaFamily | { readonly problem: string } {
  try {
    return parseSchemaFile(readFileSync(path, "utf8"));
  } catch (error) {
    return { problem: `cannot read the schema file ${path}: ${(error as Error).message.split("\n")[0]}` };
  }
}

/** Throws if the text is not a schema file. */
function parseSchemaFile(text: string): SchemaFamily {
  const result = file.safeParse(parse(text));
  if (!result.success) {
    const { path, message } = result.error.issues[0]!;
    throw new TypeError(`${path.join(".") || "the file"}: ${message}`);
  }
  const { schema_url, versions } = result.data;
  const at = schema_url.lastIndexOf("/");
  const known = new Set([...Object.keys(versions), schema_url.slice(at + 1)]);
  return {
    url: schema_url.slice(0, at),
    versions: [...known].sort(byVersion),
    changes: new Map(Object.entries(versions).map(([version, sections]) => [version, changesOf(sections ?? {})])),
  };
}

type Sections = Readonly<Partial<Record<SchemaSubject | "all", z.infer<typeof section>>>>;

/** Changes under `all` come before those of the subject itself. */
function changesOf(sections: Sections): Record<SchemaSubject, SchemaChange[]> {
  const of = (subject: SchemaSubject) =>
    [...(sections.all?.changes ?? []), ...(sections[subject]?.changes ?? [])].map((one) => changeOf(one, subject));
  return {
    resources: of("resources"),
    spans: of("spans"),
    span_events: of("span_events"),
    metrics: of("metrics"),
    logs: of("logs"),
  };
}

function changeOf(one: z.infer<typeof change>, subject: SchemaSubject): SchemaChange {
  const { rename_attributes, rename_events, rename_metrics } = one;
  if (rename_attributes !== undefined) {
    const { attribute_map = {}, apply_to_spans, apply_to_events, apply_to_metrics } = rename_attributes;
    const appliesTo =
      subject === "span_events" ? apply_to_events : subject === "metrics" ? apply_to_metrics : undefined;
    return { renames: "attributes", map: mapOf(attribute_map), spans: setOf(apply_to_spans), names: setOf(appliesTo) };
  }
  if (rename_events !== undefined) return { renames: "names", map: mapOf(rename_events.name_map) };
  return rename_metrics === undefined ? { renames: "other" } : { renames: "names", map: mapOf(rename_metrics) };
}

function mapOf(record: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(record));
}

function setOf(list: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return list === undefined ? undefined : new Set(list);
}

function byVersion(a: string, b: string): number {
  const [x, y] = [a.split(".").map(Number), b.split(".").map(Number)];
  return x[0]! - y[0]! || x[1]! - y[1]! || x[2]! - y[2]!;
}
