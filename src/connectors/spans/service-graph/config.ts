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
        "Attributes of the resource or span of either side, which points have with client_ or server_ in front.",
    }),
    store: section(
      z.strictObject({
        ttl: duration().default(2000).meta({ description: "How long a span waits for the one on the other side." }),
        max_items: z.number().int().min(1).default(1000).meta({ description: "How many wait at most." }),
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
      .meta({ description: "Makes exponential histograms with so many buckets at most; 0: explicit ones." }),
    virtual_node_peer_attributes: names().meta({
      description:
        "Attributes that name a server without spans, the best first; an empty list: such servers are left out.",
    }),
    virtual_node_extra_label: z
      .boolean()
      .default(false)
      .meta({ description: "Points say in virtual_node which side has sent no spans." }),
    database_name_attributes: names().meta({ description: "Attributes that name a database, the best first." }),
    metrics_flush_interval: duration()
      .nullish()
      .meta({ description: "How often the metrics are handed on; 0: after every batch; 60s if it is left out." }),
    metrics_timestamp_offset: duration().default(0).meta({ description: "Points are dated back by so much." }),
    max_series: z
      .number()
      .int()
      .min(1)
      .default(100_000)
      .meta({ description: "Series that are kept; what would need more is counted in a series for the rest." }),
    durable: z
      .boolean()
      .default(true)
      .meta({ description: "Keep spans in a journal until what was counted of them is handed on." }),
    metrics_exporter: ignored("metrics go to the pipelines that have this connector as a receiver"),
    cache_loop: ignored("what has expired goes with every flush"),
    store_expiration_loop: ignored("what waits is looked at with every batch and flush"),
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
