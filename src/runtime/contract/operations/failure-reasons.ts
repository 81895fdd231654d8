/** All reasons why an entry can be a dead letter. */
export const FAILURE_REASONS = [
  "permanent",
  "retry_exhausted",
  "poison",
  "crash_loop",
  "rate_limited",
  "circuit_open",
  "queue_full",
  "expired",
  "partial_success",
  "rejected",
  "imported",
] as const;

/**
 * All rules that create dead letters, each with its reason and description. They are listed in docs/operate/dead-letters.md.
 */
export const FAILURE_RULES = {
  permanent_refusal: { reason: "permanent", rule: "the backend, or a replay step, refused it permanently" },
  max_retries: { reason: "retry_exhausted", rule: "more failures of its own than `max_retries`" },
  max_elapsed_time: {
    reason: "retry_exhausted",
    rule: "it failed for longer than `max_elapsed_time`, whatever the cause",
  },
  retry_disabled: { reason: "retry_exhausted", rule: "it failed, and `retry_on_failure.enabled` is false" },
  poison: { reason: "poison", rule: "it kept failing with the same error while other entries were accepted" },
  crash_loop: { reason: "crash_loop", rule: "a worker crashed several times in a row while it sent or processed it" },
  rate_limit: { reason: "rate_limited", rule: "it was over the limit of the processor `rate_limit`" },
  retry_rate_limit: { reason: "rate_limited", rule: "a retry over `rate_limit` with `on_excess: dead_letter`" },
  breaker_open: { reason: "circuit_open", rule: "the circuit breaker was open, with `on_open: dead_letter`" },
  queue_full: { reason: "queue_full", rule: "it was removed from a full queue, as `on_full` says" },
  max_age: { reason: "expired", rule: "it waited longer than `sending_queue.max_age`" },
  partial_success: {
    reason: "partial_success",
    rule: "the backend accepted the request but rejected some of its records",
  },
  processor: { reason: "rejected", rule: "a processor or receiver made a dead letter of it" },
  import: { reason: "imported", rule: "it was imported, or came from a dead-letter queue of a broker" },
} as const satisfies Readonly<Record<string, { readonly reason: FailureReason; readonly rule: string }>>;

/** The rule that created a dead letter. */
export type FailureRule = keyof typeof FAILURE_RULES;

/** Returns the rule of a cause, or the first one with its reason. */
export function ruleOf(cause: { readonly reason: FailureReason; readonly rule?: FailureRule }): FailureRule {
  if (cause.rule !== undefined) return cause.rule;
  const [rule] = Object.entries(FAILURE_RULES).find(([, { reason }]) => reason === cause.reason)!;
  return rule as FailureRule;
}

/** The categories of dead letters that Sluice assigns. Plugins may use others. */
export const FAILURE_CATEGORIES = [
  "schema",
  "business",
  "integration",
  "downstream_timeout",
  "downstream_throttled",
  "downstream_error",
  "connection_error",
  "component_failure",
  "processor_failed",
  "rate_limited",
  "queue_full",
  "expired",
  "poison",
  "unknown",
] as const;

/** Why an entry is a dead letter. */
export type FailureReason = (typeof FAILURE_REASONS)[number];
