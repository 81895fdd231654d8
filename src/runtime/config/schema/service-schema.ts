import { z } from "zod";
import {
  authReference,
  byteSize,
  caseInsensitiveEnum,
  deprecated,
  duration,
  headers,
  ignored,
  lazySchema,
  lazySection,
  section,
} from "#contract/schema";
import { listenEndpoint, tlsServer } from "#net";

const otlpTarget = () =>
  z.strictObject({
    protocol: z.string().default("http/protobuf").meta({ description: "http/protobuf or http/json." }),
    endpoint: z.string().meta({ description: "A URL, or host:port." }),
    headers: headers().optional().meta({ description: "Headers of every request." }),
    insecure: z.boolean().optional().meta({ description: "Whether an endpoint without a scheme is http." }),
    timeout: z
      .union([z.number().nonnegative(), duration()])
      .optional()
      .meta({ description: "A bare number is milliseconds." }),
    compression: z.string().optional().meta({ description: "gzip or none." }),
    temporality_preference: ignored("sums and histograms are sent as totals since the start"),
    default_histogram_aggregation: ignored("histograms have fixed buckets"),
    tls: z.unknown().optional().meta({ description: "TLS settings, as in an exporter." }),
    auth: authReference("client").optional().meta({ description: "Authentication to the server." }),
  });

/** Target of the agent's own telemetry, as written under `otlp:`. */
export type OtlpTarget = z.infer<ReturnType<typeof otlpTarget>>;

const otlpExporter = () =>
  z
    .looseObject({
      otlp: section(otlpTarget()).optional().meta({ description: "A server that accepts OTLP over HTTP." }),
    })
    .meta({ description: "Where it is sent." });

const prometheusTarget = () =>
  z.looseObject({
    host: z.string().default("localhost").meta({ description: "The interface to listen on." }),
    port: z.number().int().min(0).max(65535).default(8888).meta({ description: "The port to listen on." }),
    tls: lazySection(tlsServer).optional().meta({ description: "Answer over https." }),
    auth: authReference("server")
      .optional()
      .meta({ description: "The extension that authenticates clients; without it, everyone has access." }),
    without_type_suffix: z.boolean().default(true).meta({
      description: "false adds units and _total to the names of the Collector's metrics, as without_units does.",
    }),
    without_units: z
      .boolean()
      .default(true)
      .meta({ description: "false adds units and _total to the names of the Collector's metrics." }),
  });

const reader = () =>
  z.strictObject({
    pull: section(
      z.looseObject({
        exporter: z
          .looseObject({
            prometheus: section(prometheusTarget()).optional().meta({ description: "An endpoint for Prometheus." }),
          })
          .meta({ description: "The endpoint that Prometheus scrapes." }),
      }),
    )
      .optional()
      .meta({ description: "Metrics that are pulled." }),
    periodic: section(
      z.looseObject({
        interval: z
          .number()
          .int()
          .positive()
          .default(60_000)
          .meta({ description: "Milliseconds, as in the Collector." }),
        timeout: z.number().int().positive().optional().meta({ description: "Milliseconds that one export may take." }),
        exporter: otlpExporter(),
      }),
    )
      .optional()
      .meta({ description: "Metrics that are pushed periodically." }),
  });

const logProcessor = () =>
  z.looseObject({
    batch: section(z.looseObject({ exporter: otlpExporter() }))
      .optional()
      .meta({ description: "Lines that are sent together." }),
    simple: section(z.looseObject({ exporter: otlpExporter() }))
      .optional()
      .meta({ description: "Lines that are sent one by one." }),
  });

/** One entry of service.telemetry.logs.processors. */
export type LogProcessorConfig = z.infer<ReturnType<typeof logProcessor>>;

/** Other names of levels that the Collector has. */
const LEVEL_SYNONYMS = { warning: "warn", dpanic: "fatal", panic: "fatal" } as const;

const logLevel = caseInsensitiveEnum([
  "debug",
  "info",
  "warn",
  "error",
  "fatal",
  "silent",
  "warning",
  "dpanic",
  "panic",
]).transform((level) =>
  level === "warning" || level === "dpanic" || level === "panic" ? LEVEL_SYNONYMS[level] : level,
);

/** More processes than any machine has use for. */
const MAX_WORKERS = 256;

/** The keys of `service:` except extensions and pipelines. */
export const serviceSchema = z.strictObject({
  telemetry: section(
    z.strictObject({
      logs: section(
        z.strictObject({
          level: logLevel.default("info").meta({ description: "The least severe lines that are logged." }),
          encoding: caseInsensitiveEnum(["console", "json"])
            .optional()
            .meta({ description: "Default: console on a terminal, else json." }),
          processors: z
            .array(lazySchema(logProcessor))
            .optional()
            .meta({ description: "Where the log is sent as OTLP." }),
          development: ignored("Sluice has no development mode"),
          disable_caller: ignored("Sluice's own logs carry no caller"),
          disable_stacktrace: ignored("Sluice's own logs carry stack traces only at debug level"),
          output_paths: ignored("Sluice logs to stderr"),
          error_output_paths: ignored("Sluice logs to stderr"),
          initial_fields: z
            .record(z.string(), z.unknown())
            .optional()
            .meta({ description: "Fields that are added to every line." }),
          sampling: ignored("Sluice's own logs are not sampled"),
        }),
      )
        .prefault({})
        .meta({ description: "The log of the agent itself." }),
      metrics: section(
        z.strictObject({
          level: caseInsensitiveEnum(["none", "basic", "normal", "detailed"]).default("normal").meta({
            description:
              "none turns the metrics off. detailed adds the attribute worker if there are several workers. The other levels are the same.",
          }),
          address: deprecated(
            listenEndpoint().optional(),
            "use readers: [{pull: {exporter: {prometheus: {host, port}}}}]",
          ),
          readers: z
            .array(lazySchema(reader))
            .optional()
            .meta({ description: "How metrics leave the agent. Default: for Prometheus, on port 8888." }),
          views: ignored("metric views are not supported"),
        }),
      )
        .prefault({})
        .meta({ description: "The metrics of the agent itself." }),
      resource: z.unknown().optional().meta({ description: "Resource attributes of the agent's own telemetry." }),
      traces: ignored("Sluice does not trace itself"),
    }),
  )
    .prefault({})
    .meta({ description: "The agent's own telemetry." }),
  strict_order: z
    .boolean()
    .default(false)
    .meta({ description: "Processors in the wrong order are errors instead of warnings." }),
  workers: z
    .union([z.int().min(1).max(MAX_WORKERS), z.literal("auto")], {
      error: `expected a number from 1 to ${MAX_WORKERS}, or auto`,
    })
    .default(1)
    .meta({
      description:
        "How many processes share the work and the ports. auto: one for each CPU that the agent may use. See docs/operate/workers.md.",
    }),
  allow: z.array(z.string()).default([]).meta({
    privileged: true,
    description:
      "Privileged keys that configs from afar may change, such as file.path or journald.*. See docs/components/extensions/opamp.md.",
  }),
  shutdown_timeout: duration().default(10_000).meta({
    description:
      "How long a stop may take to deliver data. After that, undelivered data is refused, so its senders keep it.",
  }),
  intake: section(
    z.strictObject({
      max_bytes: byteSize()
        .default(64 * 1024 * 1024)
        .meta({
          description: "Limit for bytes accepted and not yet answered; above it, clients get a retryable refusal.",
        }),
      max_record_values: z.int().min(0).default(10_000).meta({
        description:
          "How many values a record or resource may have: attributes, events, links, exemplars, buckets, and the items of lists and maps. Requests with more are refused permanently. 0: no limit.",
      }),
    }),
  )
    .prefault({})
    .meta({ description: "Limits for data inside the agent." }),
  max_record_size: byteSize()
    .default(4 * 1024 * 1024)
    .meta({
      description:
        "The maximum size of a record, or of a resource, scope or metric, after a change by processors, connectors, log operators or replays. An OTTL statement or operator that would exceed it fails. Other changes that exceed it are refused permanently.",
    }),
});

/** The keys of `intake:` in a pipeline. */
export const pipelineIntakeSchema = section(
  z.strictObject({
    durable: z.enum(["auto", "on", "off"]).default("auto").meta({
      description:
        "Store data on disk in a journal of the pipeline before answering. auto: if a processor holds deliveries back.",
    }),
  }),
);

/** The key `error_mode:` of a pipeline. */
export const pipelineErrorModeSchema = caseInsensitiveEnum(["propagate", "dead_letter"]).default("propagate").meta({
  description:
    "How errors of a processor are handled. propagate: the request is refused; dead_letter: the record, or the batch, is kept as a dead letter.",
});

export type ServiceSettings = z.infer<typeof serviceSchema>;

const ids = z.array(z.string()).optional();

/** All keys of `service:`, for displaying it. */
export const fullServiceSchema = serviceSchema.extend({
  extensions: ids,
  pipelines: z
    .record(
      z.string(),
      z.object({
        receivers: ids,
        processors: ids,
        exporters: ids,
        intake: pipelineIntakeSchema.optional(),
        error_mode: pipelineErrorModeSchema.optional(),
      }),
    )
    .optional(),
});
