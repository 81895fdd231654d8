import {
  catchError,
  concat,
  defer,
  EMPTY,
  finalize,
  ignoreElements,
  lastValueFrom,
  merge,
  mergeAll,
  Observable,
  type Observer,
  type OperatorFunction,
  Subject,
  type Subscriber,
  Subscription,
  tap,
} from "rxjs";
import type { Delivery, Logger } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import type { Journal } from "#contract/operators";

/**
 * The parts of a graph. `next` hands a delivery on, `complete` drains, and unsubscribing aborts:
 *
 *     entry ---> junction --branch--> place (inlet, hot swap) ---> junction --branch--> place of an outlet (into)
 *
 * A reload changes what the parts are connected to, in one synchronous step, while they run. Nothing gets lost between
 * two of them: what cannot go on is refused.
 */
export type Deliveries = Observable<Delivery>;

/** An item of a stream: whoever cannot hand it on refuses it. */
export interface Refusable {
  refuse(error: unknown): void;
}

/** 1. A subject that refuses what nobody would get: before it is subscribed to, after `complete`, and after an abort. */
export class DeliverySource<T extends Refusable = Delivery> extends Subject<T> {
  override next(item: T): void {
    if (this.observed) super.next(item);
    else item.refuse(shutdownRefusal());
  }
}

/** 2. `merge` whose inputs can grow: completes when it is closed and all of its inputs have completed. */
class Inlet<T> {
  private readonly inputs = new Subject<Observable<T>>();
  readonly merged: Observable<T> = this.inputs.pipe(mergeAll());

  add(stream: Observable<T>): void {
    this.inputs.next(stream);
  }

  close(): void {
    this.inputs.complete();
  }
}

/** One version of a component, while its successor has taken its place. */
export interface Former {
  /** Completes when it has handed on everything that it held. */
  readonly ended: Observable<never>;
  /** Everything still inside is refused. */
  abort(): void;
}

/**
 * 3. Hot swap: runs the newest version of a component. The one before is completed, and what it still hands on comes out
 * too. While it holds, what comes waits in order, and its senders with it.
 */
class HotSwap<In extends Refusable, Out> {
  private readonly logger: Logger;
  private readonly versions = new Set<Version<In>>();
  private readonly waiting: In[] = [];
  private current: Version<In> | undefined;
  private out: Subscriber<Out> | undefined;
  private isReleasing = false;
  private hasInputEnded = false;

  constructor(logger: Logger) {
    this.logger = logger;
  }

  get isHolding(): boolean {
    return this.current === undefined;
  }

  /** To be subscribed to once, before the first version is used. */
  readonly operator: OperatorFunction<In, Out> = (input) =>
    new Observable((out) => {
      this.out = out;
      const upstream = input.subscribe({
        next: (item) => this.pass(item),
        error: (error) => {
          this.logFailure(error);
          this.inputEnded();
        },
        complete: () => this.inputEnded(),
      });
      return () => {
        upstream.unsubscribe();
        for (const version of this.versions) version.abort();
        for (const item of this.waiting.splice(0)) item.refuse(shutdownRefusal());
      };
    });

  /** Runs this version from now on. What was held goes to it first. */
  use(operator: OperatorFunction<In, Out>): Former | undefined {
    if (this.out?.closed === true) return undefined; // aborted: it would never be ended
    const former = this.current;
    const version = new Version<In>();
    this.versions.add(version);
    this.current = version;
    this.run(version, operator);
    this.release();
    former?.input.complete();
    return former;
  }

  /** From now on what comes waits until another version is used. */
  hold(): Former | undefined {
    const former = this.current;
    this.current = undefined;
    former?.input.complete();
    return former;
  }

  private pass(item: In): void {
    if (this.current === undefined || this.isReleasing) this.waiting.push(item);
    else this.current.input.next(item);
  }

  /** Items that come meanwhile, for example because a sender has its answer, wait behind those that were held before. */
  private release(): void {
    if (this.isReleasing) return;
    this.isReleasing = true;
    try {
      while (this.current !== undefined && this.waiting.length > 0) this.current.input.next(this.waiting.shift()!);
    } finally {
      this.isReleasing = false;
    }
    if (this.hasInputEnded) this.current?.input.complete();
  }

  private inputEnded(): void {
    this.hasInputEnded = true;
    this.current?.input.complete();
    this.completeIfDone();
  }

  /** A version that fails has no subscription any more: what comes is refused until there is another one. */
  private run(version: Version<In>, operator: OperatorFunction<In, Out>): void {
    const { out } = this;
    try {
      version.subscription.add(
        operator(version.input).subscribe({
          next: (item) => out!.next(item),
          error: (error) => {
            this.logFailure(error);
            version.abort();
          },
          complete: () => version.abort(),
        }),
      );
    } catch (error) {
      this.logFailure(error);
      version.abort();
    }
    version.subscription.add(() => {
      this.versions.delete(version);
      this.completeIfDone();
    });
  }

  private logFailure(error: unknown): void {
    this.logger.error({ err: error }, "a stream ended with an error");
  }

  private completeIfDone(): void {
    if (this.hasInputEnded && this.current !== undefined && this.versions.size === 0) this.out!.complete();
  }
}

/** A component in a hot swap, with its input. */
class Version<In extends Refusable> implements Former {
  readonly input = new DeliverySource<In>();
  readonly subscription = new Subscription();
  readonly ended: Observable<never> = endOf(this.subscription);

  abort(): void {
    this.subscription.unsubscribe();
  }
}

function endOf(subscription: Subscription): Observable<never> {
  return new Observable((out) => subscription.add(() => out.complete()));
}

/** An outlet or a journal, which takes deliveries out of a stream. */
interface StreamEnd<T> {
  accept(item: T): void;
  /** Called when no more deliveries come. */
  drain(): Promise<void>;
  /** Called instead if the stream is aborted. Unsettled deliveries are refused. */
  abort(): void;
}

/** 5. The end of a stream. Completes when the input has completed and the end has drained. */
export function into<T extends Refusable>(end: StreamEnd<T>, logger: Logger): OperatorFunction<T, never> {
  return (input) =>
    defer(() => {
      let isDrained = false;
      const taken = input.pipe(
        tap((item) => acceptOrRefuse(end, item)),
        ignoreElements(),
      );
      const drained = defer(() => end.drain()).pipe(
        catchError((error: unknown) => {
          logger.error({ err: error }, "the drain failed");
          return EMPTY;
        }),
        ignoreElements(),
        tap({ complete: () => (isDrained = true) }),
      );
      return concat(taken, drained).pipe(finalize(() => isDrained || end.abort()));
    });
}

/** A throw refuses the delivery: an error would end the stream. */
function acceptOrRefuse<T extends Refusable>(end: StreamEnd<T>, item: T): void {
  try {
    end.accept(item);
  } catch (error) {
    item.refuse(error);
  }
}

/** Puts a journal into a stream: it gets the input, and `output` is what it hands on. It drains before its output ends. */
export function through(
  journal: StreamEnd<Delivery> & Pick<Journal, "isForUnattended">,
  output: DeliverySource,
  logger: Logger,
): OperatorFunction<Delivery, Delivery> {
  const passesBy = ({ origin }: Delivery) => journal.isForUnattended === true && origin.isUnattended !== true;
  const end: StreamEnd<Delivery> = {
    accept: (delivery) => (passesBy(delivery) ? output.next(delivery) : journal.accept(delivery)),
    drain: () => journal.drain(),
    abort: () => journal.abort(),
  };
  return (input) =>
    merge(output.asObservable(), input.pipe(into(end, logger), tap({ complete: () => output.complete() })));
}

/** Where a receiver hands in. */
export class GraphEntry {
  readonly key: string;
  readonly source = new DeliverySource();
  private readonly subscription: Subscription;

  constructor(key: string, to: Observer<Delivery>) {
    this.key = key;
    this.subscription = this.source.subscribe(to);
  }

  /** Nothing more comes: all that it leads to drains. */
  close(): void {
    this.source.complete();
  }

  abort(): void {
    this.subscription.unsubscribe();
  }
}

/**
 * A place keeps its name while components come and go in it: an inlet, a hot swap, and what the deliveries go on to. So
 * the neighbours of a component that is replaced keep what they hold.
 */
export class GraphPlace<In extends Refusable, Out> {
  readonly key: string;
  private readonly inlet = new Inlet<In>();
  private readonly exchange: HotSwap<In, Out>;
  private readonly subscription: Subscription;
  /** Completes when everything has gone through, or when the place was aborted. */
  readonly ended: Observable<never>;

  constructor(key: string, to: Observer<Out>, logger: Logger) {
    this.key = key;
    this.exchange = new HotSwap(logger);
    this.subscription = this.inlet.merged.pipe(this.exchange.operator).subscribe(to);
    this.ended = endOf(this.subscription);
  }

  /** Deliveries come from there too. */
  add(stream: Observable<In>): void {
    this.inlet.add(stream);
  }

  /** No other streams come. When those that lead here have completed, the component drains. */
  close(): void {
    this.inlet.close();
  }

  use(operator: OperatorFunction<In, Out>): Former | undefined {
    return this.exchange.use(operator);
  }

  hold(): Former | undefined {
    return this.exchange.hold();
  }

  get isHolding(): boolean {
    return this.exchange.isHolding;
  }

  abort(): void {
    this.subscription.unsubscribe();
  }
}

/** Resolves when all of these have ended. */
export function whenEnded(parts: readonly Pick<Former, "ended">[]): Promise<void> {
  return lastValueFrom(merge(...parts.map(({ ended }) => ended)), { defaultValue: undefined });
}
