import { Subject, type Subscription } from "rxjs";
import {
  type Clock,
  type Counter,
  type Debt,
  type Delivery,
  type FailureHandler,
  HeldDebts,
  type Logger,
  limitedLog,
  type Processor,
  type Setback,
} from "#contract";
import {
  assertObservable,
  assertSubscription,
  checkOutput,
  DELIVERY_LOST,
  type GarbageCollection,
  guardStream,
  LostDeliveries,
  type OutputRules,
  type PluginTracker,
  RecordGrowth,
} from "#contract/border";
import { ERROR_CODES, errorMessage, isGenericCode, Refusal, toRefusal } from "#contract/errors";
import { type DeliveryHandlers, type DeliveryOutput, holdingOf, statefulProcessor } from "#contract/operators";
import type { Flow, Tally } from "./intake/intake.js";

/** How to find deliveries that a plugin has dropped. */
interface PluginWatch {
  /** Undefined for a component that declares that it holds deliveries. */
  readonly garbageCollection: GarbageCollection | undefined;
}

export interface IsolateSettings extends OutputRules {
  readonly id: string;
  readonly logger: Logger;
  readonly incoming: Counter;
  readonly outgoing: Counter;
  readonly failures: Counter;
  readonly clock: Clock;
  /** Set for plugins, whose running code is tracked. */
  readonly pluginTracker?: PluginTracker | undefined;
  /** Set for plugins, to detect dropped deliveries. */
  readonly plugin?: PluginWatch | undefined;
  /** True for connectors: they also get deliveries with a setback, and decide where those go. */
  readonly takesSetbacks?: boolean;
  /**
   * True if data on which the component fails is kept as a dead letter, provided its operators can tell which data;
   * otherwise it is refused.
   */
  readonly keepsFailures?: boolean;
  /** Called whenever the component itself takes records out of the pipeline. */
  readonly onSetback?: (() => void) | undefined;
  /** The component's output in its pipeline; a connector has several. */
  readonly flow?: Flow | undefined;
  readonly tally?: Tally | undefined;
  /** How large the component may make a record, in bytes. */
  readonly maxRecordSize?: number | undefined;
  /** True as soon as the whole graph is being aborted: the component must not catch refusals any more. */
  readonly isAborting?: (() => boolean) | undefined;
}

/**
 * Isolates a processor: whatever it does, the pipeline continues and every delivery is settled.
 *
 * An operator that errors loses its state. All deliveries inside it are refused as transient, and the next delivery
 * starts a new operator; the same happens if it completes by itself. `create` is called again for that, so a processor
 * must keep its state inside its operator. The first call is made immediately, so that the caller can report a
 * processor that cannot be created.
 *
 * An unexpected refusal (an exception, or a hang on one batch) is counted, logged and labelled with the processor's
 * name. The same applies if the processor emits something that is not a batch of the pipeline's signal, or if a plugin
 * drops a delivery.
 *
 * Deliveries with a setback bypass the processor, unless `takesSetbacks` is set.
 */
export function isolate(create: () => Processor, settings: IsolateSettings): Processor {
  let first: Processor | undefined = create();
  const make = () => {
    const processor = first ?? create();
    first = undefined;
    return processor;
  };
  const failures = new ProcessorFailures(settings);
  const trackerId = settings.pluginTracker?.register(`processor ${settings.id}`) ?? 0;
  return statefulProcessor((out) => new IsolatedProcessor(make, settings, failures, trackerId, out));
}

/**
 * One subscription to an isolated processor.
 *
 *     idle --delivery--> running --drain--> draining --complete or failure--> ended
 *       ^                   |                                                   ^
 *       +-----failure-------+--------------------abort--------------------------+
 */
class IsolatedProcessor implements DeliveryHandlers {
  private state: "idle" | "running" | "draining" | "ended" = "idle";
  private readonly make: () => Processor;
  private readonly settings: IsolateSettings;
  private readonly failures: ProcessorFailures;
  private readonly trackerId: number;
  private readonly out: DeliveryOutput;
  private readonly heldDebts: HeldDebts;
  private readonly growth: RecordGrowth;
  /** Input and subscription of the running operator; both are replaced after a failure. */
  private input = new Subject<Delivery>();
  private subscription: Subscription | undefined;
  private lostDeliveries: LostDeliveries | undefined;
  private resolveDrained = () => {};
  /** The debt of the delivery that is being passed to the operator: it is blamed if the operator fails meanwhile. */
  private passing: Debt | undefined;

  constructor(
    make: () => Processor,
    settings: IsolateSettings,
    failures: ProcessorFailures,
    trackerId: number,
    out: DeliveryOutput,
  ) {
    this.make = make;
    this.settings = settings;
    this.failures = failures;
    this.trackerId = trackerId;
    this.out = out;
    const onFailure = settings.keepsFailures === true ? failures.keep : undefined;
    this.heldDebts = new HeldDebts({ mapRefusal: failures.report, onFailure, isAborting: settings.isAborting });
    this.growth = new RecordGrowth(settings.maxRecordSize ?? Number.POSITIVE_INFINITY);
    if (settings.tally !== undefined) settings.tally.isIdle = () => this.heldDebts.size === 0;
  }

  next(delivery: Delivery): void {
    const { settings, failures } = this;
    if (delivery.setback !== undefined && settings.takesSetbacks !== true) return this.out.next(delivery);
    settings.incoming.add(delivery.batch.count);
    this.growth.noteInput(delivery.batch, this.heldDebts.size === 0);
    this.heldDebts.add(delivery.debt);
    const trackedBefore = settings.pluginTracker?.enter(this.trackerId);
    const passingBefore = this.passing;
    const refusalsBefore = failures.refusals;
    this.passing = delivery.debt;
    try {
      if (!this.hasOperator) this.start();
      if (this.lostDeliveries === undefined) this.input.next(delivery);
      else this.lostDeliveries.passing(() => this.input.next(delivery.withLease()));
    } catch (error) {
      this.fail(error);
    }
    this.passing = passingBefore;
    const { tally } = settings;
    if (tally !== undefined && failures.refusals > refusalsBefore) tally.refused += delivery.batch.count;
    settings.pluginTracker?.enter(trackedBefore!);
  }

  drain(): void | Promise<void> {
    if (!this.hasOperator) return this.abort();
    const drained = new Promise<void>((resolve) => {
      this.resolveDrained = resolve;
    });
    this.state = "draining";
    try {
      this.input.complete();
    } catch (error) {
      this.fail(error);
    }
    return drained;
  }

  abort(): void {
    this.state = "ended";
    this.unsubscribe();
    this.heldDebts.close(abortRefusal(this.settings.id));
    this.resolveDrained();
  }

  /** Also false when the operator ended its subscription silently. */
  private get hasOperator(): boolean {
    return this.subscription !== undefined && !this.subscription.closed;
  }

  private start(): void {
    const processor = this.make();
    this.lostDeliveries = watchFor(processor, this.heldDebts, this.settings);
    this.heldDebts.watch = this.lostDeliveries;
    this.input = new Subject();
    const input = guardStream(this.input, (error) => this.fail(error));
    const output = assertObservable(processor(input)).subscribe({
      next: (delivery) => this.handOnOrFail(delivery),
      error: (error) => this.fail(error),
      complete: () => this.completed(),
    });
    if (assertSubscription(output).closed) return;
    this.subscription = output;
    this.state = "running";
  }

  private completed(): void {
    if (this.state === "draining") this.abort();
    else this.fail(new Error("completed unexpectedly"));
  }

  /**
   * Unsubscribes the operator before its deliveries are refused: a refusal may bring data back in at once, through a
   * connector that tries another pipeline.
   */
  private fail(why: unknown): void {
    const { id } = this.settings;
    const wasDraining = this.state === "draining";
    this.state = "idle";
    this.unsubscribe();
    this.passing?.blame(failureRefusal(id, why, { failedIn: id }));
    const refused = this.heldDebts.refuseAll(failureRefusal(id, why));
    this.failures.restarted(why, refused);
    if (wasDraining) this.abort();
  }

  private unsubscribe(): void {
    const ended = this.subscription;
    this.subscription = undefined;
    this.lostDeliveries?.stop();
    try {
      ended?.unsubscribe();
    } catch (error) {
      this.failures.failedToStop(error);
    }
  }

  private handOnOrFail(delivery: Delivery): void {
    try {
      this.handOn(delivery);
    } catch (error) {
      this.fail(error);
    }
  }

  private handOn(delivery: Delivery): void {
    const { settings, out } = this;
    const refusal = checkOutput(delivery, settings) ?? (out.closed ? abortRefusal(settings.id) : undefined);
    if (refusal !== undefined) return delivery.refuse(refusal);
    if (delivery.debt.isRefused) return; // the sender will send it again, so it would arrive twice
    const tooLarge = delivery.setback === undefined ? this.growth.check(delivery.batch) : undefined;
    if (tooLarge !== undefined) return this.keepOrRefuse(delivery, tooLarge);
    this.heldDebts.remove(delivery.debt);
    if (delivery.setback === undefined) {
      settings.outgoing.add(delivery.batch.count);
      settings.flow?.pass(delivery.batch);
    } else {
      if (settings.tally !== undefined) settings.tally.deadLettered += delivery.batch.count;
      settings.onSetback?.();
    }
    const trackedBefore = settings.pluginTracker?.enter(0);
    out.next(delivery);
    settings.pluginTracker?.enter(trackedBefore!);
  }

  /** Keeps records that have grown too large as dead letters, or refuses their delivery. */
  private keepOrRefuse(delivery: Delivery, tooLarge: Refusal): void {
    const setback = this.heldDebts.onFailure?.(tooLarge);
    if (setback === undefined) return delivery.refuse(tooLarge);
    for (const part of delivery.split(this.growth.separate(delivery.batch, setback))) this.handOn(part);
  }
}

/** Counts and logs the failures of one processor, over all of its subscriptions. */
class ProcessorFailures {
  /** Number of deliveries refused inside the processor. */
  refusals = 0;
  private readonly settings: IsolateSettings;
  private readonly logFailure: (refusal: Refusal) => void;
  private readonly logLost: (refusal: Refusal) => void;
  private readonly logRestart: (restart: { readonly why: unknown; readonly refused: number }) => void;

  constructor(settings: IsolateSettings) {
    const { clock, logger } = settings;
    this.settings = settings;
    this.logFailure = limitedLog(clock, (refusal, suppressed) =>
      logger.error({ err: refusal.cause ?? refusal, suppressed }, `the processor failed: ${refusal.message}`),
    );
    this.logLost = limitedLog(clock, (refusal, suppressed) =>
      logger.warn({ code: refusal.code, suppressed }, `the processor lost a delivery: ${refusal.message}`),
    );
    this.logRestart = limitedLog(clock, ({ why, refused }, suppressed) =>
      logger.error({ err: why, refused, suppressed }, "the processor failed and was restarted"),
    );
  }

  /** Called for every refusal inside the processor; labels an unexpected one with the processor's name. */
  readonly report = (refusal: Refusal): Refusal => {
    this.refusals += 1;
    if (!refusal.unexpected) return refusal;
    this.settings.failures.add(1);
    if (refusal.code === DELIVERY_LOST) this.logLost(refusal);
    else this.logFailure(refusal);
    return withProcessorName(this.settings.id, refusal);
  };

  /** Keeps data on which the processor failed as a dead letter, unless the refusal was deliberate. */
  readonly keep: FailureHandler = (error) => {
    const refusal = toRefusal(error);
    if (!refusal.unexpected) return undefined;
    this.settings.failures.add(1);
    this.logFailure(refusal);
    return failureSetback(this.settings.id, refusal);
  };

  restarted(why: unknown, refused: number): void {
    this.settings.failures.add(1);
    this.logRestart({ why, refused });
  }

  failedToStop(error: unknown): void {
    this.settings.failures.add(1);
    this.settings.logger.error({ err: error }, "the processor failed while it was stopped");
  }
}

/** Undefined for built-in components, and for operators that settle everything whatever the author does. */
function watchFor(processor: Processor, heldDebts: HeldDebts, settings: IsolateSettings): LostDeliveries | undefined {
  const { plugin, clock } = settings;
  const holding = holdingOf(processor);
  if (plugin === undefined || holding === "settles_all") return undefined;
  const garbageCollection = holding === "on_purpose" ? undefined : plugin.garbageCollection;
  return new LostDeliveries({ heldDebts, clock, garbageCollection });
}

function withProcessorName(id: string, refusal: Refusal): Refusal {
  const { kind, code, retryAfterMs, category, status, cause } = refusal;
  return new Refusal(kind, `processor ${id} failed: ${refusal.message}`, {
    code,
    cause,
    failedIn: id,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(category !== undefined && { category }),
    ...(status !== undefined && { status }),
  });
}

function failureSetback(id: string, { message, code }: Refusal): Setback {
  return {
    reason: "rejected",
    category: "processor_failed",
    code: isGenericCode(code) ? ERROR_CODES.SLUICE_COMPONENT_FAILED : code,
    message: `processor ${id} failed: ${message}`,
  };
}

function failureRefusal(id: string, why: unknown, options: { readonly failedIn?: string } = {}): Refusal {
  const message = `processor ${id} failed: ${errorMessage(why)}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_COMPONENT_FAILED, cause: why, ...options });
}

function abortRefusal(id: string): Refusal {
  return new Refusal("transient", `processor ${id} was stopped`, { code: ERROR_CODES.SLUICE_SHUTTING_DOWN });
}
