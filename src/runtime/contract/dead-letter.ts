import type { Batch } from "#otlp";
import { Refusal } from "./errors/refusal.js";
import type { FailureReason } from "./operations/failure-reasons.js";

/** Why a processor takes records out of its pipeline. */
export interface Setback {
  readonly reason: FailureReason;
  /** Groups alike ones for people: "rate_limited", "schema" and so on. */
  readonly category: string;
  /** A stable name, such as "SLUICE_RATE_LIMITED". */
  readonly code: string;
  readonly message: string;
  /** Dropped on purpose: exporters keep only what a rule of `dead_letter.filter` saves. */
  readonly onlyIfAlwaysSaved?: boolean;
}

const BRAND = Symbol.for("sluice.dead_letter");

/**
 * Records that are not to go on, and are not to be lost: what a processor may answer in the place of a batch. They pass
 * the processors that follow, and every exporter of the pipeline keeps them as a dead letter, to be seen and replayed.
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
 * Takes records out of the pipeline and keeps them: what `eachBatch` may answer in the place of a batch. The sender is
 * told of a success once every exporter of the pipeline has them on disk as a dead letter; without a queue the batch is
 * refused for good.
 *
 * @example
 * const quarantine = eachBatch((batch) =>
 *   deadLetter(batch, { reason: "rejected", category: "schema", code: "ORDER_WITHOUT_ID", message: "order.id is missing" }),
 * );
 */
export function deadLetter(batch: Batch, setback: Setback): DeadLetter {
  return new DeadLetter(batch, setback);
}

/** Told by a brand, so that one of another copy of the package counts too. */
export function isDeadLetter(value: unknown): value is DeadLetter {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[BRAND] === true;
}

/** The answer where no exporter could keep a dead letter. */
export function refusalOfSetback({ message, code }: Setback): Refusal {
  return new Refusal("permanent", `${message}; no queue to keep it as a dead letter`, { code });
}
