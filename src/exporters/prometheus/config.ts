import { z } from "zod";
import { authReference } from "#contract/schema";
import { labelName, nameRules, TRANSLATION_STRATEGIES } from "#metrics";
import { httpHeaders, listenEndpoint, tlsServer } from "#net";
import { caseInsensitiveEnum, deprecated, duration, ignored, section, unsupported } from "../../plugin.js";
import type { Label } from "./labels.js";
import type { OwnerSettings } from "./owners.js";

const BUFFERS = "Node.js sizes its own socket buffers";
const NO_BODIES = "requests have no bodies here";

/** Keys that both Prometheus exporters have. */
export function translationKeys() {
  return {
    namespace: z
      .string()
      .default("")
      .meta({ description: "Prefix for every metric's name, followed by an underscore." }),
    resource_to_telemetry_conversion: section(
      z.strictObject({
        enabled: z.boolean().default(false).meta({ description: "Turn all resource attributes into labels." }),
        exclude_service_attributes: z.boolean().default(false).meta({
          description:
            "Leave out service.name, service.namespace and service.instance.id, which become job and instance.",
        }),
      }),
    )
      .optional()
      .meta({ description: "Resource attributes as labels." }),
    add_metric_suffixes: z
      .boolean()
      .default(true)
      .meta({ description: "Append units and _total or _ratio to names. translation_strategy overrides it." }),
    translation_strategy: z
      .enum(TRANSLATION_STRATEGIES)
      .optional()
      .meta({ description: "How metric names are translated to Prometheus names." }),
  };
}

export const prometheusSchema = z.strictObject({
  endpoint: listenEndpoint().meta({ description: "Where to listen for scrapes; /metrics is the path." }),
  transport: caseInsensitiveEnum(["tcp", "tcp4", "tcp6", "unix"])
    .default("tcp")
    .meta({ description: "The type of the address; with unix it is the path of a socket." }),
  ...translationKeys(),
  const_labels: labels().meta({ description: "Labels added to every series that has no label of that name." }),
  send_timestamps: z.boolean().default(false).meta({ description: "Show the time of each value." }),
  metric_expiration: duration()
    .default(300_000)
    .meta({ description: "A series without new points for this long is no longer shown; 0: forever." }),
  enable_open_metrics: z
    .boolean()
    .default(false)
    .meta({ description: "Answer in OpenMetrics, with exemplars, if the client accepts it." }),
  without_scope_info: z.boolean().default(false).meta({ description: "Leave out the labels otel_scope_*." }),
  max_series: z
    .number()
    .int()
    .positive()
    .default(1_000_000)
    .meta({ description: "Maximum number of series; points of further series are rejected, with a warning." }),
  metric_relabeling: deprecated(
    z.unknown().optional(),
    "it never had an effect in the Collector; use the processor transform or filter",
  ),
  ...readOnlyHttpServerKeys(),
});

export type PrometheusConfig = z.infer<typeof prometheusSchema>;

/** A map of labels, by name. */
export function labels() {
  return z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .nullish()
    .transform((written): Label[] => toLabels(written ?? {}));
}

function toLabels(written: Readonly<Record<string, string>>): Label[] {
  return Object.entries(written).map(([name, value]): Label => [labelName(name, { allowUtf8: false }), value]);
}

type TranslationConfig = z.infer<z.ZodObject<ReturnType<typeof translationKeys>>>;

export function ownerSettings(
  config: TranslationConfig,
  withScope: boolean,
  constLabels: readonly Label[],
  targetConstLabels = constLabels,
): OwnerSettings {
  const { namespace, add_metric_suffixes: suffixes, translation_strategy: strategy } = config;
  const conversion = config.resource_to_telemetry_conversion;
  return {
    rules: nameRules(metricNamespace(namespace, strategy), suffixes, strategy),
    resourceToLabels: conversion?.enabled ?? false,
    excludeServiceAttributes: conversion?.exclude_service_attributes ?? false,
    withScope,
    constLabels,
    targetConstLabels,
  };
}

function metricNamespace(namespace: string, strategy: TranslationConfig["translation_strategy"]): string {
  const { allowUtf8 } = nameRules("", true, strategy);
  return allowUtf8 ? namespace : namespace.replace(/[^A-Za-z0-9_:]/gu, "_");
}

/** The Collector's keys for an HTTP server with read-only clients, without the address. */
function readOnlyHttpServerKeys() {
  return {
    tls: section(tlsServer())
      .optional()
      .meta({ description: "Serve https; with client_ca_file, only to clients with a valid certificate." }),
    auth: authReference("server")
      .nullish()
      .meta({ description: "Only answer clients that this extension authenticates; by default everyone." }),
    response_headers: httpHeaders().nullish().meta({ description: "Headers of every answer." }),
    read_timeout: duration()
      .default(60_000)
      .meta({ description: "How long a client may take to send a whole request." }),
    read_header_timeout: duration()
      .default(60_000)
      .meta({ description: "How long a client may take to send the request headers." }),
    write_timeout: duration().default(30_000).meta({ description: "How long a client may take to read its answer." }),
    idle_timeout: duration().default(60_000).meta({ description: "How long an idle connection is kept." }),
    keep_alives_enabled: z.boolean().default(true).meta({ description: "Keep connections open for the next request." }),
    cors: ignored("nothing is sent from browsers here"),
    max_request_body_size: ignored(NO_BODIES),
    compression_algorithms: ignored(NO_BODIES),
    include_metadata: ignored(NO_BODIES),
    read_buffer_size: ignored(BUFFERS),
    write_buffer_size: ignored(BUFFERS),
    middlewares: unsupported("middlewares are extensions of the Collector that are not supported"),
  };
}
