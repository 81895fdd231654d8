import { Observable, type Subject, type Subscription } from "rxjs";
import type { Clock } from "../contract/clock.js";
import type { Processor } from "../contract/component.js";
import { type Delivery, Habitat } from "../contract/delivery.js";
import { limitedLog } from "../contract/limited-log.js";
import type { Counter, Logger } from "../contract/observability.js";
import { Refusal } from "../contract/refusal.js";
import type { Watch } from "../contract/watch.js";
import { wordsOf } from "../contract/words-of.js";
import { isBatch } from "../telemetry/batch.js";
import type { Signal } from "../telemetry/signal.js";
import { Inflow } from "./inflow.js";

export interface IsolateSettings {
  readonly id: string;
  readonly logger: Logger;
  readonly incoming: Counter;
  readonly outgoing: Counter;
  readonly failures: Counter;
  readonly clock: Clock;
  /** Of what comes out. */
  readonly signal: Signal;
  /** Set for plugins, whose code is watched while it runs. */
  readonly watch?: Watch | undefined;
  /** Of a connector: the pipelines among which it may choose. */
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
  const report = limitedLog<Refusal>(settings.clock, (refusal, suppressed) =>
    settings.logger.error({ err: refusal.cause ?? refusal, suppressed }, `the processor failed: ${refusal.message}`),
  );
  const reportRestart = limitedLog<{ why: unknown; lost: number }>(settings.clock, ({ why, lost }, suppressed) =>
    settings.logger.error({ err: why, refused: lost, suppressed }, "the processor failed and was started anew"),
  );
  const explain = (refusal: Refusal) => {
    if (!refusal.unexpected) return refusal;
    settings.failures.add(1);
    report(refusal);
    return named(settings.id, refusal);
  };
  const watched = settings.watch?.register(`processor ${settings.id}`) ?? 0;
  return (source) =>
    new Observable<Delivery>((out) => {
      const inside = new Habitat(explain);
      let input: Subject<Delivery>;
      let current: Subscription | undefined;
      let draining = false;

      // Refusing may bring data back in at once, by a connector that knows another way: by then the broken one is gone.
      const restart = (why: unknown) => {
        letGo();
        const lost = inside.refuseAll(failed(settings.id, why));
        settings.failures.add(1);
        reportRestart({ why, lost });
        if (draining) out.complete();
      };
      const letGo = () => {
        const ended = current;
        current = undefined;
        try {
          ended?.unsubscribe();
        } catch (error) {
          settings.failures.add(1);
          settings.logger.error({ err: error }, "the processor failed while it was stopped");
        }
      };
      const begin = () => {
        input = new Inflow(restart);
        const begun = observable(make()(input)).subscribe({
          next(delivery) {
            if (!isDelivery(delivery)) return restart(new TypeError("it handed on something that is no delivery"));
            if (!isBatch(delivery.batch, settings.signal)) return delivery.refuse(noBatch(settings.signal));
            if (!isRoute(delivery.route, settings.targets)) return delivery.refuse(noRoute(settings.targets));
            inside.leave(delivery.debt);
            if (delivery.setback === undefined) settings.outgoing.add(delivery.batch.count);
            else settings.onSetback?.();
            const before = settings.watch?.enter(0);
            out.next(delivery);
            settings.watch?.enter(before!);
          },
          error: restart,
          complete: () => (draining ? out.complete() : restart(new Error("completed by itself"))),
        });
        if (typeof begun?.unsubscribe !== "function") throw new TypeError(NO_OPERATOR);
        if (!begun.closed) current = begun;
      };
      const push = (delivery: Delivery) => {
        if (delivery.setback !== undefined && settings.takesSetbacks !== true) return out.next(delivery);
        settings.incoming.add(delivery.batch.count);
        inside.enter(delivery.debt);
        const before = settings.watch?.enter(watched);
        try {
          if (current === undefined || current.closed) begin();
          input.next(delivery);
        } catch (error) {
          restart(error);
        }
        settings.watch?.enter(before!);
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
        letGo();
        inside.refuseAll(aborted(settings.id));
      };
    });
}

/** By shape: a plugin may have its own copy of rxjs. */
function observable(made: Observable<Delivery>): Observable<Delivery> {
  if (typeof made?.subscribe === "function") return made;
  throw new TypeError(NO_OPERATOR);
}

const NO_OPERATOR = "create returned a function that is no operator; wrap it: eachRecord(...) or eachBatch(...)";

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

function noRoute(targets: readonly string[] = []): Refusal {
  const message = `it chose a pipeline that it does not feed; it feeds ${targets.join(", ") || "none"}`;
  return new Refusal("transient", message, { code: "SLUICE_NO_ROUTE", unexpected: true });
}

function noBatch(signal: Signal): Refusal {
  const message = `it handed on something that is no batch of ${signal}`;
  return new Refusal("transient", message, { code: "SLUICE_NO_BATCH", unexpected: true });
}

function named(id: string, refusal: Refusal): Refusal {
  const { kind, code, retryAfterMs, category, status, cause } = refusal;
  return new Refusal(kind, `processor ${id} failed: ${refusal.message}`, {
    code,
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(category !== undefined && { category }),
    ...(status !== undefined && { status }),
  });
}

function failed(id: string, why: unknown): Refusal {
  const message = `processor ${id} failed: ${wordsOf(why)}`;
  return new Refusal("transient", message, { code: "SLUICE_COMPONENT_FAILED", cause: why });
}

function aborted(id: string): Refusal {
  return new Refusal("transient", `processor ${id} was stopped`, { code: "SLUICE_SHUTTING_DOWN" });
}
