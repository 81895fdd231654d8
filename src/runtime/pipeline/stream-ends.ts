import {
  catchError,
  concat,
  defer,
  EMPTY,
  filter,
  finalize,
  ignoreElements,
  merge,
  type Observable,
  Subject,
  tap,
} from "rxjs";
import { type Delivery, type Logger, refusalOfSetback } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import type { Journal, Outlet } from "#contract/operators";
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

/** A stream with its end: emits nothing, and completes when all of its input has been handled. */
export type EndedStream = Observable<never>;

/** The deliveries of one pipeline for one exporter. */
export interface OutletFeed {
  readonly pipeline: string;
  readonly deliveries: Deliveries;
}

/** Ends streams in an exporter's outlet. When all of them complete, the outlet drains; unsubscribing aborts it. */
export function endInOutlet(outlet: Outlet, feeds: readonly OutletFeed[], logger: Logger): EndedStream {
  const taken = feeds.map(({ pipeline, deliveries }) => handTo(deliveries, (one) => outlet.accept(one, pipeline)));
  return thenDrain(merge(...taken), outlet, logger);
}

/**
 * Puts a journal into a stream: the journal gets the input, and `output` emits what it hands on. The end of the input
 * drains the journal before its output ends.
 */
export function passThroughJournal(
  input: Deliveries,
  journal: Journal,
  output: DeliverySource,
  logger: Logger,
): Deliveries {
  const taken = handTo(input, (delivery) => journal.accept(delivery));
  const drained = thenDrain(taken, journal, logger).pipe(tap({ complete: () => output.complete() }));
  return merge(output.deliveries, drained);
}

/**
 * Removes deliveries with a setback from the stream to a connector that changes the signal: a dead letter is not
 * converted. It is accepted if another branch of its pipeline keeps it, and refused otherwise.
 */
export function settleSetbacks(stream: Deliveries, isKeptElsewhere: boolean): Deliveries {
  return stream.pipe(
    filter((delivery) => {
      const { setback } = delivery;
      if (setback === undefined) return true;
      if (isKeptElsewhere || setback.onlyIfAlwaysSaved) return delivery.drop();
      delivery.refuse(refusalOfSetback(setback));
      return false;
    }),
  );
}

/** An exception refuses the delivery: an error would end the whole graph. */
function handTo(deliveries: Deliveries, accept: (delivery: Delivery) => void): EndedStream {
  return deliveries.pipe(
    tap((delivery) => {
      try {
        accept(delivery);
      } catch (error) {
        delivery.refuse(error);
      }
    }),
    ignoreElements(),
  );
}

/** Completes when the stream has completed and the journal or outlet behind it has drained. */
function thenDrain(stream: EndedStream, end: Pick<Outlet, "drain" | "abort">, logger: Logger): EndedStream {
  return defer(() => {
    let isDrained = false;
    const drain = defer(() => end.drain()).pipe(
      catchError((error: unknown) => {
        logger.error({ err: error }, "the drain failed");
        return EMPTY;
      }),
      ignoreElements(),
      tap({ complete: () => (isDrained = true) }),
    );
    return concat(stream, drain).pipe(finalize(() => isDrained || end.abort()));
  });
}
