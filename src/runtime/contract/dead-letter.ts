import type { Batch } from "#otlp";
import { Refusal } from "./errors/refusal.js";
import type { FailureReason } from "./operations/failure-reasons.js";

/** The reason why a processor takes records out of its pipeline as dead letters. */
export interface Setback {
  readonly reason: FailureReason;
  /** Groups similar ones for people: "rate_limited", "schema" and so on. */
  readonly category: string;
  /** A stable name, such as "SLUICE_RATE_LIMITED". */
  readonly code: string;
  readonly message: string;
  /**
   * Whether the records are dropped on purpose. Then exporters keep only those that a rule of `dead_letter.filter`
   * saves.
   */
  readonly onlyIfAlwaysSaved?: boolean;
}

const BRAND = Symbol.for("sluice.dead_letter");

/**
 * Records that must neither go on nor be lost; a processor may return them in place of a batch. They skip the
 * processors that follow, and every exporter of the pipeline keeps them as a dead letter that can be inspected and
 * replayed.
 */
export class DeadLetter {
  readonly [BRAND] = true;
  readonly batch: Batch;
  readonly setback: Setback;

  constructor(batch: Batch, setback: Setback) {
    this.batch = batch;
    this.setback = setback;
  }
}

/**
 * Takes records out of the pipeline and keeps them; `eachBatch` may return the result in place of a batch. The sender
 * gets a success once every exporter of the pipeline has stored them as a dead letter. Without a queue, the batch is
 * refused permanently.
 *
 * @example
 * const quarantine = eachBatch((batch) =>
 *   deadLetter(batch, { reason: "rejected", category: "schema", code: "ORDER_WITHOUT_ID", message: "order.id is missing" }),
 * );
 */
export function deadLetter(batch: Batch, setback: Setback): DeadLetter {
  return new DeadLetter(batch, setback);
}

/** Recognised by a brand, so that dead letters of another copy of the package are recognised too. */
export function isDeadLetter(value: unknown): value is DeadLetter {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
}

/** The refusal for an exporter that cannot keep dead letters. */
export function refusalOfSetback({ message, code }: Setback): Refusal {
  return new Refusal("permanent", `${message}; no queue to keep it as a dead letter`, { code });
}
