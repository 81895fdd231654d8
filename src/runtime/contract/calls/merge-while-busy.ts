import type { Clock } from "../clock.js";
import type { Delivery, Origin } from "../delivery.js";
import { Refusal } from "../errors/refusal.js";
import type { Exporter } from "../exporter.js";
import { Batcher, piecesOf } from "../operators/batcher.js";
import type { Batching } from "../operators/outlet.js";

/** With fewer sends under way nothing waits, because the backend can take one more. */
const MIN_BUSY_SENDS = 2;

/**
 * Merges deliveries that come while the exporter is busy. A delivery that finds it idle is sent alone at once. Others
 * are gathered and sent together when a send ends, when there are enough of them, or when their time is up. Their
 * senders wait for the result in any case, so they are answered as early as possible. A merged delivery that is refused
 * permanently is sent again alone, so that none is refused because of the others.
 */
export class MergeWhileBusy {
  private readonly batching: Batching;
  private readonly exporter: Pick<Exporter, "metadataKeys">;
  private readonly clock: Clock;
  private readonly send: (delivery: Delivery) => void;
  /** Waiting deliveries by the metadata that keeps them apart. The one that has waited longest is first. */
  private readonly waiting = new Map<string, Gathering>();
  private sending = 0;

  /** The caller must call `sent` once for each call of `send`, when it has ended. */
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
    gathering.batcher.add(this.retriedAloneIfRefused(delivery, gathering));
  }

  /** To be called when a send has ended. */
  sent(): void {
    this.sending -= 1;
    for (const { batcher } of this.waiting.values()) {
      if (this.sending >= MIN_BUSY_SENDS) return;
      batcher.flush();
    }
  }

  /** Sends all waiting deliveries now. */
  flush(): void {
    for (const { batcher } of [...this.waiting.values()]) batcher.flush();
  }

  /** Stops all timers. The waiting deliveries must be settled by their holder. */
  stop(): void {
    for (const { batcher } of this.waiting.values()) batcher.takeWaiting();
    this.waiting.clear();
  }

  private createBatcher(key: string): Batcher {
    const onFlush = () => this.waiting.delete(key);
    return new Batcher(this.batching, this.clock, (merged) => this.begin(merged), onFlush);
  }

  private retriedAloneIfRefused(delivery: Delivery, gathering: Gathering): Delivery {
    return delivery.catchRefusal((again, refusal) => {
      if (refusal.kind === "permanent" && gathering.count > 1) this.sendAlone(again);
      else again.refuse(refusal);
    });
  }

  /** Sends a delivery on its own, cut into pieces if it is too large. */
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

/** Deliveries that wait to be sent together. */
interface Gathering {
  count: number;
  readonly batcher: Batcher;
}

function metadataKey({ metadata }: Origin, keys: readonly string[]): string {
  return keys.length === 0 ? "" : JSON.stringify(keys.map((key) => metadata?.get(key) ?? null));
}
