import { Debt, Delivery } from "#contract";
import { BUSY_RETRY_AFTER_MS, Refusal } from "#contract/errors";
import type { ConfigNow } from "#contract/operators";
import type { NewEntry } from "../../store/store.js";
import type { Controls } from "../dead-letters.js";
import { hasQueue } from "../exporter-control.js";
import { hasRoom, storeCopy } from "../forwarder.js";

const PLACE = "forwarded dead letters";
/** The name under which the copy's own facts travel with its batch. */
const FACTS = "copy";

type CopyFacts = Omit<NewEntry, "batch" | "generation"> & { readonly to: string };

/**
 * Hands copies of dead letters to worker 1, for exporters that only worker 1 runs. There they are put into the exporter's
 * queue. A copy that was handed over twice is recognised by its id while it waits.
 */
export class ForwardsToFirst {
  private readonly controls: Controls;
  private readonly running: ConfigNow;
  private readonly handOver: (delivery: Delivery) => void;

  constructor(
    open: (place: string, onArrival: (delivery: Delivery) => void) => (delivery: Delivery) => void,
    controls: Controls,
    running: ConfigNow,
  ) {
    this.controls = controls;
    this.running = running;
    this.handOver = open(PLACE, (delivery) => void this.arrive(delivery));
  }

  /** Resolves when worker 1 has stored the copy, or to false if it cannot do so at the moment. */
  send(to: string, { batch, generation: _, ...entry }: NewEntry): Promise<boolean> {
    const facts: CopyFacts = { ...entry, to };
    const metadata = new Map([[FACTS, [JSON.stringify(facts)]]]);
    const { receiver, transport } = entry.source;
    return new Promise((resolve) => {
      const debt = new Debt(({ ok }) => resolve(ok));
      this.handOver(new Delivery(batch, { receiver, transport, metadata }, debt));
    });
  }

  private async arrive(delivery: Delivery): Promise<void> {
    try {
      const [text = ""] = delivery.origin.metadata?.get(FACTS) ?? [];
      const { to, ...entry } = JSON.parse(text) as CopyFacts;
      const target = this.controls.get(to);
      if (target === undefined || !hasQueue(target) || !hasRoom(target))
        throw new Refusal("transient", `${to} has no room for dead letters`, { retryAfterMs: BUSY_RETRY_AFTER_MS });
      await storeCopy(target, { ...entry, batch: delivery.batch, generation: this.running.config.generation });
      delivery.accept();
    } catch (error) {
      delivery.refuse(error);
    }
  }
}
