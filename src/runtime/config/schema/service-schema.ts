import { z } from "zod";
import {
  byteSize,
  caseInsensitiveEnum,
  deprecated,
  duration,
  headers,
  ignored,
  section,
} from "../../contract/schema/schema.js";
import { listenEndpoint } from "../../kit/net/endpoint.js";

const otlpTarget = z.strictObject({
  protocol: z.string().default("http/protobuf"),
  endpoint: z.string(),
  headers: headers().optional(),
  insecure: z.boolean().optional(),
  timeout: z
    .union([z.number().nonnegative(), duration()])
    .optional()
    .meta({ description: "A bare number is milliseconds." }),
  compression: z.string().optional(),
  temporality_preference: z.string().optional(),
  default_histogram_aggregation: ignored("histograms have fixed buckets"),
  tls: z.unknown().optional(),
});

/** Where the agent sends its own telemetry, as written under `otlp:`. */
export type OtlpTarget = z.infer<typeof otlpTarget>;

const prometheusTarget = z.looseObject({
  host: z.string().default("localhost"),
  port: z.number().int().min(0).max(65535).default(8888),
});

const reader = z.strictObject({
  pull: section(
    z.looseObject({ exporter: z.looseObject({ prometheus: section(prometheusTarget).optional() }) }),
  ).optional(),
  periodic: section(
    z.looseObject({
      interval: z.number().int().positive().default(60_000).meta({ description: "Milliseconds, as in the Collector." }),
      timeout: z.number().int().positive().optional(),
      exporter: z.looseObject({ otlp: section(otlpTarget).optional() }),
    }),
  ).optional(),
});

const logProcessor = z.looseObject({
  batch: section(z.looseObject({ exporter: z.looseObject({ otlp: section(otlpTarget).optional() }) })).optional(),
  simple: section(z.looseObject({ exporter: z.looseObject({ otlp: section(otlpTarget).optional() }) })).optional(),
});

/** One entry of service.telemetry.logs.processors. */
export type LogProcessorConfig = z.infer<typeof logProcessor>;

/** The Collector's levels; some of them are the same here. */
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

/** What stands under `service:` beside extensions and pipelines. */
export const serviceSchema = z.strictObject({
  telemetry: section(
    z.strictObject({
      logs: section(
        z.strictObject({
          level: logLevel.default("info"),
          encoding: caseInsensitiveEnum(["console", "json"])
            .optional()
            .meta({ description: "Default: console on a terminal, else json." }),
          processors: z.array(logProcessor).optional(),
          development: ignored("Sluice has no development mode"),
          disable_caller: ignored("Sluice's own logs carry no caller"),
          disable_stacktrace: ignored("Sluice's own logs carry stack traces only at debug level"),
          output_paths: ignored("Sluice logs to stderr"),
          error_output_paths: ignored("Sluice logs to stderr"),
          initial_fields: z.record(z.string(), z.unknown()).optional(),
          sampling: ignored("Sluice's own logs are not sampled"),
        }),
      ).prefault({}),
      metrics: section(
        z.strictObject({
          level: caseInsensitiveEnum(["none", "basic", "normal", "detailed"]).default("normal"),
          address: deprecated(
            listenEndpoint().optional(),
            "use readers: [{pull: {exporter: {prometheus: {host, port}}}}]",
          ),
          readers: z.array(reader).optional(),
          views: ignored("metric views are not supported"),
        }),
      ).prefault({}),
      resource: z.unknown().optional(),
      traces: ignored("Sluice does not trace itself"),
    }),
  ).prefault({}),
  strict_order: z
    .boolean()
    .default(false)
    .meta({ description: "Processors in the wrong order are errors instead of warnings." }),
  /** How long a drain may take before what is unsettled is refused. */
  shutdown_timeout: duration().default(10_000),
  intake: section(
    z.strictObject({
      max_bytes: byteSize()
        .default(64 * 1024 * 1024)
        .meta({
          description: "Bytes that may be taken and not yet answered; over it, clients are asked to come back.",
        }),
    }),
  ).prefault({}),
});

/** What stands under `intake:` of a pipeline. */
export const pipelineIntakeSchema = section(
  z.strictObject({
    durable: z.enum(["auto", "on", "off"]).default("auto").meta({
      description:
        "Keep what comes on disk before it is answered, in a journal of the pipeline. auto: if a processor holds deliveries back.",
    }),
  }),
);

/** `error_mode:` of a pipeline. */
export const pipelineErrorModeSchema = caseInsensitiveEnum(["propagate", "dead_letter"]).default("propagate").meta({
  description:
    "What becomes of data on which a processor throws. propagate: the request is refused; dead_letter: the record, or the batch, is kept as a dead letter.",
});

export type ServiceSettings = z.infer<typeof serviceSchema>;

/** The whole of `service:`, for showing it. */
export const fullServiceSchema = serviceSchema.extend({
  extensions: z.unknown().optional(),
  pipelines: z.unknown().optional(),
});
