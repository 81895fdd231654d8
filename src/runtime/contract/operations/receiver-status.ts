/** The state of a receiver, as operators see it. Times are milliseconds since the epoch. */
export interface ReceiverStatus {
  readonly id: string;
  /** `DOWN`: nothing can be read. `DEGRADED`: a part of it cannot, or more messages wait than `max_lag` allows. */
  readonly state: "UP" | "DEGRADED" | "DOWN";
  /** When it was handed data for the last time. */
  readonly lastMessageAt?: number;
  readonly lastError?: { readonly at: number; readonly source: string; readonly message: string };
  /** Number of messages that wait at the source, if it is known. */
  readonly lag?: number;
  /** How often a source could be read again after a failure. */
  readonly reconnects: number;
  /** The sources that cannot be read: queues, topics, targets. */
  readonly down: readonly string[];
  /** Facts about sources, by their names: for SQS the redrive policy. */
  readonly facts?: Readonly<Record<string, SourceFacts>>;
}

/** Facts about a source, by their names. */
export type SourceFacts = Readonly<Record<string, string | number>>;
