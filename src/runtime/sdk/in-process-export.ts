import type { Outcome } from "../contract/delivery.js";
import { toRefusal } from "../contract/refusal.js";
import { Batch } from "../telemetry/batch.js";
import type { Signal } from "../telemetry/signal.js";

/** The part of an embedded Sluice that takes batches. */
export interface BatchTaker {
  /** Resolves when the batch is settled. Never rejects. */
  accept(batch: Batch): Promise<Outcome>;
}

/** What the OpenTelemetry SDK is told of an export: its ExportResult, by its numbers. */
export interface Result {
  readonly code: 0 | 1;
  readonly error?: Error;
}

const SUCCESS: Result = { code: 0 };

/**
 * What the exporters of all signals have in common. The SDK is told of a success when the batch is settled: every
 * exporter of every pipeline has it on disk, or has sent it. Nothing is thrown at the SDK.
 */
export class InProcessExport<Items> {
  private readonly sluice: BatchTaker;
  private readonly signal: Signal;
  private readonly serialize: (items: Items) => Uint8Array | undefined;
  private readonly underWay = new Set<Promise<void>>();
  private isShutDown = false;

  constructor(sluice: BatchTaker, signal: Signal, serialize: (items: Items) => Uint8Array | undefined) {
    this.sluice = sluice;
    this.signal = signal;
    this.serialize = serialize;
  }

  export(items: Items, tell: (result: Result) => void): void {
    if (this.isShutDown) return tell({ code: 1, error: new Error("the exporter has been shut down") });
    const exporting: Promise<void> = this.resultOf(items).then((result) => {
      this.underWay.delete(exporting);
      // What the SDK's callback throws is the SDK's, and no rejection of ours.
      queueMicrotask(() => tell(result));
    });
    this.underWay.add(exporting);
  }

  /** Resolves when every export so far has its result. */
  async forceFlush(): Promise<void> {
    await Promise.all(this.underWay);
  }

  /** Takes no more, and waits for what is under way. The Sluice goes on. */
  shutdown(): Promise<void> {
    this.isShutDown = true;
    return this.forceFlush();
  }

  private async resultOf(items: Items): Promise<Result> {
    try {
      const batch = Batch.admit(this.signal, this.serialize(items) ?? new Uint8Array());
      if (batch.count === 0) return SUCCESS;
      const outcome = await this.sluice.accept(batch);
      return outcome.ok ? SUCCESS : { code: 1, error: outcome.refusal };
    } catch (error) {
      return { code: 1, error: toRefusal(error) };
    }
  }
}
