import { z } from "zod";
import { SIGNALS } from "#otlp/signals";
import { FAILURE_CATEGORIES, FAILURE_REASONS } from "../operations/failure-reasons.js";
import { byteSize, duration, headers, ignored, recordPattern, secret, section } from "./schema.js";
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
    enabled: z.boolean().optional().meta({ description: "Keep what is to be sent on disk until it is." }),
    num_consumers: z.number().int().positive().optional().meta({ description: "Sends at the same time." }),
    queue_size: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "Most that may wait, counted by sizer. 0: no limit but max_bytes." }),
    sizer: z
      .enum(["requests", "items", "bytes"])
      .optional()
      .meta({ description: "What queue_size counts: requests, records or bytes." }),
    max_bytes: byteSize().optional().meta({ description: "Most bytes that may wait." }),
    max_age: duration().optional().meta({ description: "What waits longer is dead-lettered as expired. 0: for ever." }),
    on_full: z
      .enum(["refuse", "drop_oldest", "drop_newest"])
      .optional()
      .meta({ description: "What happens when the queue is full." }),
    block_on_overflow: z.boolean().optional().meta({ description: "When full, let clients wait instead of refusing." }),
    wait_for_result: z.boolean().optional().meta({ description: "Answer clients only when it has been sent." }),
    batch: section(
      z.strictObject({
        flush_timeout: duration()
          .optional()
          .meta({ description: "How long entries may wait for others, when nothing is being sent." }),
        min_size: z
          .number()
          .int()
          .nonnegative()
          .optional()
          .meta({ description: "A request goes out at once when it has so much." }),
        max_size: z
          .number()
          .int()
          .nonnegative()
          .optional()
          .meta({ description: "The most that a request may have; 0: no limit." }),
        sizer: z
          .enum(["items", "bytes", "requests"])
          .optional()
          .meta({ description: "What min_size and max_size count." }),
      }),
    )
      .optional()
      .meta({
        description: "Merge entries of the queue into larger requests, when they are sent. Off unless written.",
      }),
    merge_backlog: z.boolean().optional().meta({
      description: "Merge small entries that wait into larger requests, also without batch. Nothing waits for it.",
    }),
    blocking: ignored("use block_on_overflow"),
    storage: ignored("every sending queue is kept on disk, under extensions.reliability.directory"),
    persistent_storage_enabled: ignored("every sending queue is kept on disk"),
  }),
);

const retryOnFailure = section(
  z.strictObject({
    enabled: z.boolean().optional().meta({ description: "Try again what failed and may succeed later." }),
    backoff: z
      .enum(["exponential", "linear", "fixed"])
      .optional()
      .meta({ description: "How waits grow: by the factor multiplier, by the time increment, or not at all." }),
    initial_interval: duration().optional().meta({ description: "Wait before the first retry." }),
    multiplier: z
      .number()
      .min(1)
      .optional()
      .meta({ description: "For backoff: exponential. Each wait is so many times the one before." }),
    increment: duration()
      .optional()
      .meta({ description: "For backoff: linear. Each wait is longer than the one before by this." }),
    max_interval: duration().optional().meta({ description: "Longest wait." }),
    max_retries: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "Retries after failures of the entry's own before it is dead-lettered." }),
    max_retry_after: duration()
      .optional()
      .meta({ description: "Longest wait that the other side may ask for with Retry-After." }),
    max_elapsed_time: duration().optional().meta({
      description: "Give up an entry that has failed for this long, whoever is to blame; 0 (default): never.",
    }),
    jitter: z
      .enum(["full", "proportional", "none"])
      .optional()
      .meta({ description: "How waits are spread: full, or proportional where randomization_factor is written." }),
    randomization_factor: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ description: "Waits differ by this share, as in the Collector; makes the jitter proportional." }),
    rate_limit: section(
      z.strictObject({
        per_second: z.number().positive().optional().meta({ description: "Retries per second." }),
        burst: z.number().int().positive().optional().meta({ description: "Retries at once after a quiet time." }),
        on_excess: z
          .enum(["delay", "dead_letter", "drop"])
          .optional()
          .meta({ description: "What happens to retries over the rate." }),
      }),
    )
      .optional()
      .meta({ description: "How many retries of the exporter may be made, all entries together." }),
    poison: section(
      z.strictObject({
        enabled: z.boolean().optional().meta({ description: "Give up entries that fail alike while others succeed." }),
        failures: z.number().int().min(2).optional().meta({ description: "Failures in a row with the same error." }),
        window: duration().optional().meta({ description: "Time within which they must come." }),
        max_chance: z
          .number()
          .positive()
          .max(1)
          .optional()
          .meta({ description: "Chance that a good entry is taken for poison; 1: any other success is enough." }),
      }),
    )
      .optional()
      .meta({ description: "When an entry that fails alone counts as poison, and is dead-lettered." }),
    retry_on: z.array(z.string()).optional().meta({ description: "Statuses or codes to treat as transient." }),
    permanent_on: z.array(z.string()).optional().meta({ description: "Statuses or codes to treat as permanent." }),
    blame_backend_on: z.array(z.string()).optional().meta({
      description: "Statuses or codes that are failures of the backend: they spend no attempt of an entry.",
    }),
    blame_entry_on: z.array(z.string()).optional().meta({
      description: "Statuses or codes that are failures of the entry: each spends one of max_retries.",
    }),
    hold_on: z.array(z.string()).optional().meta({
      description:
        "Statuses or codes of a backend that refuses everything: its entries wait in the queue until it takes them. Empty: they become dead letters.",
    }),
    hold_retries: z.number().int().nonnegative().optional().meta({
      description:
        "Times that an entry is tried again which was refused with a status of hold_on while others were taken.",
    }),
  }),
);

const circuitBreaker = section(
  z.strictObject({
    enabled: z.boolean().optional().meta({ description: "Watch how sends end, and stop when they fail." }),
    failure_threshold: z.number().int().positive().optional().meta({ description: "Failures in a row." }),
    failure_rate: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ description: "Share of failures in failure_window that opens it too; 0: not looked at." }),
    failure_window: duration().optional().meta({ description: "The time that failure_rate is about." }),
    minimum_calls: z
      .number()
      .int()
      .positive()
      .optional()
      .meta({ description: "Fewer calls in failure_window say nothing of a rate." }),
    reset_timeout: duration().optional().meta({ description: "How long it stays open." }),
    half_open_probes: z.number().int().positive().optional().meta({ description: "Probes at a time." }),
    success_threshold: z.number().int().positive().optional().meta({ description: "Successful probes that close it." }),
    on_open: z
      .enum(["hold", "dead_letter"])
      .optional()
      .meta({ description: "What happens to entries while it is open." }),
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
  section(
    z.strictObject({
      retention: duration().optional().meta({ description: "How long dead letters are kept." }),
      retention_by_category: z
        .record(z.string(), duration())
        .superRefine(rejectMisspeltCategories)
        .optional()
        .meta({ description: "The same for those of a category, such as schema or downstream_timeout. 0s: for ever." }),
      category_on: section(
        z.strictObject({
          schema: z.array(z.string()).optional().meta({ description: "Statuses or codes of data in a wrong form." }),
          business: z
            .array(z.string())
            .optional()
            .meta({ description: "Statuses or codes by which the backend says that it must not happen." }),
          integration: z
            .array(z.string())
            .optional()
            .meta({ description: "Statuses or codes of credentials, addresses and the like." }),
        }),
      )
        .optional()
        .meta({ description: "The category of what is refused for good, by its status or code." }),
      max_bytes: byteSize().optional().meta({ description: "Most bytes of dead letters." }),
      max_entries: z.number().int().nonnegative().optional().meta({ description: "0: no limit." }),
      keep_deleted: duration()
        .optional()
        .meta({ description: "How long deleted ones can be restored. 0s: they are gone at once." }),
      keep_metadata: z.array(z.string()).optional().meta({
        description: "Client headers that are kept with entries, * for any text; never those that may be secret.",
      }),
      keep_stack: z
        .boolean()
        .optional()
        .meta({ description: "Keep with each error where it was thrown, for those who write exporters." }),
      drop: z.enum(["oldest", "newest"]).optional().meta({ description: "Which end goes when full." }),
      max_log_lines: z.number().int().nonnegative().optional().meta({
        description: "Log lines in ten seconds for single dead letters; the number of the others follows. 0: no limit.",
      }),
      filter: section(
        z.strictObject({
          never_save: z
            .array(recordPattern())
            .optional()
            .meta({ description: "Records like these are not kept as dead letters." }),
          always_save: z
            .array(recordPattern())
            .optional()
            .meta({ description: "Of the others, records like these are kept." }),
          save_if: condition.optional().meta({
            description:
              "Of the rest, only records for which this holds are kept; it may ask for dead_letter.error_class and the like. Empty: all.",
          }),
        }),
      )
        .optional()
        .meta({ description: "Which records are worth keeping." }),
      forward_to: z.string().optional().meta({
        description: "An exporter that gets a copy of every dead letter, beside keeping it. Empty: none.",
      }),
      notify: section(
        z.strictObject({
          url: secret()
            .refine(
              (text) => text === "" || /^https?:$/.test(protocolOf(text)),
              "expected a URL such as https://example.com/hook",
            )
            .optional()
            .meta({ description: "Where to POST that entries have become dead letters; empty: nowhere." }),
          headers: headers().optional().meta({ description: "Sent with it, such as an Authorization." }),
          interval: duration().optional().meta({ description: "After one, the next ones are told together." }),
        }),
      )
        .optional()
        .meta({ description: "Tells somebody of new dead letters." }),
      auto_replay: section(
        z.strictObject({
          enabled: z.boolean().optional().meta({ description: "Replay dead letters without being asked." }),
          interval: duration()
            .optional()
            .meta({ description: "How often dead letters are looked for that can be replayed." }),
          batch_size: z.number().int().positive().optional().meta({ description: "Dead letters at a time." }),
          max_age: duration().optional().meta({ description: "Older ones are left to people." }),
          max_replays: z
            .number()
            .int()
            .positive()
            .optional()
            .meta({ description: "A dead letter is replayed so often at most." }),
        }),
      )
        .optional()
        .meta({ description: "Replays what failed for a reason that passes, when the backend is well." }),
    }),
  );

const health = section(
  z.strictObject({
    max_dead_letters: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "More dead letters than this make it DEGRADED. 0: not looked at." }),
    max_failure_rate: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ description: "A larger share of failed calls in the last minute makes it DEGRADED. 1: not looked at." }),
    max_queue_age: duration()
      .optional()
      .meta({ description: "An entry that waits longer makes it DEGRADED. 0s: not looked at." }),
  }),
);

const replay = section(
  z.strictObject({
    rate: z.number().positive().optional().meta({ description: "Entries per second." }),
    batch_size: z.number().int().positive().optional().meta({ description: "Entries at a time." }),
    max_replays: z.number().int().positive().optional().meta({ description: "Per entry." }),
    require_approval: z
      .array(
        z.strictObject({
          reason: z.enum(FAILURE_REASONS).optional().meta({ description: "Why it is a dead letter." }),
          category: z.string().optional().meta({ description: "Its category, such as business." }),
          signal: z.enum(SIGNALS).optional().meta({ description: "logs, traces or metrics." }),
          signature: z.string().optional().meta({ description: "Its signature, as dlq stats shows it." }),
          event: z.string().optional().meta({ description: "An event, span or metric name in it; * for any text." }),
        }),
      )
      .optional()
      .meta({ description: "Dead letters that are replayed only with approval: those that one of these finds." }),
    ramp: duration().optional().meta({
      description: "Time in which draining after an outage reaches full speed, if all goes well; 0s: at once.",
    }),
  }),
);

/**
 * Creates the schema of these keys. `condition` is the schema of conditions on records, which the contract only knows
 * as texts.
 */
export const createExporterSettingsSchema = (condition: z.ZodType<string>) =>
  z.strictObject({
    timeout: duration().optional().meta({ description: "How long one attempt may take; 0 means for ever." }),
    sending_queue: sendingQueue.optional().meta({ description: "The durable queue in front of the exporter." }),
    retry_on_failure: retryOnFailure
      .optional()
      .meta({ description: "When and how often a failed send is tried again." }),
    circuit_breaker: circuitBreaker
      .optional()
      .meta({ description: "Stops sending to a backend that is down, and finds out when it is back." }),
    dead_letter: createDeadLetterSchema(condition)
      .optional()
      .meta({ description: "What is kept of what cannot be delivered." }),
    durability: z
      .enum(["fsync", "interval", "process"])
      .optional()
      .meta({ description: "What an acknowledgement survives: power loss, all but the last moment of it, a crash." }),
    durability_interval: duration().optional().meta({ description: "For durability: interval." }),
    replay: replay.optional().meta({ description: "How fast dead letters, and what has waited, are sent again." }),
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
    poison: { enabled: true, failures: 3, window: "60s", max_chance: 0.000001 },
    retry_on: [],
    permanent_on: [],
    blame_backend_on: [],
    blame_entry_on: [],
    hold_on: [
      ...["3xx", "401", "402", "403", "404", "405", "407", "410", "415"],
      ...["UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"],
    ],
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
    auto_replay: { enabled: false, interval: "60s", batch_size: 50, max_age: "24h", max_replays: 3 },
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

/** Merges the layers. The first layer that has a key wins; the last layer is always DEFAULT_SETTINGS. */
export function completeSettings(...layers: readonly (ExporterSettings | undefined)[]): CompleteSettings {
  const defaults = uncheckedExporterSettingsSchema.parse(DEFAULT_SETTINGS);
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
