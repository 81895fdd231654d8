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

/** Why an entry is a dead letter. */
export type FailureReason = (typeof FAILURE_REASONS)[number];
