import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { byteSize, ignored, secret, section } from "../../../plugin.js";

const MAX_SIZE = 838_860_800;
const LIVELINESS = "use the agent's health check and metrics instead";

const size = (by: number, what: string) =>
  byteSize()
    .refine((bytes) => bytes <= MAX_SIZE, `expected at most ${MAX_SIZE} bytes`)
    .default(by)
    .transform((bytes) => bytes || MAX_SIZE)
    .meta({ description: `${what}; 0 means 800 MiB.` });

const contentLength = (of: string) => size(2 * 1024 * 1024, `How long a request with ${of} may be before compression`);
const name = (by: string, description: string) => z.string().min(1).default(by).meta({ description });

export const splunkHecSchema = z
  .strictObject({
    endpoint: httpUrl().meta({
      description: "The URL of the HTTP Event Collector. Without a path it is that of /services/collector.",
    }),
    token: secret().default("").meta({ harmless: true, description: "The token of the HTTP Event Collector." }),
    source: z.string().default("").meta({ description: "The source of events that have none." }),
    sourcetype: z.string().default("").meta({ description: "The source type of events that have none." }),
    index: z.string().default("").meta({ description: "The index of events that have none." }),
    disable_compression: z.boolean().default(false).meta({ description: "Send requests without gzip." }),
    max_content_length_logs: contentLength("logs"),
    max_content_length_metrics: contentLength("metrics"),
    max_content_length_traces: contentLength("spans"),
    max_event_size: size(5 * 1024 * 1024, "How long an event may be; longer ones become dead letters"),
    log_data_enabled: z
      .boolean()
      .default(true)
      .meta({ description: "Send log records other than profiling data; false drops them." }),
    profiling_data_enabled: z
      .boolean()
      .default(true)
      .meta({ description: "Send log records of the scope otel.profiling; false drops them." }),
    splunk_app_name: z
      .string()
      .default("OpenTelemetry Collector Contrib")
      .meta({ description: "The name of the app that Splunk counts requests for." }),
    splunk_app_version: z.string().default("").meta({ description: "The version of that app." }),
    otel_attrs_to_hec_metadata: section(
      z.strictObject({
        source: name("com.splunk.source", "The attribute with the source."),
        sourcetype: name("com.splunk.sourcetype", "The attribute with the source type."),
        index: name("com.splunk.index", "The attribute with the index."),
        host: name("host.name", "The attribute with the host."),
      }),
    )
      .prefault({})
      .meta({ description: "Attributes that become metadata of an event." }),
    otel_to_hec_fields: section(
      z.strictObject({
        severity_text: name("otel.log.severity.text", "The field for the text of the severity."),
        severity_number: name("otel.log.severity.number", "The field for the number of the severity."),
        name: name("otel.log.name", "The field for the name of the event."),
      }),
    )
      .prefault({})
      .meta({ description: "Fields of an event for parts of a log record." }),
    export_raw: z
      .boolean()
      .default(false)
      .meta({ description: "Send the bodies of log records only, as lines, to an endpoint for raw data." }),
    use_multi_metric_format: z
      .boolean()
      .default(false)
      .meta({ description: "Send values with the same time and dimensions in one event." }),
    health_path: ignored("sends show whether the server works"),
    health_check_enabled: ignored("sends show whether the server works"),
    heartbeat: ignored(LIVELINESS),
    telemetry: ignored(LIVELINESS),
    max_connections: ignored("use max_conns_per_host"),
    ...httpClientKeys(),
    compression: ignored("use disable_compression"),
  })
  .superRefine(({ token, log_data_enabled, profiling_data_enabled }, context) => {
    if (token.trim() === "") context.addIssue({ code: "custom", path: ["token"], message: "expected a token" });
    if (!log_data_enabled && !profiling_data_enabled) {
      const message = "expected this or profiling_data_enabled to be true";
      context.addIssue({ code: "custom", path: ["log_data_enabled"], message });
    }
  });

export type SplunkHecConfig = z.infer<typeof splunkHecSchema>;
