import { Batch } from "../telemetry/batch.js";
import { splitBatch } from "../telemetry/split.js";
import type { Clock } from "./clock.js";
import { Delivery } from "./delivery.js";

export interface BatcherSettings {
  /** How long a delivery may wait for others; 0 sends at once. */
  readonly timeoutMs: number;
  /** Size at which what waits leaves without waiting longer. */
  readonly minSize: number;
  /** Larger ones are cut to pieces of at most this size; 0 never cuts. */
  readonly maxSize: number;
  /** What sizes are counted in. Requests cannot be cut. */
  readonly sizer: "items" | "bytes" | "requests";
}

/**
 * Deliveries of one signal that wait to leave together. The debt follows the data: nothing is settled while it waits
 * here, so a crash loses nothing that was acknowledged.
 */
export class Batcher {
  private readonly settings: BatcherSettings;
  private readonly clock: Clock;
  private readonly emit: (delivery: Delivery) => void;
  private readonly onEmpty: () => void;
  private waiting: Delivery[] = [];
  private size = 0;
  private cancelTimer: (() => void) | undefined;

  constructor(
    settings: BatcherSettings,
    clock: Clock,
    emit: (delivery: Delivery) => void,
    onEmpty: () => void = () => {},
  ) {
    this.settings = settings;
    this.clock = clock;
    this.emit = emit;
    this.onEmpty = onEmpty;
  }

  add(delivery: Delivery): void {
    this.waiting.push(delivery);
    this.size += this.sizeOf(delivery.batch);
    const { minSize, timeoutMs } = this.settings;
    if (this.size >= minSize || timeoutMs === 0) this.flush();
    else this.cancelTimer ??= this.clock.after(timeoutMs, () => this.flush());
  }

  /** Sends what waits, now. */
  flush(): void {
    const { waiting, size } = this;
    this.discard();
    this.onEmpty();
    if (waiting.length === 0) return;
    const all = Delivery.merge(waiting, Batch.merge(waiting.map((delivery) => delivery.batch)));
    const { maxSize, sizer } = this.settings;
    if (maxSize === 0 || size <= maxSize || sizer === "requests") return this.emit(all);
    const limits = sizer === "items" ? { records: maxSize } : { bytes: maxSize };
    for (const piece of all.split(splitBatch(all.batch, limits))) this.emit(piece);
  }

  /** Forgets what waits and stops the clock; gives it to whoever settles it. */
  discard(): readonly Delivery[] {
    const { waiting } = this;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.waiting = [];
    this.size = 0;
    return waiting;
  }

  private sizeOf(batch: Batch): number {
    const { sizer } = this.settings;
    return sizer === "items" ? batch.count : sizer === "bytes" ? batch.byteLength : 1;
  }
}
