import { z } from "zod";
import { ignored, section, unsupported } from "../../../plugin.js";

const POOL = "requests go over HTTP/1.1, with connections as needed";

const client = (usual: string) => ({
  endpoint: z
    .string()
    .default("")
    .meta({ description: `Host and port of the API, or its URL. Default: ${usual}.` }),
  use_insecure: z.boolean().default(false).meta({ description: "Use http for an endpoint without a scheme." }),
  grpc_pool_size: ignored(POOL),
  compression: ignored("requests are compressed with gzip"),
  universe_domain: unsupported("write endpoint"),
});

const filters = z
  .array(
    z.strictObject({
      prefix: z.string().default("").meta({ description: "The beginning of the attribute's name." }),
      regex: unsupported("use prefix, or the processor transform"),
    }),
  )
  .nullish();

/** The keys that `googlecloud` and `googlemanagedprometheus` share. */
export const googleCommonKeys = {
  project: z.string().default("").meta({ description: "The project. Default: that of the credentials." }),
  user_agent: z
    .string()
    .default("sluice")
    .meta({ description: "The User-Agent of requests; {{version}} is left out." }),
  destination_project_quota: z
    .boolean()
    .default(false)
    .meta({ description: "Charge requests to the quota of the project they go to." }),
  authenticator: unsupported("the credentials are Google's default ones"),
  impersonate: unsupported("give the agent's own account the role, or credentials of the other account"),
};

export const googleMetricKeys = {
  ...client("monitoring.googleapis.com"),
  compression: ignored("requests are compressed with gzip"),
  resource_filters: filters.meta({
    description: "Resource attributes that become labels, by the beginning of their names.",
  }),
  skip_create_descriptor: ignored("descriptors are made by the first point"),
  create_metric_descriptor_buffer_size: ignored("descriptors are made by the first point"),
  create_service_timeseries: ignored("it is only for services of Google"),
  cumulative_normalization: ignored("points without a start always get one"),
  sum_of_squared_deviation: ignored("it is not sent"),
  experimental_wal_config: ignored("the sending queue is durable"),
};

export const googleCloudSchema = z.strictObject({
  ...googleCommonKeys,
  metric: section(
    z.strictObject({
      ...googleMetricKeys,
      prefix: z.string().default("workload.googleapis.com").meta({ description: "The beginning of metric types." }),
      known_domains: z
        .array(z.string())
        .default(["googleapis.com", "kubernetes.io", "istio.io", "knative.dev"])
        .meta({ description: "Metrics whose names contain one of these domains get no prefix." }),
      service_resource_labels: z
        .boolean()
        .default(true)
        .meta({ description: "Make service.name, service.namespace and service.instance.id labels." }),
      instrumentation_library_labels: z
        .boolean()
        .default(true)
        .meta({ description: "Make the scope's name the label instrumentation_source." }),
    }),
  )
    .prefault({})
    .meta({ description: "Metrics, in Cloud Monitoring." }),
  trace: section(
    z.strictObject({
      ...client("cloudtrace.googleapis.com"),
      attribute_mappings: z
        .array(
          z.strictObject({
            key: z.string().meta({ description: "The attribute." }),
            replacement: z.string().meta({ description: "Its name in Cloud Trace." }),
          }),
        )
        .nullish()
        .meta({ description: "Other names of attributes." }),
    }),
  )
    .prefault({})
    .meta({ description: "Spans, in Cloud Trace." }),
  log: section(
    z.strictObject({
      ...client("logging.googleapis.com"),
      default_log_name: z
        .string()
        .default("")
        .meta({ description: "The log of records without the attribute gcp.log_name. Default: opentelemetry." }),
      resource_filters: filters.meta({ description: "Resource attributes that become labels." }),
      service_resource_labels: z
        .boolean()
        .default(true)
        .meta({ description: "Make service.name, service.namespace and service.instance.id labels." }),
      error_reporting_type: z.boolean().default(false).meta({ description: "Mark errors for Error Reporting." }),
    }),
  )
    .prefault({})
    .meta({ description: "Logs, in Cloud Logging." }),
});

export type GoogleCloudConfig = z.infer<typeof googleCloudSchema>;
