import { catchError, concat, defer, EMPTY, finalize, ignoreElements, merge, type Observable, Subject, tap } from "rxjs";
import { type Delivery, type Logger, refusalOfSetback } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import type { Journal } from "#contract/operators";

/** A stream of deliveries. A pipeline consists of such streams, from its receivers to its exporters. */
export type Deliveries = Observable<Delivery>;

/**
 * The entry of deliveries into a stream: a stage or a journal. Without a subscriber (after
 * `complete`, and after an abort) a delivery is refused as transient, so that none stays
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
type EndedStream = Observable<never>;

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
 * Returns false, and settles the delivery, if it has a setback: a connector that changes the signal does not convert
 * dead letters. The delivery is accepted if another branch of its pipeline keeps it, and refused otherwise.
 */
export function passesToOtherSignal(delivery: Delivery, isKeptElsewhere: boolean): boolean {
  const { setback } = delivery;
  if (setback === undefined) return true;
  if (isKeptElsewhere || setback.onlyIfAlwaysSaved) delivery.drop();
  else delivery.refuse(refusalOfSetback(setback));
  return false;
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

/** Completes when the stream has completed and the journal behind it has drained. */
function thenDrain(stream: EndedStream, end: Pick<Journal, "drain" | "abort">, logger: Logger): EndedStream {
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
