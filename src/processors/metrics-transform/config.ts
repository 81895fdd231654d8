import { z } from "zod";
import { AGGREGATIONS, type Aggregation } from "#ottl";
import { compilePattern, type Pattern } from "#text/patterns";

/** Selects metrics, and data points within them. */
export interface MetricFilter {
  readonly name: string;
  /** Undefined if `name` must match exactly. */
  readonly pattern: Pattern | undefined;
  /** Conditions on attributes of data points. A missing attribute counts as an empty text. */
  readonly labels: ReadonlyMap<string, (value: string) => boolean>;
}

export interface MetricOperation {
  readonly action: (typeof OPERATIONS)[number];
  readonly label: string;
  readonly newLabel: string;
  readonly newValue: string;
  readonly labelValue: string;
  readonly labelSet: ReadonlySet<string>;
  readonly aggregatedValues: ReadonlySet<string>;
  readonly aggregation: Aggregation;
  readonly newValues: ReadonlyMap<string, string>;
  readonly scale: number;
}

export interface MetricTransform {
  readonly filter: MetricFilter;
  readonly action: "insert" | "update" | "combine" | "group";
  readonly newName: string;
  readonly groupLabels: Readonly<Record<string, string>>;
  readonly aggregation: Aggregation;
  readonly submatchCase: "lower" | "upper" | "";
  readonly operations: readonly MetricOperation[];
}

const OPERATIONS = [
  "add_label",
  "update_label",
  "delete_label_value",
  "toggle_scalar_data_type",
  "experimental_scale_value",
  "aggregate_labels",
  "aggregate_label_values",
] as const;

const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const aggregation = () =>
  z.enum(AGGREGATIONS).nullish().meta({ description: "How points that are merged are aggregated." });

const operationSchema = z
  .strictObject({
    action: z.enum(OPERATIONS).meta({ description: "The operation." }),
    label: z.string().default("").meta({ description: "The attribute to change." }),
    new_label: z
      .string()
      .default("")
      .meta({ description: "The attribute's new name, or the name of the added attribute." }),
    new_value: scalar
      .default("")
      .meta({ description: "The value to add, or the value that replaces aggregated values." }),
    label_value: scalar.default("").meta({ description: "The value whose points are deleted." }),
    label_set: z
      .array(z.string())
      .nullish()
      .meta({ description: "The attributes to keep when others are aggregated away." }),
    aggregated_values: z.array(scalar).nullish().meta({ description: "The values that are aggregated." }),
    aggregation_type: aggregation(),
    value_actions: z
      .array(
        z.strictObject({
          value: scalar.meta({ description: "The value to rename." }),
          new_value: scalar.meta({ description: "The new value." }),
        }),
      )
      .nullish()
      .meta({ description: "Values to rename." }),
    experimental_scale: z.number().default(0).meta({ description: "The factor that values are multiplied by." }),
  })
  .superRefine((raw, zod) => {
    const need = (key: "label" | "new_label" | "new_value" | "experimental_scale") => {
      if (raw[key]) return;
      zod.addIssue({ code: "custom", message: `${raw.action} needs ${key}`, path: [] });
    };
    if (raw.action === "update_label") need("label");
    if (raw.action === "add_label") need("new_label");
    if (raw.action === "add_label") need("new_value");
    if (raw.action === "experimental_scale_value") need("experimental_scale");
  })
  .transform(
    (raw): MetricOperation => ({
      action: raw.action,
      label: raw.label,
      newLabel: raw.new_label,
      newValue: raw.new_value,
      labelValue: raw.label_value,
      labelSet: new Set(raw.label_set ?? []),
      aggregatedValues: new Set(raw.aggregated_values ?? []),
      aggregation: raw.aggregation_type ?? "sum",
      newValues: new Map((raw.value_actions ?? []).map(({ value, new_value }) => [value, new_value])),
      scale: raw.experimental_scale,
    }),
  );

const transformSchema = z
  .strictObject({
    include: z.string().min(1).meta({ description: "The name of the metric, or a pattern." }),
    match_type: z.enum(["strict", "regexp"]).nullish().meta({ description: "Whether the name is exact or a pattern." }),
    experimental_match_labels: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: "Required attribute values of points, as texts or patterns." }),
    action: z.enum(["insert", "update", "combine", "group"]).meta({ description: "What to do with matching metrics." }),
    new_name: z
      .string()
      .default("")
      .meta({ description: "The name of the resulting metric; $1 and the like are groups of the pattern." }),
    group_resource_labels: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: "Resource attributes for grouped metrics." }),
    aggregation_type: aggregation(),
    submatch_case: z
      .enum(["lower", "upper", ""])
      .nullish()
      .meta({ description: "Whether matched groups are converted to upper or lower case." }),
    operations: z
      .array(operationSchema)
      .nullish()
      .meta({ description: "Operations on the resulting metric, one after the other." }),
  })
  .transform((raw, zod): MetricTransform => {
    const issue = (message: string, key: string) => zod.addIssue({ code: "custom", message, path: [key] });
    const { action } = raw;
    if ((action === "insert" || action === "combine") && raw.new_name === "")
      issue(`${action} needs new_name`, "action");
    if (action === "combine" && !raw.aggregation_type) issue("combine needs aggregation_type", "action");
    if (action === "group" && !raw.group_resource_labels) issue("group needs group_resource_labels", "action");
    const compile = (text: string, key: string): Pattern | undefined => {
      if (raw.match_type !== "regexp") return undefined;
      try {
        return compilePattern(text);
      } catch (error) {
        issue((error as Error).message, key);
        return undefined;
      }
    };
    const labels = Object.entries(raw.experimental_match_labels ?? {}).map(([name, wanted]) => {
      const pattern = compile(wanted, "experimental_match_labels");
      return [
        name,
        pattern === undefined ? (value: string) => value === wanted : (value: string) => pattern.test(value),
      ] as const;
    });
    return {
      filter: { name: raw.include, pattern: compile(raw.include, "include"), labels: new Map(labels) },
      action,
      newName: raw.new_name,
      groupLabels: raw.group_resource_labels ?? {},
      aggregation: raw.aggregation_type ?? "sum",
      submatchCase: raw.submatch_case ?? "",
      operations: raw.operations ?? [],
    };
  });

export const metricsTransformSchema = z
  .strictObject({
    transforms: z
      .array(transformSchema)
      .nullish()
      .meta({ description: "The transforms, applied one after the other." }),
  })
  .transform(({ transforms }): readonly MetricTransform[] => transforms ?? []);
