import { z } from "zod";
import { byteSize, duration, ignored, section } from "./schema.js";

/**
 * Keys every exporter has, whatever its type: the runtime takes them out of the exporter's config before the exporter's
 * own schema sees it. An exporter knows nothing of them. The keys and defaults are the Collector's.
 */
export const exporterSettingsSchema = z.strictObject({
  timeout: duration().optional().meta({ description: "How long one attempt may take; 0 means for ever. Default 5s." }),
  sending_queue: section(
    z.strictObject({
      enabled: z.boolean().default(true),
      num_consumers: z.number().int().positive().default(10),
      queue_size: z.number().int().positive().default(1000),
      sizer: z.enum(["requests", "items", "bytes"]).default("requests"),
      block_on_overflow: z.boolean().default(false),
      blocking: z.boolean().optional(),
      wait_for_result: z.boolean().default(false),
      storage: z.string().nullish(),
      batch: section(
        z.strictObject({
          flush_timeout: duration().default(200),
          min_size: z.number().int().nonnegative().default(8192),
          max_size: z.number().int().nonnegative().default(0),
          sizer: z.enum(["items", "bytes", "requests"]).optional(),
        }),
      ).optional(),
      persistent_storage_enabled: ignored("the sending queue is durable when it is enabled"),
      max_size_bytes: byteSize().optional(),
    }),
  ).optional(),
  retry_on_failure: section(
    z.strictObject({
      enabled: z.boolean().default(true),
      initial_interval: duration().default(5000),
      max_interval: duration().default(30_000),
      max_elapsed_time: duration().default(300_000),
      multiplier: z.number().min(1).default(1.5),
      randomization_factor: z.number().min(0).max(1).default(0.5),
    }),
  ).optional(),
});

export type ExporterSettings = z.infer<typeof exporterSettingsSchema>;
