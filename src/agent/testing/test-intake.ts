import type { Intake } from "#contract";
import { ACCEPTED, type Outcome } from "#contract";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, Refusal } from "#contract/errors";
import type { Batch } from "#otlp";

/** An intake that records its batches and answers as configured. */
export class TestIntake implements Intake {
  readonly batches: Batch[] = [];
  /** Bytes that are reserved and not yet released. */
  reserved = 0;
  /** How many bytes may be reserved. */
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
