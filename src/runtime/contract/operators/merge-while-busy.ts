import type { Clock } from "../clock.js";
import type { Delivery, Origin } from "../delivery.js";
import type { Batching } from "../outlet.js";
import { Batcher } from "./batcher.js";

/** While fewer sends are under way nothing waits: the other side has room for one more. */
const MIN_BUSY_SENDS = 4;

/**
 * Merges what comes while the exporter is busy. A delivery that finds it idle is sent at once, alone; others gather and leave
 * together when a send ends, when there are enough of them, or when their time is up. Their senders wait for the result in any
 * case, so they are told as early as can be.
 */
export class MergeWhileBusy {
  private readonly batching: Batching;
  private readonly clock: Clock;
  private readonly send: (delivery: Delivery) => void;
  /** Those in which something waits, by the metadata that keeps it apart; the one that has waited longest is first. */
  private readonly waiting = new Map<string, Batcher>();
  private sending = 0;

  /** Of every call of `send` it is told once, by `sent`, when that has ended. */
  constructor(batching: Batching, clock: Clock, send: (delivery: Delivery) => void) {
    this.batching = batching;
    this.clock = clock;
    this.send = send;
  }

  add(delivery: Delivery): void {
    const key = metadataKey(delivery.origin, this.batching.metadataKeys);
    let batcher = this.waiting.get(key);
    if (batcher === undefined) {
      batcher = new Batcher(
        this.batching,
        this.clock,
        (merged) => this.begin(merged),
        () => this.waiting.delete(key),
      );
      this.waiting.set(key, batcher);
    }
    batcher.add(delivery);
    if (this.sending < MIN_BUSY_SENDS && this.waiting.has(key)) batcher.flush();
  }

  /** A send has ended. */
  sent(): void {
    this.sending -= 1;
    for (const batcher of this.waiting.values()) {
      if (this.sending >= MIN_BUSY_SENDS) return;
      batcher.flush();
    }
  }

  /** Sends all that waits, now. */
  flush(): void {
    for (const batcher of [...this.waiting.values()]) batcher.flush();
  }

  /** Stops all timers; what waits is settled by whoever holds it. */
  stop(): void {
    for (const batcher of this.waiting.values()) batcher.takeWaiting();
    this.waiting.clear();
  }

  private begin(delivery: Delivery): void {
    this.sending += 1;
    this.send(delivery);
  }
}

function metadataKey({ metadata }: Origin, keys: readonly string[]): string {
  return keys.length === 0 ? "" : JSON.stringify(keys.map((key) => metadata?.get(key) ?? null));
}
