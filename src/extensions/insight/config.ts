import { z } from "zod";
import { byteSize, section } from "../../plugin.js";

const MIB = 1024 * 1024;

const price = z.strictObject({
  per_gb: z.number().min(0).default(0).meta({ description: "For 1,000,000,000 bytes of OTLP." }),
  per_million_records: z
    .number()
    .min(0)
    .default(0)
    .meta({ description: "For 1,000,000 log records, spans or data points." }),
  per_thousand_series: z
    .number()
    .min(0)
    .default(0)
    .meta({ description: "For 1,000 series of metrics, per month of 30 days." }),
});

export const insightSchema = z.strictObject({
  places: z.array(z.string().min(1)).min(1).default(["exporters"]).meta({
    description:
      "Where traffic is read: exporters, receivers, or the names of components and pipelines, as in sluice tap.",
  }),
  sampling_ratio: z.number().gt(0).max(1).default(0.05).meta({
    description: "The share of batches that are read. 1 reads everything, and takes time from the pipelines.",
  }),
  full_rate: z
    .number()
    .min(0)
    .default(1000)
    .meta({ description: "Up to this many records per second, all batches are read." }),
  max_memory: byteSize()
    .default(32 * MIB)
    .refine((bytes) => bytes >= MIB && bytes <= 1024 * MIB, { error: "expected a size from 1MiB to 1GiB" })
    .meta({ description: "The limit for all tables together. What does not fit is counted as not listed." }),
  price: z
    .record(z.string(), section(price))
    .default({})
    .meta({ description: "Prices by exporter, in any currency. With them, answers show money per day." }),
  metrics: section(
    z.strictObject({
      top: z.number().int().min(0).max(100).default(10).meta({
        description: "How many services, metrics, spans and patterns the agent's own metrics show; 0 for none.",
      }),
    }),
  )
    .prefault({})
    .meta({ description: "Metrics of the agent itself." }),
});

export type InsightConfig = z.infer<typeof insightSchema>;
