import { z } from "zod";
import { byteSize, duration, ignored, section } from "./schema.js";

/**
 * Keys every exporter has, whatever its type: the runtime takes them out of the exporter's config before the exporter's
 * own schema sees it. An exporter knows nothing of them. The same keys stand under `extensions: reliability:` as the
 * defaults of all exporters. So nothing here has a default of its own: what is not written stays undefined, and
 * `completeSettings` (in the reliability room) fills it in, from the exporter, the exporter's type, the extension, and
 * the defaults, in this order. Names are the Collector's where it has the thing.
 */
const sendingQueue = section(
  z.strictObject({
    enabled: z.boolean().optional().meta({ description: "Keep what is to be sent on disk until it is. Default true." }),
    num_consumers: z.number().int().positive().optional().meta({ description: "Sends at the same time. Default 10." }),
    queue_size: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Most that may wait, counted by sizer. Default: no limit but max_bytes." }),
    sizer: z.enum(["requests", "items", "bytes"]).optional(),
    max_bytes: byteSize().optional().meta({ description: "Most bytes that may wait. Default 4GiB." }),
    max_age: duration().optional().meta({ description: "What waits longer is dead-lettered as expired. 0: for ever." }),
    on_full: z.enum(["refuse", "drop_oldest", "drop_newest"]).optional().meta({ description: "Default refuse." }),
    block_on_overflow: z.boolean().optional().meta({ description: "When full, let clients wait instead of refusing." }),
    wait_for_result: z.boolean().optional().meta({ description: "Answer clients only when it has been sent." }),
    batch: section(
      z.strictObject({
        flush_timeout: duration().optional(),
        min_size: z.number().int().nonnegative().optional(),
        max_size: z.number().int().nonnegative().optional(),
        sizer: z.enum(["items", "bytes", "requests"]).optional(),
      }),
    ).optional(),
    blocking: ignored("use block_on_overflow"),
    storage: ignored("every sending queue is kept on disk, under extensions.reliability.directory"),
    persistent_storage_enabled: ignored("every sending queue is kept on disk"),
  }),
);

const retryOnFailure = section(
  z.strictObject({
    enabled: z.boolean().optional(),
    initial_interval: duration().optional().meta({ description: "Wait before the first retry. Default 1s." }),
    multiplier: z.number().min(1).optional().meta({ description: "Each wait is longer by this. Default 2." }),
    max_interval: duration().optional().meta({ description: "Longest wait. Default 60s." }),
    max_retries: z.number().int().nonnegative().optional().meta({ description: "Default 5." }),
    max_elapsed_time: duration().optional().meta({ description: "Give up after this long; 0 (default): never." }),
    jitter: z.enum(["full", "proportional", "none"]).optional().meta({ description: "Default full." }),
    randomization_factor: z.number().min(0).max(1).optional().meta({ description: "For proportional. Default 0.5." }),
    rate_limit: section(
      z.strictObject({
        per_second: z.number().positive().optional().meta({ description: "Retries per second. Default 100." }),
        burst: z.number().int().positive().optional(),
        on_excess: z.enum(["delay", "dead_letter", "drop"]).optional().meta({ description: "Default delay." }),
      }),
    ).optional(),
    retry_on: z.array(z.string()).optional().meta({ description: "Statuses or codes to treat as transient." }),
    permanent_on: z.array(z.string()).optional().meta({ description: "Statuses or codes to treat as permanent." }),
  }),
);

const circuitBreaker = section(
  z.strictObject({
    enabled: z.boolean().optional(),
    failure_threshold: z.number().int().positive().optional().meta({ description: "Failures in a row. Default 5." }),
    failure_rate: z.number().min(0).max(1).optional().meta({ description: "Share of failures in failure_window." }),
    failure_window: duration().optional(),
    minimum_calls: z.number().int().positive().optional(),
    reset_timeout: duration().optional().meta({ description: "How long it stays open. Default 30s." }),
    half_open_probes: z.number().int().positive().optional().meta({ description: "Probes at a time. Default 1." }),
    success_threshold: z.number().int().positive().optional().meta({ description: "Default 2." }),
    on_open: z.enum(["hold", "dead_letter"]).optional().meta({ description: "Default hold." }),
  }),
);

const deadLetter = section(
  z.strictObject({
    retention: duration().optional().meta({ description: "How long dead letters are kept. Default 720h (30 days)." }),
    max_bytes: byteSize().optional().meta({ description: "Most bytes of dead letters. Default 1GiB." }),
    max_entries: z.number().int().positive().optional(),
    drop: z.enum(["oldest", "newest"]).optional().meta({ description: "Which end goes when full. Default oldest." }),
    filter: section(
      z.strictObject({
        never_save: z.array(z.string()).optional(),
        always_save: z.array(z.string()).optional(),
        save_if: z.string().optional(),
      }),
    ).optional(),
    auto_replay: section(
      z.strictObject({
        enabled: z.boolean().optional(),
        interval: duration().optional(),
        batch_size: z.number().int().positive().optional(),
        max_age: duration().optional(),
        max_replays: z.number().int().positive().optional(),
      }),
    ).optional(),
  }),
);

const replay = section(
  z.strictObject({
    rate: z.number().positive().optional().meta({ description: "Entries per second. Default 50." }),
    batch_size: z.number().int().positive().optional().meta({ description: "Entries at a time. Default 50." }),
    max_replays: z.number().int().positive().optional().meta({ description: "Per entry. Default 10." }),
    ramp: duration().optional().meta({ description: "Time in which draining after an outage reaches full speed." }),
  }),
);

export const exporterSettingsSchema = z.strictObject({
  timeout: duration().optional().meta({ description: "How long one attempt may take; 0 means for ever. Default 5s." }),
  sending_queue: sendingQueue.optional(),
  retry_on_failure: retryOnFailure.optional(),
  circuit_breaker: circuitBreaker.optional(),
  dead_letter: deadLetter.optional(),
  durability: z
    .enum(["fsync", "interval", "process"])
    .optional()
    .meta({ description: "What an acknowledgement survives: power loss, all but the last moment of it, a crash." }),
  durability_interval: duration().optional().meta({ description: "For durability: interval. Default 100ms." }),
  replay: replay.optional(),
});

export type ExporterSettings = z.infer<typeof exporterSettingsSchema>;
