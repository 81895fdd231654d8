import type { Clock } from "../clock.js";
import type { Exporter } from "../component.js";
import type { Delivery, Origin } from "../delivery.js";
import { Refusal } from "../errors/refusal.js";
import { Batcher, piecesOf } from "./batcher.js";
import type { Batching } from "./outlet.js";

/** While fewer sends are under way nothing waits: the other side has room for one more. */
const MIN_BUSY_SENDS = 2;

/**
 * Merges what comes while the exporter is busy. A delivery that finds it idle is sent at once, alone; others gather and leave
 * together when a send ends, when there are enough of them, or when their time is up. Their senders wait for the result in any
 * case, so they are told as early as can be. What is refused for good with others is sent again alone: nobody is refused for
 * the company he was in.
 */
export class MergeWhileBusy {
  private readonly batching: Batching;
  private readonly exporter: Pick<Exporter, "metadataKeys">;
  private readonly clock: Clock;
  private readonly send: (delivery: Delivery) => void;
  /** Those in which something waits, by the metadata that keeps it apart; the one that has waited longest is first. */
  private readonly waiting = new Map<string, Gathering>();
  private sending = 0;

  /** Of every call of `send` it is told once, by `sent`, when that has ended. */
  constructor(
    batching: Batching,
    exporter: Pick<Exporter, "metadataKeys">,
    clock: Clock,
    send: (delivery: Delivery) => void,
  ) {
    this.batching = batching;
    this.exporter = exporter;
    this.clock = clock;
    this.send = send;
  }

  add(delivery: Delivery): void {
    const { metadataKeys: exporterKeys = [] } = this.exporter;
    const { metadataKeys } = this.batching;
    const keys = exporterKeys.length === 0 ? metadataKeys : [...metadataKeys, ...exporterKeys];
    const key = metadataKey(delivery.origin, keys);
    if (this.sending < MIN_BUSY_SENDS && !this.waiting.has(key)) return this.sendAlone(delivery);
    let gathering = this.waiting.get(key);
    if (gathering === undefined) {
      gathering = { count: 0, batcher: this.createBatcher(key) };
      this.waiting.set(key, gathering);
    }
    gathering.count += 1;
    gathering.batcher.add(this.withSecondChance(delivery, gathering));
  }

  /** A send has ended. */
  sent(): void {
    this.sending -= 1;
    for (const { batcher } of this.waiting.values()) {
      if (this.sending >= MIN_BUSY_SENDS) return;
      batcher.flush();
    }
  }

  /** Sends all that waits, now. */
  flush(): void {
    for (const { batcher } of [...this.waiting.values()]) batcher.flush();
  }

  /** Stops all timers; what waits is settled by whoever holds it. */
  stop(): void {
    for (const { batcher } of this.waiting.values()) batcher.takeWaiting();
    this.waiting.clear();
  }

  private createBatcher(key: string): Batcher {
    const onFlush = () => this.waiting.delete(key);
    return new Batcher(this.batching, this.clock, (merged) => this.begin(merged), onFlush);
  }

  private withSecondChance(delivery: Delivery, gathering: Gathering): Delivery {
    return delivery.catchRefusal((again, refusal) => {
      if (refusal.kind === "permanent" && gathering.count > 1) this.sendAlone(again);
      else again.refuse(refusal);
    });
  }

  /** By itself, though cut if it is larger than may be sent. */
  private sendAlone(delivery: Delivery): void {
    const pieces = piecesOf(delivery.batch, this.batching);
    if (pieces instanceof Refusal) delivery.refuse(pieces);
    else for (const piece of delivery.split(pieces)) this.begin(piece);
  }

  private begin(delivery: Delivery): void {
    this.sending += 1;
    this.send(delivery);
  }
}

/** What waits to leave together. */
interface Gathering {
  count: number;
  readonly batcher: Batcher;
}

function metadataKey({ metadata }: Origin, keys: readonly string[]): string {
  return keys.length === 0 ? "" : JSON.stringify(keys.map((key) => metadata?.get(key) ?? null));
}
