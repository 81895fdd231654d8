import { z } from "zod";
import { type Condition, compileEach, compileIn } from "#ottl";
import { byteSize, duration } from "../../../plugin.js";
import { type FieldPath, parseField } from "./record-fields.js";

export interface LogDedupConfig {
  readonly intervalMs: number;
  readonly countAttribute: string;
  readonly timeZone: string;
  readonly excluded: readonly FieldPath[];
  readonly included: readonly FieldPath[];
  readonly conditions: readonly Condition[];
  /** In lower case. */
  readonly metadataKeys: readonly string[];
  /** 0 for no limit. */
  readonly maxCombinations: number;
  readonly maxBytes: number;
}

const fieldList = (use: string) =>
  z
    .array(z.string())
    .nullish()
    .superRefine((fields, zod) => {
      for (const [i, field] of (fields ?? []).entries()) {
        const message = problemOf(field, fields!.indexOf(field) < i);
        if (message !== undefined) zod.addIssue({ code: "custom", message, path: [i] });
      }
    })
    .meta({ description: `${use}, such as attributes.id or body.time. A dot in a name is written \\.` });

function problemOf(field: string, isRepeated: boolean): string | undefined {
  if (field === "body") return "expected a field of the body: records with other bodies are other records";
  if (!/^(body|attributes)(\.|$)/.test(field)) return "expected a field that starts with body. or attributes.";
  return isRepeated ? "this field is listed twice" : undefined;
}

export const logDedupSchema = z
  .strictObject({
    interval: duration()
      .default(10_000)
      .refine((ms) => ms > 0, { message: "expected more than 0" })
      .meta({ description: "How long equal records are counted before one of them is passed on." }),
    log_count_attribute: z
      .string()
      .min(1)
      .default("log_count")
      .meta({ description: "The attribute that gets the number of records." }),
    timezone: z
      .string()
      .default("UTC")
      .transform((name) => (name === "Local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : name || "UTC"))
      .refine(isTimeZone, { message: "expected a time zone, such as Europe/Berlin, UTC or Local" })
      .meta({ description: "The time zone of first_observed_timestamp and last_observed_timestamp." }),
    exclude_fields: fieldList("Fields that are removed before records are compared"),
    include_fields: fieldList("Fields that make records equal if their values are"),
    conditions: z
      .array(z.string())
      .nullish()
      .meta({ description: "OTTL conditions. Records for which none holds are passed on at once." }),
    metadata_keys: z
      .array(z.string())
      .nullish()
      .meta({ description: "Client metadata. Requests with other values are counted apart." }),
    metadata_cardinality_limit: z.number().int().min(0).default(0).meta({
      description: "Combinations of metadata values at a time; with more, what waits is passed on early. 0: no limit.",
    }),
    max_bytes: byteSize()
      .default(48 * 1024 * 1024)
      .meta({ description: "Bytes of requests that may wait; with more, what waits is passed on early." }),
  })
  .superRefine(({ exclude_fields: excluded, include_fields: included, metadata_keys: keys }, zod) => {
    const issue = (message: string, path: string[]) => zod.addIssue({ code: "custom", message, path });
    if ((excluded ?? []).length > 0 && (included ?? []).length > 0)
      issue("expected either include_fields or exclude_fields", ["include_fields"]);
    if ((included ?? []).includes("attributes")) issue("expected one of the attributes", ["include_fields"]);
    const lower = (keys ?? []).map((key) => key.toLowerCase());
    if (new Set(lower).size < lower.length) issue("a key is listed twice", ["metadata_keys"]);
  })
  .transform((config, zod): LogDedupConfig => {
    const placeOf = (i: number) => ["conditions", i];
    const compile = (text: string) => compileIn("log", [], [text]);
    const groups = compileEach(config.conditions, compile, placeOf, (issue) => zod.addIssue(issue));
    return {
      intervalMs: config.interval,
      countAttribute: config.log_count_attribute,
      timeZone: config.timezone,
      excluded: (config.exclude_fields ?? []).map(parseField),
      included: (config.include_fields ?? []).map(parseField),
      conditions: groups.flatMap(({ conditions }) => conditions),
      metadataKeys: (config.metadata_keys ?? []).map((key) => key.toLowerCase()).sort(),
      maxCombinations: config.metadata_cardinality_limit,
      maxBytes: config.max_bytes,
    };
  });

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
