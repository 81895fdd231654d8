import { z } from "zod";
import { compilePattern } from "#text/patterns";
import { caseInsensitiveEnum, ignored, section } from "../../../plugin.js";
import { awsSessionKeys, logGroupKeys } from "../aws-keys.js";

const pattern = () =>
  z.string().superRefine((text, context) => {
    try {
      compilePattern(text);
    } catch (error) {
      context.addIssue({ code: "custom", message: (error as Error).message });
    }
  });

const declaration = z.strictObject({
  dimensions: z
    .array(z.array(z.string()))
    .default([])
    .meta({ description: "Sets of dimensions. One that names a label which a metric lacks does not apply to it." }),
  metric_name_selectors: z.array(pattern()).default([]).meta({ description: "Patterns of names of metrics." }),
  label_matchers: z
    .array(
      z.strictObject({
        label_names: z.array(z.string()).min(1).meta({ description: "Labels whose values are joined." }),
        separator: z.string().default(";").meta({ description: "The text between the values." }),
        regex: pattern().meta({ description: "The pattern of the joined values." }),
      }),
    )
    .nullish()
    .meta({ description: "One of them must match, if there are any." }),
});

const descriptor = z.strictObject({
  metric_name: z.string().meta({ description: "The name of the metric." }),
  unit: z.string().default("").meta({ description: "Its unit in CloudWatch." }),
  overwrite: z.boolean().default(false).meta({ description: "Use this unit even if the metric has one." }),
});

export const awsEmfSchema = z.strictObject({
  namespace: z
    .string()
    .default("")
    .meta({ description: "The namespace. Default: service.namespace and service.name of the resource, or `default`." }),
  log_group_name: z.string().default("").meta({
    description:
      "The log group; {ClusterName}, {ServiceName} and others stand for resource attributes. Default: /metrics/<namespace>.",
  }),
  log_stream_name: z
    .string()
    .default("otel-stream")
    .meta({ description: "The log stream, with the same placeholders." }),
  dimension_rollup_option: z
    .enum(["ZeroAndSingleDimensionRollup", "SingleDimensionRollupOnly", "NoDimensionRollup"])
    .default("ZeroAndSingleDimensionRollup")
    .meta({ description: "Which sets of dimensions every metric has beside that of all its labels." }),
  metric_declarations: z
    .array(declaration)
    .nullish()
    .meta({ description: "Which metrics there are, with which dimensions. Default: all, with all labels." }),
  metric_descriptors: z.array(descriptor).nullish().meta({ description: "Units of metrics." }),
  resource_to_telemetry_conversion: section(
    z.strictObject({
      enabled: z.boolean().default(false).meta({ description: "Make resource attributes labels." }),
      exclude_service_attributes: z.boolean().default(false).meta({ description: "Leave out service.* attributes." }),
    }),
  )
    .prefault({})
    .meta({ description: "Whether resource attributes are labels." }),
  retain_initial_value_of_delta_metric: z
    .boolean()
    .default(false)
    .meta({ description: "Send the first value of a cumulative series, which counts from an unknown time." }),
  output_destination: caseInsensitiveEnum(["cloudwatch"])
    .default("cloudwatch")
    .meta({ description: "Only cloudwatch; to print, use the exporter debug." }),
  parse_json_encoded_attr_values: ignored("strings are not parsed"),
  eks_fargate_container_insights_enabled: ignored("it belongs to the receiver awscontainerinsight"),
  detailed_metrics: ignored("quantiles of summaries are not sent"),
  disable_metric_extraction: ignored("use the exporter awscloudwatchlogs"),
  version: ignored("documents have the published format, with _aws"),
  ...logGroupKeys(),
  ...awsSessionKeys(),
});

export type AwsEmfConfig = z.infer<typeof awsEmfSchema>;
