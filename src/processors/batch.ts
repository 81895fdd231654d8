import { z } from "zod";
import { defineBuiltInProcessor } from "#contract/built-in";
import { duration, ignored, SIGNALS } from "../plugin.js";

const schema = z.strictObject({
  timeout: duration().default(200).meta({ description: "How long a record may wait for others. 0 sends at once." }),
  send_batch_size: z.number().int().nonnegative().optional().meta({
    description:
      "Number of records at which a batch is sent without waiting; 0 sends at once. Default 8192, or send_batch_max_size if less.",
  }),
  send_batch_max_size: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .meta({ description: "Larger batches are cut into pieces of at most this many records. 0 never cuts." }),
  metadata_keys: z.array(z.string()).default([]).meta({
    description: "Client metadata that separates batches: only records with equal values are batched together.",
  }),
  metadata_cardinality_limit: ignored("each combination costs a few bytes while its records wait to be sent"),
});

const DEFAULT_BATCH_SIZE = 8192;

type BatchConfig = z.infer<typeof schema> & { readonly send_batch_size: number };

/**
 * Requests that records be sent in larger requests. The processor itself holds nothing back: the runtime merges batches
 * when it sends them, behind the queue. There no client waits, and nothing acknowledged can be lost.
 */
export const batch = defineBuiltInProcessor<BatchConfig>({
  type: "batch",
  summary:
    "Sends records in larger requests, by number and by time. Batches are merged when the queue sends them, so clients do not wait.",
  signals: SIGNALS,
  takesSinglePoints: true,
  schema: schema
    .transform(withDefaultSize)
    .refine((c) => c.send_batch_max_size === 0 || c.send_batch_max_size >= c.send_batch_size, {
      path: ["send_batch_max_size"],
      message: "expected 0 or at least send_batch_size",
    }),
  batching: (config) => ({
    timeoutMs: config.timeout,
    minSize: config.send_batch_size,
    maxSize: config.send_batch_max_size,
    sizer: "items",
    metadataKeys: config.metadata_keys,
  }),
  create: () => (deliveries) => deliveries,
});

function withDefaultSize(config: z.infer<typeof schema>): BatchConfig {
  const max = config.send_batch_max_size > 0 ? config.send_batch_max_size : DEFAULT_BATCH_SIZE;
  return { ...config, send_batch_size: config.send_batch_size ?? Math.min(DEFAULT_BATCH_SIZE, max) };
}
