import type { Intake } from "../contract/component.js";
import { ACCEPTED, type Outcome } from "../contract/debt.js";
import { ERROR_CODES } from "../contract/error-codes.js";
import { BUSY_RETRY_AFTER_MS, Refusal } from "../contract/refusal.js";
import type { Batch } from "../telemetry/batch.js";

/** An intake that remembers what it got and answers as told. */
export class TestIntake implements Intake {
  readonly batches: Batch[] = [];
  /** Bytes that were reserved and not yet released. */
  reserved = 0;
  /** How much may be reserved. */
  room = Number.POSITIVE_INFINITY;
  answer: (batch: Batch) => Outcome | Promise<Outcome> = () => ACCEPTED;

  async accept(batch: Batch): Promise<Outcome> {
    if (batch.byteLength > this.room) {
      const refusal = new Refusal("throttled", "over the limit", {
        code: ERROR_CODES.SLUICE_OVERLOADED,
        retryAfterMs: BUSY_RETRY_AFTER_MS,
      });
      return { ok: false, refusal };
    }
    this.batches.push(batch);
    return this.answer(batch);
  }

  reserve(bytes: number): boolean {
    if (this.reserved + bytes > this.room) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}
