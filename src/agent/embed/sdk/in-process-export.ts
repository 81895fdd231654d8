import type { Outcome } from "#contract";
import { ERROR_CODES, Refusal, toRefusal } from "#contract/errors";
import { keepAliveTimer, waitAtMost } from "#contract/time";
import { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";

/** The part of an embedded Sluice that accepts batches. */
export interface BatchAcceptor {
  /** Resolves when the batch is settled. Never rejects. */
  accept(batch: Batch): Promise<Outcome>;
  /** Counts and reports records that cannot be encoded as a batch. */
  refuse?(signal: Signal, records: number, refusal: Refusal): void;
}

/** The SDK's ExportResult, with its numeric codes. */
interface SdkExportResult {
  readonly code: 0 | 1;
  readonly error?: Error;
}

/** The SDK's callback for the result of an export. */
export type ExportDone = (result: SdkExportResult) => void;

const SUCCESS: SdkExportResult = { code: 0 };

/** How long a flush or shutdown waits for unsettled batches. */
const FLUSH_TIMEOUT_MS = 10_000;

/**
 * Shared by the exporters of all signals. The SDK gets a success when the batch is settled: every exporter of every
 * pipeline has stored it on disk, or has sent it. Items that cannot be encoded are refused, counted and reported; the
 * rest of their batch is sent. Nothing is thrown at the SDK, and no wait is unbounded.
 */
export class InProcessExport<Items> {
  private readonly sluice: BatchAcceptor;
  private readonly signal: Signal;
  private readonly serialize: (items: Items) => Uint8Array | undefined;
  private readonly inFlight = new Set<Promise<void>>();
  private isShutDown = false;

  constructor(sluice: BatchAcceptor, signal: Signal, serialize: (items: Items) => Uint8Array | undefined) {
    this.sluice = sluice;
    this.signal = signal;
    this.serialize = serialize;
  }

  export(items: Items, done: ExportDone): void {
    if (this.isShutDown) return done({ code: 1, error: new Error("the exporter has been shut down") });
    const exporting: Promise<void> = this.resultOf(items).then((result) => {
      this.inFlight.delete(exporting);
      // In a microtask of its own, so that an error in the SDK's callback does not become our rejection.
      queueMicrotask(() => done(result));
    });
    this.inFlight.add(exporting);
  }

  /** Resolves when every export so far has its result. */
  async forceFlush(): Promise<void> {
    if (await this.isSettledInTime()) return;
    throw new Error(`Sluice has not settled everything within ${FLUSH_TIMEOUT_MS} ms`);
  }

  /**
   * Accepts no more items, and waits a limited time for exports under way. The Sluice keeps running and finishes the
   * rest.
   */
  async shutdown(): Promise<void> {
    this.isShutDown = true;
    await this.isSettledInTime();
  }

  private async isSettledInTime(): Promise<boolean> {
    const settled = Promise.all(this.inFlight).then(() => true);
    return waitAtMost(FLUSH_TIMEOUT_MS, settled, keepAliveTimer, () => false);
  }

  private async resultOf(items: Items): Promise<SdkExportResult> {
    try {
      const batches: Batch[] = [];
      const refusal = this.toBatches(items, batches);
      const outcomes = await Promise.all(batches.map((batch) => this.sluice.accept(batch)));
      const error = refusal ?? outcomes.map((outcome) => (outcome.ok ? undefined : outcome.refusal)).find(Boolean);
      return error === undefined ? SUCCESS : { code: 1, error };
    } catch (error) {
      return { code: 1, error: toRefusal(error) };
    }
  }

  /**
   * Encodes the items as one batch. If that fails, encodes their parts separately, without the items that cannot be
   * encoded.
   */
  private toBatches(items: Items, batches: Batch[]): Refusal | undefined {
    try {
      const batch = Batch.admit(this.signal, this.serialize(items) ?? new Uint8Array());
      if (batch.count > 0) batches.push(batch);
      return undefined;
    } catch (error) {
      const parts = halves(items);
      if (parts !== undefined) return parts.map((part) => this.toBatches(part, batches)).find(Boolean);
      const { message } = toRefusal(error);
      const refusal = new Refusal("permanent", message, {
        code: ERROR_CODES.SLUICE_BAD_RECORD,
        category: "schema",
        cause: error,
      });
      this.sluice.refuse?.(this.signal, 1, refusal);
      return refusal;
    }
  }
}

/** Splits a list of two or more items into halves; undefined for anything else. */
function halves<Items>(items: Items): Items[] | undefined {
  if (!Array.isArray(items) || items.length < 2) return undefined;
  const middle = items.length >> 1;
  return [items.slice(0, middle), items.slice(middle)] as Items[];
}
