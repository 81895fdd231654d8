import { z } from "zod";
import {
  Batcher,
  type BatcherSettings,
  type Clock,
  type Delivery,
  defineProcessor,
  duration,
  type Processor,
  Refusal,
  SIGNALS,
  statefulProcessor,
} from "../plugin.js";
import { ERROR_CODES } from "../runtime/kit.js";

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
  metadata_keys: z
    .array(z.string())
    .default([])
    .meta({ description: "Client metadata that keeps batches apart: only equal values are batched together." }),
  metadata_cardinality_limit: z.number().int().nonnegative().default(1000),
});

const DEFAULT_BATCH_SIZE = 8192;

type BatchConfig = z.infer<typeof schema> & { readonly send_batch_size: number };

/**
 * Makes larger batches out of small ones. The debt follows the data: nobody is told that a record is safe while it
 * waits here, so a crash loses nothing that was acknowledged.
 */
export const batch = defineProcessor<BatchConfig>({
  type: "batch",
  summary: "Collects records into larger batches, by number and by time.",
  signals: SIGNALS,
  schema: schema
    .transform(withDefaultSize)
    .refine((c) => c.send_batch_max_size === 0 || c.send_batch_max_size >= c.send_batch_size, {
      path: ["send_batch_max_size"],
      message: "expected 0 or at least send_batch_size",
    }),
  create: (config, { clock }) => batchProcessor(config, clock),
});

function withDefaultSize(config: z.infer<typeof schema>): BatchConfig {
  const max = config.send_batch_max_size > 0 ? config.send_batch_max_size : DEFAULT_BATCH_SIZE;
  return { ...config, send_batch_size: config.send_batch_size ?? Math.min(DEFAULT_BATCH_SIZE, max) };
}

function batchProcessor(config: BatchConfig, clock: Clock): Processor {
  const settings: BatcherSettings = {
    timeoutMs: config.timeout,
    minSize: config.send_batch_size,
    maxSize: config.send_batch_max_size,
    sizer: "items",
  };
  return statefulProcessor((out) => {
    const groups = new Map<string, Batcher>();
    const groupOf = (delivery: Delivery): Batcher => {
      const key = metadataKey(delivery, config.metadata_keys);
      const existing = groups.get(key);
      if (existing !== undefined) return existing;
      if (config.metadata_cardinality_limit > 0 && groups.size >= config.metadata_cardinality_limit)
        throw cardinalityRefusal();
      const onReady = (ready: Delivery) => out.next(ready);
      const group = new Batcher(settings, clock, onReady, () => groups.delete(key));
      groups.set(key, group);
      return group;
    };
    return {
      next: (delivery) => groupOf(delivery).add(delivery),
      drain() {
        for (const group of [...groups.values()]) group.flush();
      },
      abort() {
        for (const group of groups.values()) group.takeWaiting();
      },
    };
  });
}

function metadataKey(delivery: Delivery, keys: readonly string[]): string {
  if (keys.length === 0) return "";
  return JSON.stringify(keys.map((key) => delivery.origin.metadata?.get(key.toLowerCase()) ?? null));
}

function cardinalityRefusal(): Refusal {
  return new Refusal("throttled", "more combinations of metadata than metadata_cardinality_limit allows", {
    code: ERROR_CODES.SLUICE_METADATA_CARDINALITY,
    retryAfterMs: 1000,
  });
}
