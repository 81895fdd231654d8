import { z } from "zod";
import { SIGNALS } from "#otlp/signals";
import { FAILURE_CATEGORIES, FAILURE_REASONS } from "../operations/failure-reasons.js";
import { isTimeZone } from "../time/cron.js";
import { PARSED_ONCE } from "./config-schema.js";
import {
  byteSize,
  cronSchedule,
  duration,
  headers,
  ignored,
  lazySection,
  recordPattern,
  secret,
  section,
} from "./schema.js";
import { nearest } from "./suggest.js";

/**
 * Keys that every exporter has, whatever its type. The runtime takes them out of the exporter's config before the
 * exporter's own schema parses it, so an exporter does not know them. The same keys under `extensions: reliability:`
 * are the defaults of all exporters. So the schema has no defaults of its own: a key that is not configured stays
 * undefined, and `completeSettings` fills it in from the exporter, the extension, the exporter's type and
 * DEFAULT_SETTINGS, in this order. Names are the Collector's where it has the same key.
 */
const sendingQueue = section(
  z.strictObject({
    enabled: z.boolean().optional().meta({ description: "Store data on disk until it has been sent." }),
    num_consumers: z.number().int().positive().optional().meta({ description: "Maximum number of concurrent sends." }),
    queue_size: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "Capacity of the queue, in units of sizer. 0: limited only by max_bytes." }),
    sizer: z
      .enum(["requests", "items", "bytes"])
      .optional()
      .meta({ description: "The unit of queue_size: requests, records or bytes." }),
    max_bytes: byteSize().optional().meta({ description: "Maximum number of bytes in the queue." }),
    max_age: duration()
      .optional()
      .meta({ description: "Entries that wait longer are dead-lettered as expired. 0: no limit." }),
    on_full: z
      .enum(["refuse", "drop_oldest", "drop_newest"])
      .optional()
      .meta({ description: "What happens when the queue is full." }),
    block_on_overflow: z
      .boolean()
      .optional()
      .meta({ description: "If the queue is full, let clients wait instead of refusing." }),
    wait_for_result: z.boolean().optional().meta({ description: "Answer clients only when their data has been sent." }),
    ordered_by: z.string().optional().meta({
      description:
        "Send entries with the same key one after the other: `key` is the key of a Kafka message or outbox row or the group of an SQS message, anything else the name of a record attribute. Empty: no order.",
    }),
    batch: section(
      z.strictObject({
        flush_timeout: duration()
          .optional()
          .meta({ description: "How long entries may wait to be merged while nothing is being sent." }),
        min_size: z
          .number()
          .int()
          .nonnegative()
          .optional()
          .meta({ description: "A request of this size is sent at once." }),
        max_size: z
          .number()
          .int()
          .nonnegative()
          .optional()
          .meta({ description: "Maximum size of a request; 0: no limit." }),
        sizer: z
          .enum(["items", "bytes", "requests"])
          .optional()
          .meta({ description: "The unit of min_size and max_size." }),
      }),
    )
      .optional()
      .meta({
        description: "Merge entries of the queue into larger requests when sending. Off unless configured.",
      }),
    merge_backlog: z.boolean().optional().meta({
      description: "Merge small waiting entries into larger requests, even without batch. No entry waits for it.",
    }),
    blocking: ignored("use block_on_overflow"),
    storage: ignored("every sending queue is kept on disk, under extensions.reliability.directory"),
    persistent_storage_enabled: ignored("every sending queue is kept on disk"),
  }),
);

const retryOnFailure = section(
  z.strictObject({
    enabled: z.boolean().optional().meta({ description: "Retry sends that failed and may succeed later." }),
    backoff: z
      .enum(["exponential", "linear", "fixed"])
      .optional()
      .meta({ description: "How delays grow: by the factor multiplier, by the duration increment, or not at all." }),
    initial_interval: duration().optional().meta({ description: "Delay before the first retry." }),
    multiplier: z
      .number()
      .min(1)
      .optional()
      .meta({ description: "For backoff: exponential. Factor between one delay and the next." }),
    increment: duration()
      .optional()
      .meta({ description: "For backoff: linear. Difference between one delay and the next." }),
    max_interval: duration().optional().meta({ description: "Maximum delay." }),
    max_retries: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "Retries after failures that are the entry's fault, before it is dead-lettered." }),
    max_retry_after: duration()
      .optional()
      .meta({ description: "Maximum delay that the backend may ask for with Retry-After." }),
    max_elapsed_time: duration().optional().meta({
      description: "Give up an entry that has failed for this long, whatever the cause; 0 (default): never.",
    }),
    jitter: z.enum(["full", "proportional", "none"]).optional().meta({
      description: "How delays are randomized: full by default, or proportional if randomization_factor is configured.",
    }),
    randomization_factor: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ description: "Delays vary by this share, as in the Collector; makes the jitter proportional." }),
    rate_limit: section(
      z.strictObject({
        per_second: z.number().positive().optional().meta({ description: "Retries per second." }),
        burst: z
          .number()
          .int()
          .positive()
          .optional()
          .meta({ description: "Retries that may be made at once after a pause." }),
        on_excess: z
          .enum(["delay", "dead_letter", "drop"])
          .optional()
          .meta({ description: "What happens to retries above the rate." }),
      }),
    )
      .optional()
      .meta({ description: "Limits the retries of the exporter, for all entries together." }),
    poison: section(
      z.strictObject({
        enabled: z
          .boolean()
          .optional()
          .meta({ description: "Give up entries that keep failing with the same error while others succeed." }),
        failures: z.number().int().min(2).optional().meta({ description: "Number of failures with the same error." }),
        window: duration()
          .optional()
          .meta({ description: "Time within which these failures must happen, without the duration of the calls." }),
        max_failure_rate: z.number().min(0).max(1).optional().meta({
          description: "Maximum share of failures among the other calls in this time.",
        }),
        min_successes: z.number().int().positive().optional().meta({
          description: "Number of other entries that must be delivered after the first failure.",
        }),
        max_chance: ignored("use max_failure_rate and min_successes"),
      }),
    )
      .optional()
      .meta({ description: "When an entry counts as poison and is dead-lettered." }),
    retry_on: z.array(z.string()).optional().meta({ description: "Statuses or codes to treat as transient." }),
    permanent_on: z.array(z.string()).optional().meta({ description: "Statuses or codes to treat as permanent." }),
    blame_backend_on: z.array(z.string()).optional().meta({
      description: "Statuses or codes for failures of the backend: they do not count as attempts of an entry.",
    }),
    blame_entry_on: z.array(z.string()).optional().meta({
      description: "Statuses or codes for failures of the entry: each counts towards max_retries.",
    }),
    hold_on: z.array(z.string()).optional().meta({
      description:
        "Statuses or codes of a backend that refuses everything: entries wait in the queue until it accepts them. Empty: they become dead letters.",
    }),
    hold_retries: z.number().int().nonnegative().optional().meta({
      description: "Retries of an entry that was refused with a status of hold_on while others were accepted.",
    }),
  }),
);

const circuitBreaker = section(
  z.strictObject({
    enabled: z.boolean().optional().meta({ description: "Stop sending when sends fail." }),
    failure_threshold: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Failures in a row that open the breaker." }),
    failure_rate: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ description: "Share of failures in failure_window that also opens the breaker; 0: not used." }),
    failure_window: duration().optional().meta({ description: "The period in which failure_rate is measured." }),
    minimum_calls: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Minimum number of calls in failure_window for failure_rate to apply." }),
    reset_timeout: duration().optional().meta({ description: "How long the breaker stays open before it probes." }),
    half_open_probes: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Maximum number of concurrent probes." }),
    success_threshold: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Successful probes that close the breaker." }),
    on_open: z
      .enum(["hold", "dead_letter"])
      .optional()
      .meta({ description: "What happens to entries while the breaker is open." }),
  }),
);

/**
 * Rejects categories that look like a misspelt one of ours. Other names are accepted, because plugins may have their
 * own.
 */
function rejectMisspeltCategories(times: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  for (const category of Object.keys(times)) {
    const meant = nearest(category, FAILURE_CATEGORIES);
    if (meant === undefined || meant === category) continue;
    const message = `there is no category ${JSON.stringify(category)}; did you mean ${JSON.stringify(meant)}?`;
    context.addIssue({ code: "custom", path: [category], message });
  }
}

const createDeadLetterSchema = (condition: z.ZodType<string>) =>
  lazySection(() =>
    z.strictObject({
      retention: duration().optional().meta({ description: "How long dead letters are kept." }),
      retention_by_category: z
        .record(z.string(), duration())
        .superRefine(rejectMisspeltCategories)
        .optional()
        .meta({ description: "Retention by category, such as schema or downstream_timeout. 0s: forever." }),
      category_on: section(
        z.strictObject({
          schema: z.array(z.string()).optional().meta({ description: "Statuses or codes of invalid data." }),
          business: z
            .array(z.string())
            .optional()
            .meta({ description: "Statuses or codes of data that breaks a business rule of the backend." }),
          integration: z
            .array(z.string())
            .optional()
            .meta({ description: "Statuses or codes of wrong credentials, addresses and the like." }),
        }),
      )
        .optional()
        .meta({ description: "The category of permanently refused data, by status or code." }),
      max_bytes: byteSize().optional().meta({ description: "Maximum number of bytes of dead letters." }),
      max_entries: z.number().int().nonnegative().optional().meta({ description: "0: no limit." }),
      keep_deleted: duration()
        .optional()
        .meta({ description: "How long deleted dead letters can be restored. 0s: not at all." }),
      keep_metadata: z.array(z.string()).optional().meta({
        description:
          "Client headers that are stored with entries; * stands for any text. Headers that may be secret are never stored.",
      }),
      keep_stack: z
        .boolean()
        .optional()
        .meta({ description: "Store the stack of each error, for authors of exporters." }),
      drop: z
        .enum(["oldest", "newest"])
        .optional()
        .meta({ description: "Which dead letters are removed when the limit is reached." }),
      max_log_lines: z.number().int().nonnegative().optional().meta({
        description:
          "Maximum number of log lines for single dead letters in ten seconds; the number of the others is logged. 0: no limit.",
      }),
      filter: section(
        z.strictObject({
          never_save: z
            .array(recordPattern())
            .optional()
            .meta({ description: "Records that match one of these are not kept as dead letters." }),
          always_save: z
            .array(recordPattern())
            .optional()
            .meta({ description: "Of the remaining records, those that match one of these are kept." }),
          save_if: condition.optional().meta({
            description:
              "Of the rest, only records that match this condition are kept. It may use dead_letter.error_class and similar paths. Empty: all.",
          }),
        }),
      )
        .optional()
        .meta({ description: "Which records are kept as dead letters." }),
      forward_to: z.string().optional().meta({
        description: "An exporter that gets a copy of every dead letter; the dead letter is kept too. Empty: none.",
      }),
      notify: section(
        z.strictObject({
          url: secret()
            .refine(
              (text) => text === "" || /^https?:$/.test(protocolOf(text)),
              "expected a URL such as https://example.com/hook",
            )
            .optional()
            .meta({ description: "The URL to which notifications about new dead letters are posted; empty: none." }),
          headers: headers().optional().meta({ description: "Headers of the notification, such as Authorization." }),
          interval: duration()
            .optional()
            .meta({ description: "Minimum time between notifications; later dead letters are reported together." }),
        }),
      )
        .optional()
        .meta({ description: "Notifications about new dead letters." }),
      auto_replay: section(
        z.strictObject({
          enabled: z.boolean().optional().meta({ description: "Replay dead letters automatically." }),
          interval: duration().optional().meta({
            description: "How often to look for dead letters that can be replayed. Also the pause between batches.",
          }),
          schedule: cronSchedule().optional().meta({
            description:
              "When to replay all dead letters that can be replayed, as a cron expression such as 0 2 * * *; empty: every interval.",
          }),
          time_zone: z
            .string()
            .refine(isTimeZone, "expected a time zone such as UTC or Europe/Berlin")
            .optional()
            .meta({ description: "The time zone of schedule." }),
          batch_size: z
            .number()
            .int()
            .positive()
            .optional()
            .meta({ description: "Maximum number of dead letters per interval." }),
          max_age: duration().optional().meta({ description: "Older dead letters are not replayed automatically." }),
          max_replays: z
            .number()
            .int()
            .positive()
            .optional()
            .meta({ description: "Maximum number of automatic replays of a dead letter." }),
        }),
      )
        .optional()
        .meta({ description: "Replays dead letters with temporary causes once the backend has recovered." }),
    }),
  );

const health = section(
  z.strictObject({
    max_dead_letters: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "With more dead letters than this the exporter is DEGRADED. 0: not checked." }),
    max_failure_rate: z.number().min(0).max(1).optional().meta({
      description: "With a larger share of failed calls in the last minute the exporter is DEGRADED. 1: not checked.",
    }),
    max_queue_age: duration()
      .optional()
      .meta({ description: "If an entry waits longer, the exporter is DEGRADED. 0s: not checked." }),
  }),
);

const replay = section(
  z.strictObject({
    rate: z.number().positive().optional().meta({ description: "Replayed entries per second." }),
    batch_size: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Number of entries that are put back into the queue at once." }),
    max_replays: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Maximum number of replays of an entry; more need approval." }),
    require_approval: z
      .array(
        z.strictObject({
          reason: z.enum(FAILURE_REASONS).optional().meta({ description: "Reason of the dead letter." }),
          category: z.string().optional().meta({ description: "Category of the dead letter, such as business." }),
          signal: z.enum(SIGNALS).optional().meta({ description: "logs, traces or metrics." }),
          signature: z
            .string()
            .optional()
            .meta({ description: "Signature of the dead letter, as dlq stats shows it." }),
          event: z
            .string()
            .optional()
            .meta({ description: "An event, span or metric name in the dead letter; * stands for any text." }),
        }),
      )
      .optional()
      .meta({ description: "Dead letters that match one of these are replayed only with approval." }),
    ramp: duration().optional().meta({
      description: "How long it takes to reach full speed after an outage, if sends succeed; 0s: full speed at once.",
    }),
  }),
);

/**
 * Creates the schema of these keys. `condition` is the schema of conditions on records, which the contract only knows
 * as texts.
 */
export const createExporterSettingsSchema = (condition: z.ZodType<string>) =>
  z.strictObject({
    timeout: duration().optional().meta({ description: "Timeout of one attempt; 0: no limit." }),
    sending_queue: sendingQueue.optional().meta({ description: "The durable queue in front of the exporter." }),
    retry_on_failure: retryOnFailure.optional().meta({ description: "When and how often a failed send is retried." }),
    circuit_breaker: circuitBreaker
      .optional()
      .meta({ description: "Stops sending to a backend that is down, and probes whether it works again." }),
    dead_letter: createDeadLetterSchema(condition).optional().meta({ description: "How undeliverable data is kept." }),
    durability: z.enum(["fsync", "interval", "process"]).optional().meta({
      description:
        "What acknowledged data survives: a power loss (fsync), a power loss except for the last interval (interval), or a crash of the process (process).",
    }),
    durability_interval: duration().optional().meta({ description: "Time between fsyncs, for durability: interval." }),
    replay: replay
      .optional()
      .meta({ description: "How fast dead letters, and the backlog after an outage, are sent." }),
    health: health.optional().meta({ description: "When the exporter is DEGRADED." }),
  });

/** The schema for settings whose conditions need no check: defaults, and settings that were checked before. */
export const uncheckedExporterSettingsSchema = createExporterSettingsSchema(z.string());

/** The configured values of the keys that every exporter has; undefined where nothing is configured. */
export type ExporterSettings = z.infer<typeof uncheckedExporterSettingsSchema>;

/** The defaults of all exporters, as one would write them in YAML. */
export const DEFAULT_SETTINGS = {
  timeout: "5s",
  sending_queue: {
    enabled: true,
    num_consumers: 10,
    queue_size: 0,
    sizer: "requests",
    max_bytes: "4GiB",
    max_age: "0s",
    on_full: "refuse",
    block_on_overflow: false,
    wait_for_result: false,
    ordered_by: "",
    batch: { flush_timeout: "200ms", min_size: 8192, max_size: 0, sizer: "items" },
    merge_backlog: true,
  },
  retry_on_failure: {
    enabled: true,
    backoff: "exponential",
    initial_interval: "1s",
    multiplier: 2,
    increment: "1s",
    max_interval: "60s",
    max_retries: 5,
    max_retry_after: "24h",
    max_elapsed_time: "0s",
    jitter: "full",
    randomization_factor: 0.5,
    rate_limit: { per_second: 100, burst: 100, on_excess: "delay" },
    poison: { enabled: true, failures: 3, window: "60s", max_failure_rate: 0.1, min_successes: 20 },
    retry_on: [],
    permanent_on: [],
    blame_backend_on: [],
    blame_entry_on: [],
    hold_on: ["3xx", "401", "402", "403", "407", "UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"],
    hold_retries: 0,
  },
  circuit_breaker: {
    enabled: true,
    failure_threshold: 5,
    failure_rate: 0,
    failure_window: "60s",
    minimum_calls: 10,
    reset_timeout: "30s",
    half_open_probes: 1,
    success_threshold: 2,
    on_open: "hold",
  },
  dead_letter: {
    retention: "720h",
    retention_by_category: {},
    category_on: { schema: [], business: [], integration: [] },
    max_bytes: "1GiB",
    max_entries: 0,
    keep_deleted: "0s",
    keep_metadata: ["user-agent"],
    keep_stack: false,
    drop: "oldest",
    max_log_lines: 20,
    filter: { never_save: [], always_save: [], save_if: "" },
    forward_to: "",
    notify: { url: "", headers: {}, interval: "60s" },
    auto_replay: {
      enabled: false,
      interval: "60s",
      schedule: "",
      time_zone: "UTC",
      batch_size: 50,
      max_age: "24h",
      max_replays: 3,
    },
  },
  durability: "fsync",
  durability_interval: "100ms",
  replay: { rate: 50, batch_size: 50, max_replays: 10, require_approval: [], ramp: "2s" },
  health: { max_dead_letters: 100, max_failure_rate: 1, max_queue_age: "0s" },
} as const satisfies z.input<typeof uncheckedExporterSettingsSchema>;

type DeepRequired<T> = {
  readonly [Key in keyof T]-?: NonNullable<T[Key]> extends Record<string, unknown>
    ? DeepRequired<NonNullable<T[Key]>>
    : NonNullable<T[Key]>;
};

/**
 * Settings with all values filled in. Batching in the queue is on only if `sending_queue.batch` is configured
 * somewhere.
 */
export type CompleteSettings = DeepRequired<ExporterSettings>;

let parsedDefaults: ExporterSettings | undefined;

/** Merges the layers. The first layer that has a key wins; the last layer is always DEFAULT_SETTINGS. */
export function completeSettings(...layers: readonly (ExporterSettings | undefined)[]): CompleteSettings {
  parsedDefaults ??= uncheckedExporterSettingsSchema.parse(DEFAULT_SETTINGS, PARSED_ONCE);
  const defaults = parsedDefaults;
  const hasFactor = layers.some((layer) => layer?.retry_on_failure?.randomization_factor !== undefined);
  const under = hasFactor ? mergeLayers(defaults, COLLECTOR_JITTER) : defaults;
  return [...layers].reverse().reduce<unknown>(mergeLayers, under) as CompleteSettings;
}

/** A config with the Collector's `randomization_factor` gets the Collector's jitter, unless `jitter` is configured. */
const COLLECTOR_JITTER: ExporterSettings = { retry_on_failure: { jitter: "proportional" } };

function mergeLayers(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isRecord(under) || !isRecord(over)) return over;
  const merged = { ...under };
  for (const [key, value] of Object.entries(over)) merged[key] = mergeLayers(merged[key], value);
  return merged;
}

/** Whether a value is a YAML map: an object that is not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function protocolOf(text: string): string {
  return URL.canParse(text) ? new URL(text).protocol : "";
}
