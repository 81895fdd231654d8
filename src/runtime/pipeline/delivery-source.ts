import { type Observable, Subject } from "rxjs";
import type { Delivery } from "#contract";
import { shutdownRefusal } from "#contract/errors";

/** A stream of deliveries. A pipeline consists of such streams, from its receivers to its exporters. */
export type Deliveries = Observable<Delivery>;

/**
 * The entry of deliveries into a stream: an intake, a journal or a branch of a fan-out. Without a subscriber (before
 * the graph runs, after `complete`, and after an abort) a delivery is refused as transient, so that none stays
 * unsettled.
 */
export class DeliverySource {
  private readonly subject = new Subject<Delivery>();
  readonly deliveries: Deliveries = this.subject.asObservable();

  next(delivery: Delivery): void {
    if (this.subject.observed) this.subject.next(delivery);
    else delivery.refuse(shutdownRefusal());
  }

  /** Ends the stream: everything downstream drains. */
  complete(): void {
    this.subject.complete();
  }
}
