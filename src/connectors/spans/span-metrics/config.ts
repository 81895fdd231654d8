import { z } from "zod";
import { duration, ignored, section, unsupported } from "../../../plugin.js";
import { type DurationsKind, explicitDurations, exponentialDurations } from "../durations.js";

/** An attribute by which spans are grouped. */
export interface Dimension {
  readonly name: string;
  /** The value for spans if neither the span nor its resource has the attribute; undefined leaves the attribute out. */
  readonly fallback: string | undefined;
}

export interface SpanMetricsConfig {
  /** Dimensions of all metrics, followed by additional ones of each metric. */
  readonly dimensions: readonly Dimension[];
  readonly callsDimensions: readonly Dimension[];
  readonly durationDimensions: readonly Dimension[];
  /** Undefined if events are not counted. */
  readonly eventDimensions: readonly Dimension[] | undefined;
  readonly excluded: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
  /** Attributes that distinguish resources; empty for all attributes. */
  readonly resourceKeys: ReadonlySet<string>;
  readonly isDelta: boolean;
  readonly flushIntervalMs: number;
  /** 0 for never. */
  readonly resourceExpirationMs: number;
  readonly seriesExpirationMs: number;
  readonly maxSeriesPerResource: number;
  readonly maxSeries: number;
  /** 0 for none. */
  readonly maxExemplars: number;
  readonly callsName: string;
  readonly eventsName: string;
  readonly durationName: string;
  readonly unit: "ms" | "s";
  /** Undefined if there is no histogram. */
  readonly durations: DurationsKind | undefined;
  /** The key of the attribute that holds the span's name. */
  readonly nameAttribute: string;
  readonly isDurable: boolean;
}

const DEFAULT_BUCKETS_MS = [2, 4, 6, 8, 10, 50, 100, 200, 400, 800, 1000, 1400, 2000, 5000, 10_000, 15_000];
const TEMPORALITIES = ["AGGREGATION_TEMPORALITY_CUMULATIVE", "AGGREGATION_TEMPORALITY_DELTA", "CUMULATIVE", "DELTA"];
const OWN_DIMENSIONS = ["service.name", "span.name", "span.kind", "status.code", "collector.instance.id"];

const dimension = z.strictObject({
  name: z.string().min(1).meta({ description: "The attribute, of the span or else of its resource." }),
  default: z
    .union([z.string(), z.number(), z.boolean()])
    .nullish()
    .meta({ description: "The value for spans without the attribute. Without a default, the attribute is left out." }),
  glob: unsupported("name each attribute"),
});
const dimensions = (what: string) => z.array(dimension).nullish().meta({ description: what });

const histogram = z.strictObject({
  disable: z.boolean().default(false).meta({ description: "Make no histogram of durations." }),
  unit: z.enum(["ms", "s"]).default("ms").meta({ description: "The unit of durations." }),
  explicit: z
    .strictObject({
      buckets: z.array(duration()).nullish().meta({ description: "Upper bounds of the buckets, as durations." }),
    })
    .nullish()
    .meta({ description: "A histogram with fixed buckets, which is the default." }),
  exponential: z
    .strictObject({
      max_size: z.number().int().min(0).nullish().meta({ description: "Maximum number of buckets. Default: 160." }),
    })
    .nullish()
    .meta({ description: "An exponential histogram." }),
  dimensions: dimensions("Additional dimensions of durations."),
});

const flushInterval = (ms: number) =>
  duration()
    .default(ms)
    .refine((given) => given > 0, "expected more than 0")
    .meta({ description: "How often the metrics are sent." });

const sharedKeys = {
  aggregation_temporality: z
    .string()
    .default("AGGREGATION_TEMPORALITY_CUMULATIVE")
    .refine(
      (text) => text === "" || TEMPORALITIES.includes(text.toUpperCase()),
      `expected ${TEMPORALITIES.join(" or ")}`,
    )
    .meta({ description: "Whether points are cumulative or deltas." }),
  dimensions: dimensions("Attributes that become dimensions of all metrics, in addition to the built-in ones."),
  dimensions_cache_size: ignored("max_series limits what is kept"),
  max_series: z.number().int().min(1).default(100_000).meta({
    description:
      "Maximum number of series of all resources together. Spans beyond it are counted in one overflow series.",
  }),
  durable: z
    .boolean()
    .default(true)
    .meta({ description: "Keep spans in a journal until the metrics that include them have been sent." }),
};

export const spanMetricsSchema = z
  .strictObject({
    ...sharedKeys,
    metrics_flush_interval: flushInterval(60_000),
    calls_dimensions: dimensions("Additional dimensions of the number of calls."),
    exclude_dimensions: z.array(z.string()).nullish().meta({ description: "Built-in dimensions to leave out." }),
    histogram: section(histogram).prefault({}).meta({ description: "The histogram of durations." }),
    exemplars: section(
      z.strictObject({
        enabled: z.boolean().default(false).meta({ description: "Whether points get spans as exemplars." }),
        max_per_data_point: z
          .number()
          .int()
          .min(0)
          .nullish()
          .meta({ description: "Maximum number of exemplars per point. Default: 5." }),
      }),
    )
      .prefault({})
      .meta({ description: "Exemplars: spans that are attached to points as examples." }),
    events: section(
      z.strictObject({
        enabled: z.boolean().default(false).meta({ description: "Whether events of spans are counted." }),
        dimensions: dimensions("Attributes of the event, span or resource that become dimensions of the event count."),
      }),
    )
      .prefault({})
      .meta({ description: "A count of the events of spans." }),
    namespace: z.string().default("traces.span.metrics").meta({ description: "Prefix of the metrics' names." }),
    metrics_expiration: duration()
      .default(0)
      .meta({ description: "A resource without new spans for this long is forgotten; 0: never." }),
    series_expiration: duration()
      .default(0)
      .meta({ description: "A series without new spans for this long is forgotten; 0: never." }),
    resource_metrics_key_attributes: z
      .array(z.string())
      .nullish()
      .meta({ description: "Attributes that distinguish resources. Default: all of them." }),
    include_instrumentation_scope: z
      .array(z.string())
      .nullish()
      .meta({ description: "Names of scopes that become dimensions of their spans." }),
    aggregation_cardinality_limit: z.number().int().min(0).default(0).meta({
      description:
        "Maximum number of series per resource and metric; spans beyond it are counted in one overflow series. 0: no limit.",
    }),
    resource_metrics_cache_size: ignored("resources are never forgotten early; max_series limits what is kept"),
    metric_timestamp_cache_size: ignored("every series keeps the time of its last point"),
    add_resource_attributes: ignored("metrics always have the attributes of their resource"),
    enable_metrics_sampling_method: ignored("every span counts once"),
  })
  .transform((raw, zod): SpanMetricsConfig => {
    const issue = (message: string, path: (string | number)[]) => zod.addIssue({ code: "custom", message, path });
    const common = namesOf(raw.dimensions, ["dimensions"], [...OWN_DIMENSIONS], issue);
    const { explicit, exponential, unit } = raw.histogram;
    if (isWritten(explicit) && isWritten(exponential))
      issue("expected explicit or exponential, not both", ["histogram"]);
    const taken = [...OWN_DIMENSIONS, ...common.map(({ name }) => name)];
    if (raw.events.enabled && !raw.events.dimensions?.length) issue("expected a dimension of events", ["events"]);
    const prefix = raw.namespace === "" ? "" : `${raw.namespace}.`;
    const eventDimensions = namesOf(raw.events.dimensions, ["events", "dimensions"], [...taken], issue);
    return {
      dimensions: common,
      callsDimensions: namesOf(raw.calls_dimensions, ["calls_dimensions"], [...taken], issue),
      durationDimensions: namesOf(raw.histogram.dimensions, ["histogram", "dimensions"], [...taken], issue),
      eventDimensions: raw.events.enabled ? eventDimensions : undefined,
      excluded: new Set(raw.exclude_dimensions ?? []),
      scopes: new Set(raw.include_instrumentation_scope ?? []),
      resourceKeys: new Set(raw.resource_metrics_key_attributes ?? []),
      isDelta: isDelta(raw.aggregation_temporality),
      flushIntervalMs: raw.metrics_flush_interval,
      resourceExpirationMs: raw.metrics_expiration,
      seriesExpirationMs: raw.series_expiration,
      maxSeriesPerResource: raw.aggregation_cardinality_limit || Number.POSITIVE_INFINITY,
      maxSeries: raw.max_series,
      maxExemplars: raw.exemplars.enabled ? (raw.exemplars.max_per_data_point ?? 5) : 0,
      callsName: `${prefix}calls`,
      eventsName: `${prefix}events`,
      durationName: `${prefix}duration`,
      unit,
      durations: raw.histogram.disable ? undefined : durationsKind(explicit?.buckets, exponential, unit),
      nameAttribute: "span.name",
      isDurable: raw.durable,
    };
  });

/** The keys of the processor of the same name, which the Collector has removed. */
export const spanMetricsProcessorSchema = z
  .strictObject({
    ...sharedKeys,
    metrics_exporter: z.string().min(1).meta({ description: "The exporter that gets the metrics." }),
    latency_histogram_buckets: z
      .array(duration())
      .nullish()
      .meta({ description: "Upper bounds of the histogram's buckets, as durations." }),
    namespace: z.string().default("").meta({ description: "Prefix of the metrics' names." }),
    metrics_flush_interval: flushInterval(15_000),
    resource_attributes: ignored("metrics always have the attributes of their resource"),
    resource_attributes_cache_size: ignored("max_series limits what is kept"),
    skip_sanitize_label: ignored("names are translated by the exporters to Prometheus"),
    inherit_instrumentation_library_name: ignored("the scope of the metrics is this processor"),
  })
  .transform((raw, zod): SpanMetricsConfig & { readonly exporter: string } => {
    const issue = (message: string, path: (string | number)[]) => zod.addIssue({ code: "custom", message, path });
    const own = ["service.name", "operation", "span.kind", "status.code"];
    const prefix = raw.namespace === "" ? "" : `${raw.namespace}.`;
    return {
      exporter: raw.metrics_exporter,
      dimensions: namesOf(raw.dimensions, ["dimensions"], own, issue),
      callsDimensions: [],
      durationDimensions: [],
      eventDimensions: undefined,
      excluded: new Set(["collector.instance.id"]),
      scopes: new Set(),
      resourceKeys: new Set(),
      isDelta: isDelta(raw.aggregation_temporality),
      flushIntervalMs: raw.metrics_flush_interval,
      resourceExpirationMs: 0,
      seriesExpirationMs: 0,
      maxSeriesPerResource: Number.POSITIVE_INFINITY,
      maxSeries: raw.max_series,
      maxExemplars: 5,
      callsName: `${prefix}calls`,
      eventsName: "",
      durationName: `${prefix}latency`,
      unit: "ms",
      durations: durationsKind(raw.latency_histogram_buckets, undefined, "ms"),
      nameAttribute: "operation",
      isDurable: raw.durable,
    };
  });

type RawDimensions = z.infer<ReturnType<typeof dimensions>>;

/** Reports a problem if a name is used twice, or by a built-in dimension. */
function namesOf(
  raw: RawDimensions,
  path: readonly string[],
  taken: string[],
  issue: (message: string, path: (string | number)[]) => void,
): Dimension[] {
  return (raw ?? []).map(({ name, default: fallback }, i) => {
    if (taken.includes(name)) issue(`there is a dimension of that name already`, [...path, i, "name"]);
    taken.push(name);
    return { name, fallback: isWritten(fallback) ? String(fallback) : undefined };
  });
}

function durationsKind(
  buckets: readonly number[] | null | undefined,
  exponential: { readonly max_size?: number | null | undefined } | null | undefined,
  unit: "ms" | "s",
): DurationsKind {
  // At least two buckets, because no scale has a bucket for values both below and above 1.
  if (isWritten(exponential)) return exponentialDurations(Math.max(2, exponential.max_size || 160));
  const divider = unit === "s" ? 1000 : 1;
  const bounds = (buckets ?? DEFAULT_BUCKETS_MS).map((ms) => ms / divider).sort((a, b) => a - b);
  return explicitDurations([...new Set(bounds)]);
}

function isDelta(temporality: string): boolean {
  return temporality.toUpperCase().endsWith("DELTA");
}

function isWritten<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
