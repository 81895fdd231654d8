import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { caseInsensitiveEnum, deprecated, ignored, secret, section } from "../../../plugin.js";

const BY_INTAKE = "Datadog's OTLP intake decides it";
const NO_METADATA = "host metadata has no published intake; the Datadog Agent sends it";

const endpoint = (what: string, usual: string) =>
  z
    .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
    .meta({ description: `The base URL for ${what}. Default: ${usual}.` });

export const datadogSchema = z.strictObject({
  api: section(
    z.strictObject({
      key: secret()
        .refine((key) => key.trim() !== "", "expected an API key")
        .meta({ description: "The API key." }),
      site: z.string().min(1).default("datadoghq.com").meta({ description: "The site, such as datadoghq.eu." }),
      fail_on_invalid_key: ignored("an invalid key holds the queue until it is replaced"),
    }),
  ).meta({ description: "Site and API key." }),
  hostname: z
    .string()
    .default("")
    .meta({ description: "The host of records whose resource has no datadog.host.name or host.name." }),
  metrics: section(
    z.strictObject({
      endpoint: endpoint("metrics", "https://api.<site>"),
      delta_ttl: z
        .number()
        .int()
        .positive()
        .default(3600)
        .meta({ description: "After how many seconds a cumulative series is forgotten." }),
      resource_attributes_as_tags: z
        .boolean()
        .default(false)
        .meta({ description: "Make all resource attributes tags." }),
      instrumentation_scope_metadata_as_tags: z
        .boolean()
        .default(true)
        .meta({ description: "Make the scope's name the tag instrumentation_scope." }),
      instrumentation_library_metadata_as_tags: ignored("use instrumentation_scope_metadata_as_tags"),
      histograms: section(
        z.strictObject({
          mode: caseInsensitiveEnum(["distributions", "counters", "nobuckets"]).default("distributions").meta({
            description:
              "counters sends each bucket as <name>.bucket. The intake of distributions is not published: they are sent as count and sum.",
          }),
          send_aggregation_metrics: z
            .boolean()
            .default(false)
            .meta({ description: "Send <name>.count and <name>.sum beside buckets." }),
          send_count_sum_metrics: deprecated(z.boolean().optional(), "use send_aggregation_metrics"),
        }),
      )
        .prefault({})
        .meta({ description: "How histograms are sent." }),
      sums: section(
        z.strictObject({
          cumulative_monotonic_mode: caseInsensitiveEnum(["to_delta", "raw_value"])
            .default("to_delta")
            .meta({ description: "Send cumulative monotonic sums as counts of increases, or as gauges." }),
          initial_cumulative_monotonic_value: caseInsensitiveEnum(["auto", "drop", "keep"]).default("auto").meta({
            description: "What to do with the first value of a cumulative series. auto: keep it if it is new.",
          }),
        }),
      )
        .prefault({})
        .meta({ description: "How sums are sent." }),
      summaries: section(
        z.strictObject({
          mode: caseInsensitiveEnum(["gauges", "noquantiles"])
            .default("gauges")
            .meta({ description: "Send quantiles as gauges <name>.quantile, or leave them out." }),
        }),
      )
        .prefault({})
        .meta({ description: "How summaries are sent." }),
    }),
  )
    .prefault({})
    .meta({ description: "How metrics are sent." }),
  traces: section(
    z.strictObject({
      endpoint: endpoint("OTLP traces", "https://otlp.<site>").meta({
        description:
          "The base URL for OTLP traces, which are sent to /v1/traces. Default: https://otlp.<site>, also in place of https://trace.agent.<site>, whose protocol is not published.",
      }),
      compute_stats: z.boolean().default(true).meta({
        description: "Let Datadog compute trace metrics of the spans that it gets: hits, errors and durations.",
      }),
      span_name_as_resource_name: z
        .boolean()
        .default(false)
        .meta({ description: "Name operations by the span's name, not by its scope and kind." }),
      span_name_remappings: z
        .record(z.string(), z.string())
        .nullish()
        .meta({ description: "Other names of operations, by Datadog's name." }),
      ignore_resources: z
        .array(z.string())
        .nullish()
        .meta({ description: "Patterns of resources whose traces Datadog leaves out." }),
      compute_stats_by_span_kind: ignored(BY_INTAKE),
      compute_top_level_by_span_kind: ignored(BY_INTAKE),
      peer_service_aggregation: ignored(BY_INTAKE),
      peer_tags_aggregation: ignored(BY_INTAKE),
      peer_tags: ignored(BY_INTAKE),
      trace_buffer: ignored("the sending queue is the buffer"),
    }),
  )
    .prefault({})
    .meta({ description: "How traces are sent." }),
  logs: section(
    z.strictObject({
      endpoint: endpoint("logs", "https://http-intake.logs.<site>"),
      use_compression: z.boolean().default(true).meta({ description: "Compress requests with gzip." }),
      compression_level: ignored("gzip has one level here"),
      batch_wait: ignored("the sending queue has batch.flush_timeout"),
      dump_payloads: ignored("sluice tap shows what passes"),
    }),
  )
    .prefault({})
    .meta({ description: "How logs are sent." }),
  host_metadata: ignored(NO_METADATA),
  hostname_detection_timeout: ignored("the host name is that of the resource"),
  only_metadata: z
    .literal(false, "host metadata has no published intake; the Datadog Agent sends it")
    .optional()
    .meta({ description: "Only false: this exporter sends no host metadata." }),
  use_resource_metadata: ignored(NO_METADATA),
  send_metadata: ignored(NO_METADATA),
  orchestrator_explorer: ignored("it belongs to the Datadog Agent"),
  env: deprecated(z.string().optional(), "set the resource attribute deployment.environment.name"),
  service: deprecated(z.string().optional(), "set the resource attribute service.name"),
  version: deprecated(z.string().optional(), "set the resource attribute service.version"),
  tags: deprecated(z.array(z.string()).nullish(), "set resource attributes"),
  ...httpClientKeys(),
  compression: ignored("requests are compressed with gzip"),
});

export type DatadogConfig = z.infer<typeof datadogSchema>;
