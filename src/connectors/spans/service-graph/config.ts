import { z } from "zod";
import { duration, ignored, section } from "../../../plugin.js";
import { type DurationsKind, explicitDurations, exponentialDurations } from "../durations.js";

export interface ServiceGraphConfig {
  readonly dimensions: readonly string[];
  /** How long a span waits for the other side, and how many spans may wait. */
  readonly ttlMs: number;
  readonly maxWaiting: number;
  /** Attributes that name a server without spans, in order of preference; empty if such servers are not reported. */
  readonly peerAttributes: readonly string[];
  readonly hasVirtualNodeLabel: boolean;
  readonly databaseAttributes: readonly string[];
  readonly durations: DurationsKind;
  readonly flushIntervalMs: number;
  readonly timeOffsetMs: number;
  readonly maxSeries: number;
  readonly isDurable: boolean;
}

const DEFAULT_BUCKETS = [0.002, 0.004, 0.006, 0.008, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8, 1, 1.4, 2, 5, 10, 15];
const names = () => z.array(z.string()).nullish();

export const serviceGraphSchema = z
  .strictObject({
    dimensions: names().meta({
      description:
        "Attributes of the span or resource of either side to add to the metrics, prefixed with client_ or server_.",
    }),
    store: section(
      z.strictObject({
        ttl: duration().default(2000).meta({ description: "How long a span waits for the span of the other side." }),
        max_items: z.number().int().min(1).default(1000).meta({ description: "Maximum number of waiting spans." }),
      }),
    )
      .prefault({})
      .meta({ description: "Spans that wait for the other side." }),
    latency_histogram_buckets: z
      .array(duration())
      .nullish()
      .meta({ description: "Upper bounds of the histograms' buckets, as durations." }),
    exponential_histogram_max_size: z
      .number()
      .int()
      .min(0)
      .default(0)
      .meta({ description: "Maximum number of buckets of exponential histograms; 0 makes explicit histograms." }),
    virtual_node_peer_attributes: names().meta({
      description:
        "Attributes that name a server without spans, in order of preference. An empty list leaves out such servers.",
    }),
    virtual_node_extra_label: z
      .boolean()
      .default(false)
      .meta({ description: "Add the attribute virtual_node, which names the side without spans." }),
    database_name_attributes: names().meta({ description: "Attributes that name a database, in order of preference." }),
    metrics_flush_interval: duration()
      .nullish()
      .meta({ description: "How often the metrics are sent; 0: after every batch. Default: 60s." }),
    metrics_timestamp_offset: duration()
      .default(0)
      .meta({ description: "How far the times of data points are set back." }),
    max_series: z
      .number()
      .int()
      .min(1)
      .default(100_000)
      .meta({ description: "Maximum number of series. Requests beyond it are counted in one overflow series." }),
    durable: z
      .boolean()
      .default(true)
      .meta({ description: "Keep spans in a journal until the metrics that include them have been sent." }),
    metrics_exporter: ignored("metrics go to the pipelines that have this connector as a receiver"),
    cache_loop: ignored("expired series are removed with every flush"),
    store_expiration_loop: ignored("waiting spans are checked with every batch and flush"),
  })
  .transform((raw, zod): ServiceGraphConfig => {
    const { latency_histogram_buckets: buckets, exponential_histogram_max_size: maxSize } = raw;
    if (buckets && maxSize > 0) {
      const message = "expected latency_histogram_buckets or this, not both";
      zod.addIssue({ code: "custom", message, path: ["exponential_histogram_max_size"] });
    }
    const bounds = buckets ? [...new Set(buckets)].sort((a, b) => a - b).map((ms) => ms / 1000) : DEFAULT_BUCKETS;
    const databases = raw.database_name_attributes ?? [];
    return {
      dimensions: raw.dimensions ?? [],
      ttlMs: raw.store.ttl,
      maxWaiting: raw.store.max_items,
      peerAttributes: raw.virtual_node_peer_attributes ?? ["peer.service", "db.name", "db.system"],
      hasVirtualNodeLabel: raw.virtual_node_extra_label,
      databaseAttributes: databases.length === 0 ? ["db.name"] : databases,
      durations: maxSize > 0 ? exponentialDurations(Math.max(2, maxSize)) : explicitDurations(bounds),
      flushIntervalMs: raw.metrics_flush_interval ?? 60_000,
      timeOffsetMs: raw.metrics_timestamp_offset,
      maxSeries: raw.max_series,
      isDurable: raw.durable,
    };
  });
