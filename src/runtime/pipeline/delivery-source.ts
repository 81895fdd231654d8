import { type Observable, Subject } from "rxjs";
import type { Delivery } from "#contract";
import { shutdownRefusal } from "#contract/errors";

/** A stream of deliveries: a pipeline from its receivers to its exporters is made of these. */
export type Deliveries = Observable<Delivery>;

/**
 * Where deliveries enter a stream: an intake, a journal or a branch of a fan-out. A delivery that nobody is subscribed for is
 * refused, retryably, so that none is left unsettled: before the graph runs, after `complete`, and after an abort.
 */
export class DeliverySource {
  private readonly subject = new Subject<Delivery>();
  readonly deliveries: Deliveries = this.subject.asObservable();

  next(delivery: Delivery): void {
    if (this.subject.observed) this.subject.next(delivery);
    else delivery.refuse(shutdownRefusal());
  }

  /** Ends the stream: what is downstream drains. */
  complete(): void {
    this.subject.complete();
  }
}
