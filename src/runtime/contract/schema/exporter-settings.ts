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
 * The keys that every exporter has, whatever its type: their schemas, defaults and descriptions. The runtime takes them
 * out of the exporter's config before the exporter's own schema parses it, so an exporter does not know them. The same
 * keys under `extensions: reliability:` are the defaults of all exporters. So a key that is not configured stays
 * undefined when a config is parsed, and `completeSettings` fills it in from the exporter, the extension, the
 * exporter's type and the defaults in this table, in this order. Names are the Collector's where it has the same key.
 */

/** The default of each key, by its schema. */
const DEFAULTS = new WeakMap<z.ZodType, () => unknown>();

/** A key that need not be configured, with its default as one would write it in YAML. */
function key<T extends z.ZodType>(schema: T, fallback: z.input<T>, description: string) {
  return withDefault(schema, () => fallback, description);
}

/** A section of keys. Its default is the defaults of its keys. */
function group<T extends SettingKeys>(description: string, keys: T) {
  return withDefault(section(z.strictObject(keys)), () => defaultsOf(keys), description);
}

/** The same with keys that are made when they are first needed. */
function lazyGroup<T extends SettingKeys>(description: string, makeKeys: () => T) {
  let made: T | undefined;
  const keys = () => {
    made ??= makeKeys();
    return made;
  };
  const schema = lazySection(() => z.strictObject(keys()));
  return withDefault(schema, () => defaultsOf(keys()), description);
}

function withDefault<T extends z.ZodType>(schema: T, fallback: () => unknown, description: string) {
  const optional = schema.optional().meta({ description });
  DEFAULTS.set(optional, fallback);
  return optional;
}

/** Returns the defaults of these keys. SettingKeys that have no effect have none. */
function defaultsOf(keys: SettingKeys): Record<string, unknown> {
  const made = Object.entries(keys).map(([name, schema]) => [name, DEFAULTS.get(schema)?.()] as const);
  return Object.fromEntries(made.filter(([, value]) => value !== undefined));
}

type SettingKeys = Readonly<Record<string, z.ZodType>>;

const count = () => z.number().int().nonnegative();
const positive = () => z.number().int().positive();
const share = () => z.number().min(0).max(1);
const texts = () => z.array(z.string());

/**
 * Rejects categories that look like a misspelt one of ours. Other names are accepted, because plugins may have their
 * own.
 */
function rejectMisspeltCategories(times: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  for (const category of Object.keys(times)) {
    const meant = nearest(category, FAILURE_CATEGORIES);
    if (meant === undefined || meant === category) continue;
    const message = `there is no category ${JSON.stringify(category)}; did you mean ${JSON.stringify(meant)}?`;
    context.addIssue({ code: "custom", message, path: [category] });
  }
}

function isHttpUrlOrEmpty(text: string): boolean {
  return text === "" || (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol));
}

const sendingQueue = group("The durable queue in front of the exporter.", {
  enabled: key(z.boolean(), true, "Store data on disk until it has been sent."),
  num_consumers: key(positive(), 10, "Maximum number of concurrent sends."),
  queue_size: key(count(), 0, "Capacity of the queue, in units of sizer. 0: limited only by max_bytes."),
  sizer: key(z.enum(["requests", "items", "bytes"]), "requests", "The unit of queue_size: requests, records or bytes."),
  max_bytes: key(byteSize(), "4GiB", "Maximum number of bytes in the queue."),
  max_age: key(duration(), "0s", "Entries that wait longer are dead-lettered as expired. 0: no limit."),
  on_full: key(z.enum(["refuse", "drop_oldest", "drop_newest"]), "refuse", "What happens when the queue is full."),
  block_on_overflow: key(z.boolean(), false, "If the queue is full, let clients wait instead of refusing."),
  wait_for_result: key(z.boolean(), false, "Answer clients only when their data has been sent."),
  ordered_by: key(
    z.string(),
    "",
    "Send entries with the same key one after the other: `key` is the key of a Kafka message or outbox row or the group of an SQS message, anything else the name of a record attribute. Empty: no order.",
  ),
  batch: group("Merge entries of the queue into larger requests when sending. Off unless configured.", {
    flush_timeout: key(duration(), "200ms", "How long entries may wait to be merged while nothing is being sent."),
    min_size: key(count(), 8192, "A request of this size is sent at once."),
    max_size: key(count(), 0, "Maximum size of a request; 0: no limit."),
    sizer: key(z.enum(["items", "bytes", "requests"]), "items", "The unit of min_size and max_size."),
  }),
  merge_backlog: key(
    z.boolean(),
    true,
    "Merge small waiting entries into larger requests, even without batch. No entry waits for it.",
  ),
  blocking: ignored("use block_on_overflow"),
  storage: ignored("every sending queue is kept on disk, under extensions.reliability.directory"),
  persistent_storage_enabled: ignored("every sending queue is kept on disk"),
});

const retryOnFailure = group("When and how often a failed send is retried.", {
  enabled: key(z.boolean(), true, "Retry sends that failed and may succeed later."),
  backoff: key(
    z.enum(["exponential", "linear", "fixed"]),
    "exponential",
    "How delays grow: by the factor multiplier, by the duration increment, or not at all.",
  ),
  initial_interval: key(duration(), "1s", "Delay before the first retry."),
  multiplier: key(z.number().min(1), 2, "For backoff: exponential. Factor between one delay and the next."),
  increment: key(duration(), "1s", "For backoff: linear. Difference between one delay and the next."),
  max_interval: key(duration(), "60s", "Maximum delay."),
  max_retries: key(count(), 5, "Retries after failures that are the entry's fault, before it is dead-lettered."),
  max_retry_after: key(duration(), "24h", "Maximum delay that the backend may ask for with Retry-After."),
  max_elapsed_time: key(
    duration(),
    "0s",
    "Give up an entry that has failed for this long, whatever the cause; 0 (default): never.",
  ),
  jitter: key(
    z.enum(["full", "proportional", "none"]),
    "full",
    "How delays are randomized: full by default, or proportional if randomization_factor is configured.",
  ),
  randomization_factor: key(
    share(),
    0.5,
    "Delays vary by this share, as in the Collector; makes the jitter proportional.",
  ),
  rate_limit: group("Limits the retries of the exporter, for all entries together.", {
    per_second: key(z.number().positive(), 100, "Retries per second."),
    burst: key(positive(), 100, "Retries that may be made at once after a pause."),
    on_excess: key(z.enum(["delay", "dead_letter", "drop"]), "delay", "What happens to retries above the rate."),
  }),
  poison: group("When an entry counts as poison and is dead-lettered.", {
    enabled: key(z.boolean(), true, "Give up entries that keep failing with the same error while others succeed."),
    failures: key(z.number().int().min(2), 3, "Number of failures with the same error."),
    window: key(duration(), "60s", "Time within which these failures must happen, without the duration of the calls."),
    max_failure_rate: key(share(), 0.1, "Maximum share of failures among the other calls in this time."),
    min_successes: key(positive(), 20, "Number of other entries that must be delivered after the first failure."),
    max_chance: ignored("use max_failure_rate and min_successes"),
  }),
  retry_on: key(texts(), [], "Statuses or codes to treat as transient."),
  permanent_on: key(texts(), [], "Statuses or codes to treat as permanent."),
  blame_backend_on: key(
    texts(),
    [],
    "Statuses or codes for failures of the backend: they do not count as attempts of an entry.",
  ),
  blame_entry_on: key(texts(), [], "Statuses or codes for failures of the entry: each counts towards max_retries."),
  hold_on: key(
    texts(),
    ["3xx", "401", "402", "403", "407", "UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"],
    "Statuses or codes of a backend that refuses everything: entries wait in the queue until it accepts them. Empty: they become dead letters.",
  ),
  hold_retries: key(
    count(),
    0,
    "Retries of an entry that was refused with a status of hold_on while others were accepted.",
  ),
});

const circuitBreaker = group("Stops sending to a backend that is down, and probes whether it works again.", {
  enabled: key(z.boolean(), true, "Stop sending when sends fail."),
  failure_threshold: key(positive(), 5, "Failures in a row that open the breaker."),
  failure_rate: key(share(), 0, "Share of failures in failure_window that also opens the breaker; 0: not used."),
  failure_window: key(duration(), "60s", "The period in which failure_rate is measured."),
  minimum_calls: key(positive(), 10, "Minimum number of calls in failure_window for failure_rate to apply."),
  reset_timeout: key(duration(), "30s", "How long the breaker stays open before it probes."),
  half_open_probes: key(positive(), 1, "Maximum number of concurrent probes."),
  success_threshold: key(positive(), 2, "Successful probes that close the breaker."),
  on_open: key(z.enum(["hold", "dead_letter"]), "hold", "What happens to entries while the breaker is open."),
});

const deadLetterKeys = (condition: z.ZodType<string>) => ({
  retention: key(duration(), "720h", "How long dead letters are kept."),
  retention_by_category: key(
    z.record(z.string(), duration()).superRefine(rejectMisspeltCategories),
    {},
    "Retention by category, such as schema or downstream_timeout. 0s: forever.",
  ),
  category_on: group("The category of permanently refused data, by status or code.", {
    schema: key(texts(), [], "Statuses or codes of invalid data."),
    business: key(texts(), [], "Statuses or codes of data that breaks a business rule of the backend."),
    integration: key(texts(), [], "Statuses or codes of wrong credentials, addresses and the like."),
  }),
  max_bytes: key(byteSize(), "1GiB", "Maximum number of bytes of dead letters."),
  max_entries: key(count(), 0, "0: no limit."),
  keep_deleted: key(duration(), "0s", "How long deleted dead letters can be restored. 0s: not at all."),
  keep_metadata: key(
    texts(),
    ["user-agent"],
    "Client headers that are stored with entries; * stands for any text. Headers that may be secret are never stored.",
  ),
  keep_stack: key(z.boolean(), false, "Store the stack of each error, for authors of exporters."),
  drop: key(z.enum(["oldest", "newest"]), "oldest", "Which dead letters are removed when the limit is reached."),
  max_log_lines: key(
    count(),
    20,
    "Maximum number of log lines for single dead letters in ten seconds; the number of the others is logged. 0: no limit.",
  ),
  filter: group("Which records are kept as dead letters.", {
    never_save: key(z.array(recordPattern()), [], "Records that match one of these are not kept as dead letters."),
    always_save: key(z.array(recordPattern()), [], "Of the remaining records, those that match one of these are kept."),
    save_if: key(
      condition,
      "",
      "Of the rest, only records that match this condition are kept. It may use dead_letter.error_class and similar paths. Empty: all.",
    ),
  }),
  forward_to: key(
    z.string(),
    "",
    "An exporter that gets a copy of every dead letter; the dead letter is kept too. Empty: none.",
  ),
  notify: group("Notifications about new dead letters.", {
    url: key(
      secret().refine(isHttpUrlOrEmpty, "expected a URL such as https://example.com/hook"),
      "",
      "The URL to which notifications about new dead letters are posted; empty: none.",
    ),
    headers: key(headers(), {}, "Headers of the notification, such as Authorization."),
    interval: key(duration(), "60s", "Minimum time between notifications; later dead letters are reported together."),
  }),
  auto_replay: group("Replays dead letters with temporary causes once the backend has recovered.", {
    enabled: key(z.boolean(), false, "Replay dead letters automatically."),
    interval: key(
      duration(),
      "60s",
      "How often to look for dead letters that can be replayed. Also the pause between batches.",
    ),
    schedule: key(
      cronSchedule(),
      "",
      "When to replay all dead letters that can be replayed, as a cron expression such as 0 2 * * *; empty: every interval.",
    ),
    time_zone: key(
      z.string().refine(isTimeZone, "expected a time zone such as UTC or Europe/Berlin"),
      "UTC",
      "The time zone of schedule.",
    ),
    batch_size: key(positive(), 50, "Maximum number of dead letters per interval."),
    max_age: key(duration(), "24h", "Older dead letters are not replayed automatically."),
    max_replays: key(positive(), 3, "Maximum number of automatic replays of a dead letter."),
  }),
});

const health = group("When the exporter is DEGRADED.", {
  max_dead_letters: key(count(), 100, "With more dead letters than this the exporter is DEGRADED. 0: not checked."),
  max_failure_rate: key(
    share(),
    1,
    "With a larger share of failed calls in the last minute the exporter is DEGRADED. 1: not checked.",
  ),
  max_queue_age: key(duration(), "0s", "If an entry waits longer, the exporter is DEGRADED. 0s: not checked."),
});

/** The conditions under which a dead letter needs approval. */
const approvalRule = z.strictObject({
  reason: z.enum(FAILURE_REASONS).optional().meta({ description: "Reason of the dead letter." }),
  category: z.string().optional().meta({ description: "Category of the dead letter, such as business." }),
  signal: z.enum(SIGNALS).optional().meta({ description: "logs, traces or metrics." }),
  signature: z.string().optional().meta({ description: "Signature of the dead letter, as dlq stats shows it." }),
  event: z
    .string()
    .optional()
    .meta({ description: "An event, span or metric name in the dead letter; * stands for any text." }),
});

const replay = group("How fast dead letters, and the backlog after an outage, are sent.", {
  rate: key(z.number().positive(), 50, "Replayed entries per second."),
  batch_size: key(positive(), 50, "Number of entries that are put back into the queue at once."),
  max_replays: key(positive(), 10, "Maximum number of replays of an entry; more need approval."),
  require_approval: key(
    z.array(approvalRule),
    [],
    "Dead letters that match one of these are replayed only with approval.",
  ),
  ramp: key(
    duration(),
    "2s",
    "How long it takes to reach full speed after an outage, if sends succeed; 0s: full speed at once.",
  ),
});

/** Makes the table. `condition` is the schema of conditions on records, which the contract only knows as texts. */
const exporterKeys = (condition: z.ZodType<string>) => ({
  timeout: key(duration(), "5s", "Timeout of one attempt; 0: no limit."),
  sending_queue: sendingQueue,
  retry_on_failure: retryOnFailure,
  circuit_breaker: circuitBreaker,
  dead_letter: lazyGroup("How undeliverable data is kept.", () => deadLetterKeys(condition)),
  durability: key(
    z.enum(["fsync", "interval", "process"]),
    "fsync",
    "What acknowledged data survives: a power loss (fsync), a power loss except for the last interval (interval), or a crash of the process (process).",
  ),
  durability_interval: key(duration(), "100ms", "Time between fsyncs, for durability: interval."),
  replay,
  health,
});

/**
 * Creates the schema of these keys. `condition` is the schema of conditions on records, which the contract only knows
 * as texts.
 */
export const createExporterSettingsSchema = (condition: z.ZodType<string>) => z.strictObject(exporterKeys(condition));

const uncheckedKeys = exporterKeys(z.string());

/** The schema for settings whose conditions need no check: defaults, and settings that were checked before. */
export const uncheckedExporterSettingsSchema = z.strictObject(uncheckedKeys);

/** The configured values of the keys that every exporter has; undefined where nothing is configured. */
export type ExporterSettings = z.infer<typeof uncheckedExporterSettingsSchema>;

/** Returns the defaults of all exporters, as one would write them in YAML. */
export const defaultSettings = (): z.input<typeof uncheckedExporterSettingsSchema> => defaultsOf(uncheckedKeys);

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

/** Merges the layers. The first layer that has a key wins; the last layer is always the defaults. */
export function completeSettings(...layers: readonly (ExporterSettings | undefined)[]): CompleteSettings {
  parsedDefaults ??= uncheckedExporterSettingsSchema.parse(defaultSettings(), PARSED_ONCE);
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
