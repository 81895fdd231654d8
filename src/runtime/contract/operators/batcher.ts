import { Batch, SplitOverflow, splitBatch } from "#otlp";
import type { Clock } from "../clock.js";
import { Delivery } from "../delivery.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { Refusal } from "../errors/refusal.js";

/**
 * Merged batches stay below gRPC's usual limit of 4 MiB, so that no request is refused because of other data merged
 * into it.
 */
export const MAX_MERGED_BYTES = 3 * 1024 * 1024;
/** The maximum total size of the pieces of a batch: several times the size of any reasonable batch. */
const MAX_SPLIT_BYTES = 32 * 1024 * 1024;

/** When waiting deliveries are sent, and how large batches may be. */
export interface BatcherSettings {
  /** How long a delivery may wait for others, in milliseconds; 0 sends at once. */
  readonly timeoutMs: number;
  /** The size at which waiting deliveries are sent without waiting longer. */
  readonly minSize: number;
  /** Larger batches are cut into pieces of at most this size; 0 never cuts. */
  readonly maxSize: number;
  /** The unit of sizes. With `requests`, batches cannot be cut. */
  readonly sizer: "items" | "bytes" | "requests";
}

/**
 * Holds deliveries of one signal back until they are sent together, merged. The debt follows the data: nothing is
 * settled while it waits, so a crash loses nothing that was acknowledged. Its user must flush it when the stream
 * completes.
 *
 * @example
 * const gather = (clock: Clock): Processor => (source) =>
 *   new Observable((out) => {
 *     const settings = { timeoutMs: 20, minSize: 1000, maxSize: 0, sizer: "items" } as const;
 *     const batcher = new Batcher(settings, clock, (delivery) => out.next(delivery));
 *     const complete = () => {
 *       batcher.flush();
 *       out.complete();
 *     };
 *     return source.subscribe({ next: (delivery) => batcher.add(delivery), complete });
 *   });
 */
export class Batcher {
  private readonly settings: BatcherSettings;
  private readonly clock: Clock;
  private readonly emit: (delivery: Delivery) => void;
  private readonly onFlush: () => void;
  private waiting: Delivery[] = [];
  private size = 0;
  private bytes = 0;
  private cancelTimer: (() => void) | undefined;

  constructor(
    settings: BatcherSettings,
    clock: Clock,
    emit: (delivery: Delivery) => void,
    onFlush: () => void = () => {},
  ) {
    this.settings = settings;
    this.clock = clock;
    this.emit = emit;
    this.onFlush = onFlush;
  }

  add(delivery: Delivery): void {
    const { byteLength } = delivery.batch;
    if (this.bytes + byteLength > MAX_MERGED_BYTES) this.emitWaiting();
    this.waiting.push(delivery);
    this.size += this.sizeOf(delivery.batch);
    this.bytes += byteLength;
    const { minSize, timeoutMs } = this.settings;
    if (this.size >= minSize || timeoutMs === 0) this.flush();
    else this.cancelTimer ??= this.clock.after(timeoutMs, () => this.flush());
  }

  /** Sends all waiting deliveries now. */
  flush(): void {
    this.onFlush();
    this.emitWaiting();
  }

  private emitWaiting(): void {
    const waiting = this.takeWaiting();
    if (waiting.length > 0) this.emitMerged(waiting);
  }

  private emitMerged(deliveries: readonly Delivery[]): void {
    const merged = Batch.merge(deliveries.map((delivery) => delivery.batch));
    const pieces = piecesOf(merged, this.settings);
    if (!(pieces instanceof Refusal)) {
      for (const piece of Delivery.merge(deliveries, merged).split(pieces)) this.emit(piece);
    } else if (deliveries.length > 1) for (const delivery of deliveries) this.emitMerged([delivery]);
    else deliveries[0]!.refuse(pieces);
  }

  /** Removes and returns the waiting deliveries and stops the timer. The caller must settle them. */
  takeWaiting(): readonly Delivery[] {
    const { waiting } = this;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.waiting = [];
    this.size = 0;
    this.bytes = 0;
    return waiting;
  }

  private sizeOf(batch: Batch): number {
    const { sizer } = this.settings;
    return sizer === "items" ? batch.count : sizer === "bytes" ? batch.byteLength : 1;
  }
}

/**
 * Cuts a batch into pieces of at most the configured size. Returns a refusal if the pieces would be many times its
 * size.
 */
export function piecesOf(
  batch: Batch,
  { maxSize, sizer }: Pick<BatcherSettings, "maxSize" | "sizer">,
): readonly Batch[] | Refusal {
  if (maxSize === 0 || sizer === "requests") return [batch];
  if ((sizer === "items" ? batch.count : batch.byteLength) <= maxSize) return [batch];
  const limits = sizer === "items" ? { records: maxSize } : { bytes: maxSize };
  try {
    return splitBatch(batch, { ...limits, total: Math.max(MAX_SPLIT_BYTES, 2 * batch.byteLength) });
  } catch (error) {
    if (error instanceof SplitOverflow) return splitOverflowRefusal(maxSize);
    throw error;
  }
}

function splitOverflowRefusal(max: number): Refusal {
  const message = `this request cannot be divided into pieces of at most ${max}: it has too many records, or too much data that they share`;
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_SPLIT_OVERFLOW, category: "schema" });
}
