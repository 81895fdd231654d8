import { z } from "zod";
import { type AddOttlIssue, type ContextName, compileEach, compileIn } from "#ottl";
import { ignored, type Signal, type Tree } from "../../plugin.js";
import type { CountSpec } from "./count-where.js";

/** A metric, and what it counts. */
export interface CountMetric extends CountSpec {
  readonly name: string;
  readonly description: string;
}

/** The counts for each signal, grouped by context. */
export type CountConfig = Readonly<Record<Signal, readonly CountGroup[]>>;

export interface CountGroup {
  readonly context: ContextName;
  readonly metrics: readonly CountMetric[];
}

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const attributeSchema = z.strictObject({
  key: z.string().min(1).meta({ description: "The attribute." }),
  default_value: z
    .union([scalar, z.array(scalar)])
    .nullish()
    .meta({ description: "The value to assume for records without the attribute." }),
});
const metricSchema = z
  .strictObject({
    description: z.string().nullish().meta({ description: "The description of the metric." }),
    conditions: z
      .array(z.string())
      .nullish()
      .meta({ description: "Counts only records for which any of these conditions holds." }),
    attributes: z.array(attributeSchema).nullish().meta({
      description:
        "Counts separately for each combination of values of these attributes, which are looked for in the record, its scope and resource.",
    }),
  })
  .nullish();
const metricsSchema = (what: string) =>
  z
    .record(z.string().min(1), metricSchema)
    .nullish()
    .meta({ description: `Metrics that count ${what}, by name. Default: one metric that counts all of them.` });

type Section = "spans" | "spanevents" | "metrics" | "datapoints" | "logs";

const SECTIONS: readonly { section: Section; signal: Signal; context: ContextName; name: string; noun: string }[] = [
  { section: "spans", signal: "traces", context: "span", name: "trace.span.count", noun: "spans" },
  {
    section: "spanevents",
    signal: "traces",
    context: "spanevent",
    name: "trace.span.event.count",
    noun: "span events",
  },
  { section: "metrics", signal: "metrics", context: "metric", name: "metric.count", noun: "metrics" },
  {
    section: "datapoints",
    signal: "metrics",
    context: "datapoint",
    name: "metric.datapoint.count",
    noun: "data points",
  },
  { section: "logs", signal: "logs", context: "log", name: "log.record.count", noun: "log records" },
];

export const countSchema = z
  .strictObject({
    spans: metricsSchema("spans"),
    spanevents: metricsSchema("span events"),
    metrics: metricsSchema("metrics"),
    datapoints: metricsSchema("data points"),
    logs: metricsSchema("log records"),
    profiles: ignored("profiles are not supported"),
  })
  .transform((config, zod): CountConfig => {
    const found: Record<Signal, CountGroup[]> = { logs: [], traces: [], metrics: [] };
    for (const { section, signal, context, name, noun } of SECTIONS) {
      const written = Object.entries(config[section] ?? {});
      const metrics = written.map(([key, value]) =>
        compileMetric(key, value, context, [section, key], (i) => zod.addIssue(i)),
      );
      const all = { name, description: `The number of ${noun} observed.`, conditions: [], attributes: [] };
      found[signal].push({ context, metrics: written.length === 0 ? [all] : metrics });
    }
    return found;
  });

function compileMetric(
  name: string,
  raw: z.infer<typeof metricSchema>,
  context: ContextName,
  path: readonly (string | number)[],
  addIssue: AddOttlIssue,
): CountMetric {
  const attributes = raw?.attributes ?? [];
  if (context === "metric" && attributes.length > 0) {
    const message = "metrics have no attributes; count data points by theirs";
    addIssue({ code: "custom", message, path: [...path, "attributes"] });
  }
  const placeOf = (i: number) => [...path, "conditions", i];
  const groups = compileEach(raw?.conditions, (text) => compileIn(context, [], [text]), placeOf, addIssue);
  const fallback = (value: z.infer<typeof attributeSchema>["default_value"]) =>
    value === undefined || value === null ? undefined : toAnyValue(value);
  return {
    name,
    description: raw?.description ?? "",
    conditions: groups.flatMap(({ conditions }) => conditions),
    attributes: attributes.map(({ key, default_value }) => ({ key, fallback: fallback(default_value) })),
  };
}

type ScalarOrList = z.infer<typeof scalar> | z.infer<typeof scalar>[];

function toAnyValue(value: ScalarOrList): Tree {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toAnyValue) } };
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
}
