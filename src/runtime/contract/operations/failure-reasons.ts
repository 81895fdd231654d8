/** Every reason why an entry can be a dead letter. */
export const FAILURE_REASONS = [
  "permanent",
  "retry_exhausted",
  "poison",
  "rate_limited",
  "circuit_open",
  "queue_full",
  "expired",
  "partial_success",
  "rejected",
  "imported",
] as const;

/** The categories of dead letters that Sluice gives. Processors and exporters of others may have more. */
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
