import { Observable, type Subject, type Subscription } from "rxjs";
import type { Clock } from "../contract/clock.js";
import type { Processor } from "../contract/component.js";
import { type Delivery, HeldDebts } from "../contract/delivery.js";
import { ERROR_CODES } from "../contract/error-codes.js";
import { errorMessage } from "../contract/error-message.js";
import { limitedLog } from "../contract/limited-log.js";
import type { Counter, Logger } from "../contract/observability.js";
import type { PluginTracker } from "../contract/plugin-tracker.js";
import { Refusal } from "../contract/refusal.js";
import { isBatch } from "../telemetry/batch.js";
import type { Signal } from "../telemetry/bytes/signal.js";
import { ProcessorInput } from "./processor-input.js";

export interface IsolateSettings {
  readonly id: string;
  readonly logger: Logger;
  readonly incoming: Counter;
  readonly outgoing: Counter;
  readonly failures: Counter;
  readonly clock: Clock;
  /** The signal of the batches that come out. */
  readonly signal: Signal;
  /** Set for plugins, whose code is watched while it runs. */
  readonly pluginTracker?: PluginTracker | undefined;
  /** The pipelines among which a connector may choose; undefined for a processor. */
  readonly targets?: readonly string[] | undefined;
  /** Also give it what was taken out of the pipeline: for connectors, which decide where that goes. */
  readonly takesSetbacks?: boolean;
  /** Told whenever it takes records out of the pipeline itself. */
  readonly onSetback?: (() => void) | undefined;
}

/**
 * Puts a wall around a processor: whatever it does, the pipeline goes on and every delivery is settled.
 *
 * An operator that errors has lost what it held. Everything inside it at that moment is refused, retryably, and the
 * operator is made anew for the deliveries to come. One that completes by itself is treated the same. `create` is
 * called again for that, so a processor keeps its state inside what it returns. The first call is made here and now: a
 * processor that cannot be made is the caller's to report.
 *
 * A refusal that nobody meant, by a throw or a hang on one batch, is counted, logged and given the processor's name. So
 * is that of a batch in whose place something comes out that is no batch of the pipeline's signal.
 *
 * What a processor before it took out of the pipeline passes by, unless `takesSetbacks`.
 */
export function isolate(create: () => Processor, settings: IsolateSettings): Processor {
  let first: Processor | undefined = create();
  const make = () => {
    const processor = first ?? create();
    first = undefined;
    return processor;
  };
  const logFailure = limitedLog<Refusal>(settings.clock, (refusal, suppressed) =>
    settings.logger.error({ err: refusal.cause ?? refusal, suppressed }, `the processor failed: ${refusal.message}`),
  );
  const logRestart = limitedLog<{ why: unknown; lost: number }>(settings.clock, ({ why, lost }, suppressed) =>
    settings.logger.error({ err: why, refused: lost, suppressed }, "the processor failed and was started anew"),
  );
  const reportUnexpected = (refusal: Refusal) => {
    if (!refusal.unexpected) return refusal;
    settings.failures.add(1);
    logFailure(refusal);
    return withProcessorName(settings.id, refusal);
  };
  const trackerId = settings.pluginTracker?.register(`processor ${settings.id}`) ?? 0;
  return (source) =>
    new Observable<Delivery>((out) => {
      const heldDebts = new HeldDebts(reportUnexpected);
      let input: Subject<Delivery>;
      let current: Subscription | undefined;
      let draining = false;

      // Refusing may bring data back in at once, by a connector that knows another way: by then the broken one is gone.
      const restart = (why: unknown) => {
        unsubscribeCurrent();
        const lost = heldDebts.refuseAll(failureRefusal(settings.id, why));
        settings.failures.add(1);
        logRestart({ why, lost });
        if (draining) out.complete();
      };
      const unsubscribeCurrent = () => {
        const ended = current;
        current = undefined;
        try {
          ended?.unsubscribe();
        } catch (error) {
          settings.failures.add(1);
          settings.logger.error({ err: error }, "the processor failed while it was stopped");
        }
      };
      const start = () => {
        input = new ProcessorInput(restart);
        const subscription = assertObservable(make()(input)).subscribe({
          next(delivery) {
            if (!isDelivery(delivery)) return restart(new TypeError("it handed on something that is no delivery"));
            if (!isBatch(delivery.batch, settings.signal)) return delivery.refuse(notABatchRefusal(settings.signal));
            if (!isRoute(delivery.route, settings.targets))
              return delivery.refuse(invalidRouteRefusal(settings.targets));
            heldDebts.remove(delivery.debt);
            if (delivery.setback === undefined) settings.outgoing.add(delivery.batch.count);
            else settings.onSetback?.();
            const before = settings.pluginTracker?.enter(0);
            out.next(delivery);
            settings.pluginTracker?.enter(before!);
          },
          error: restart,
          complete: () => (draining ? out.complete() : restart(new Error("completed by itself"))),
        });
        if (typeof subscription?.unsubscribe !== "function") throw new TypeError(NOT_AN_OPERATOR);
        if (!subscription.closed) current = subscription;
      };
      const push = (delivery: Delivery) => {
        if (delivery.setback !== undefined && settings.takesSetbacks !== true) return out.next(delivery);
        settings.incoming.add(delivery.batch.count);
        heldDebts.add(delivery.debt);
        const before = settings.pluginTracker?.enter(trackerId);
        try {
          if (current === undefined || current.closed) start();
          input.next(delivery);
        } catch (error) {
          restart(error);
        }
        settings.pluginTracker?.enter(before!);
      };

      const upstream = source.subscribe({
        next: push,
        error: (error) => out.error(error),
        complete() {
          draining = true;
          if (current === undefined || current.closed) return out.complete();
          try {
            input.complete();
          } catch (error) {
            restart(error);
          }
        },
      });
      return () => {
        upstream.unsubscribe();
        unsubscribeCurrent();
        heldDebts.refuseAll(abortRefusal(settings.id));
      };
    });
}

/** By shape: a plugin may have its own copy of rxjs. */
function assertObservable(made: Observable<Delivery>): Observable<Delivery> {
  if (typeof made?.subscribe === "function") return made;
  throw new TypeError(NOT_AN_OPERATOR);
}

const NOT_AN_OPERATOR = "create returned a function that is no operator; wrap it: eachRecord(...) or eachBatch(...)";

/** By shape, as far as it is asked for here and behind: what a plugin hands on need not be what its types say. */
function isDelivery(given: Partial<Delivery> | null | undefined): given is Delivery {
  return (
    typeof given?.debt?.moveTo === "function" &&
    typeof given.accept === "function" &&
    typeof given.refuse === "function" &&
    typeof given.split === "function"
  );
}

/**
 * A pipeline that the connector does not feed would get nothing, and its sender be told that all is well. A processor has
 * no choice, not even of none: a connector behind it would take that for its own.
 */
function isRoute(route: unknown, targets: readonly string[] | undefined): boolean {
  if (route === undefined || targets === undefined) return route === undefined;
  return Array.isArray(route) && route.every((id) => targets.includes(id));
}

function invalidRouteRefusal(targets: readonly string[] = []): Refusal {
  const message = `it chose a pipeline that it does not feed; it feeds ${targets.join(", ") || "none"}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_NO_ROUTE, unexpected: true });
}

function notABatchRefusal(signal: Signal): Refusal {
  const message = `it handed on something that is no batch of ${signal}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_NO_BATCH, unexpected: true });
}

function withProcessorName(id: string, refusal: Refusal): Refusal {
  const { kind, code, retryAfterMs, category, status, cause } = refusal;
  return new Refusal(kind, `processor ${id} failed: ${refusal.message}`, {
    code,
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(category !== undefined && { category }),
    ...(status !== undefined && { status }),
  });
}

function failureRefusal(id: string, why: unknown): Refusal {
  const message = `processor ${id} failed: ${errorMessage(why)}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_COMPONENT_FAILED, cause: why });
}

function abortRefusal(id: string): Refusal {
  return new Refusal("transient", `processor ${id} was stopped`, { code: ERROR_CODES.SLUICE_SHUTTING_DOWN });
}
