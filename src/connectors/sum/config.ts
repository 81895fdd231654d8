import { z } from "zod";
import { type AddOttlIssue, type Condition, type ContextName, compileEach, compileIn } from "#ottl";
import type { Signal, Tree } from "../../plugin.js";

/** A metric, and what it adds up. */
export interface SumMetric {
  readonly name: string;
  readonly description: string;
  /** The attribute with the values. */
  readonly source: string;
  readonly conditions: readonly Condition[];
  readonly attributes: readonly SumAttribute[];
}

interface SumAttribute {
  readonly key: string;
  /** The AnyValue of records without the attribute; undefined if they are left out. */
  readonly fallback: Tree | undefined;
}

/** The sums of each signal, by context. */
export type SumConfig = Readonly<Record<Signal, readonly SumGroup[]>>;

export interface SumGroup {
  readonly context: ContextName;
  readonly metrics: readonly SumMetric[];
}

const attributeSchema = z.strictObject({
  key: z.string().min(1).meta({ description: "The attribute." }),
  default_value: z
    .union([z.string(), z.number(), z.boolean()])
    .nullish()
    .meta({ description: "The value to assume for records without the attribute." }),
});
const metricSchema = z.strictObject({
  source_attribute: z.string().min(1).meta({ description: "The attribute whose values are added up." }),
  description: z.string().nullish().meta({ description: "The description of the metric." }),
  conditions: z
    .array(z.string())
    .nullish()
    .meta({ description: "Adds up only records for which any of these conditions holds." }),
  attributes: z
    .array(attributeSchema)
    .nullish()
    .meta({ description: "Adds up separately for each combination of values of these attributes of the record." }),
});
const metricsSchema = (what: string) =>
  z
    .record(z.string().min(1), metricSchema)
    .nullish()
    .meta({ description: `Metrics that add up values of ${what}, by name.` });

const SECTIONS = [
  { section: "spans", signal: "traces", context: "span" },
  { section: "spanevents", signal: "traces", context: "spanevent" },
  { section: "metrics", signal: "metrics", context: "metric" },
  { section: "datapoints", signal: "metrics", context: "datapoint" },
  { section: "logs", signal: "logs", context: "log" },
] as const;

export const sumSchema = z
  .strictObject({
    spans: metricsSchema("spans"),
    spanevents: metricsSchema("span events"),
    metrics: metricsSchema("metrics, which have no attributes: their sums are 0"),
    datapoints: metricsSchema("data points"),
    logs: metricsSchema("log records"),
  })
  .transform((config, zod): SumConfig => {
    const found: Record<Signal, SumGroup[]> = { logs: [], traces: [], metrics: [] };
    for (const { section, signal, context } of SECTIONS) {
      const metrics = Object.entries(config[section] ?? {}).map(([name, value]) =>
        compileMetric(name, value, context, [section, name], (issue) => zod.addIssue(issue)),
      );
      if (metrics.length > 0) found[signal].push({ context, metrics });
    }
    return found;
  });

function compileMetric(
  name: string,
  raw: z.infer<typeof metricSchema>,
  context: ContextName,
  path: readonly (string | number)[],
  addIssue: AddOttlIssue,
): SumMetric {
  const attributes = raw.attributes ?? [];
  if (context === "metric" && attributes.length > 0) {
    const message = "metrics have no attributes; add up data points by theirs";
    addIssue({ code: "custom", message, path: [...path, "attributes"] });
  }
  const placeOf = (i: number) => [...path, "conditions", i];
  const groups = compileEach(raw.conditions, (text) => compileIn(context, [], [text]), placeOf, addIssue);
  return {
    name,
    description: raw.description ?? "",
    source: raw.source_attribute,
    conditions: groups.flatMap(({ conditions }) => conditions),
    attributes: attributes.map(({ key, default_value }) => ({ key, fallback: fallbackOf(default_value) })),
  };
}

/** As in the Collector, values that are empty, 0, or neither text nor number count as missing. */
function fallbackOf(value: string | number | boolean | null | undefined): Tree | undefined {
  if (!value || value === true) return undefined;
  if (typeof value === "string") return { stringValue: value };
  return Number.isSafeInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
}
