import type { Subject, Subscription } from "rxjs";
import {
  assertObservable,
  assertSubscription,
  checkOutput,
  type OutputRules,
} from "../contract/border/check-output.js";
import type { GarbageCollection } from "../contract/border/garbage-collection.js";
import { DELIVERY_LOST, LostDeliveries } from "../contract/border/lost-deliveries.js";
import type { PluginTracker } from "../contract/border/plugin-tracker.js";
import { processorInput } from "../contract/border/processor-input.js";
import type { Clock } from "../contract/clock.js";
import type { Processor } from "../contract/component.js";
import type { Setback } from "../contract/dead-letter.js";
import { type Debt, HeldDebts } from "../contract/debt.js";
import type { Delivery } from "../contract/delivery.js";
import { ERROR_CODES } from "../contract/error-codes.js";
import { errorMessage } from "../contract/error-message.js";
import { limitedLog } from "../contract/limited-log.js";
import type { Counter, Logger } from "../contract/observability.js";
import { withFailureHandler } from "../contract/operators/failure-handler.js";
import { holdingOf } from "../contract/operators/holding.js";
import { statefulProcessor } from "../contract/operators/stateful-processor.js";
import { isGenericCode, Refusal, toRefusal } from "../contract/refusal.js";
import type { Flow, Tally } from "./flows.js";

/** How to look for what a plugin let go of. */
export interface PluginWatch {
  /** Undefined for a component that says that it holds deliveries. */
  readonly garbageCollection: GarbageCollection | undefined;
}

export interface IsolateSettings extends OutputRules {
  readonly id: string;
  readonly logger: Logger;
  readonly incoming: Counter;
  readonly outgoing: Counter;
  readonly failures: Counter;
  readonly clock: Clock;
  /** Set for plugins, whose code is watched while it runs. */
  readonly pluginTracker?: PluginTracker | undefined;
  /** Set for plugins: it is noticed when they let go of a delivery. */
  readonly plugin?: PluginWatch | undefined;
  /** Also give it what was taken out of the pipeline: for connectors, which decide where that goes. */
  readonly takesSetbacks?: boolean;
  /** Data that it fails on is kept as a dead letter, where its operators can tell which it is; else it is refused. */
  readonly keepsFailures?: boolean;
  /** Told whenever it takes records out of the pipeline itself. */
  readonly onSetback?: (() => void) | undefined;
  /** What it hands on in its pipeline; a connector has several. */
  readonly flow?: Flow | undefined;
  readonly tally?: Tally | undefined;
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
 * is that of a batch in whose place something comes out that is no batch of the pipeline's signal, and that of one which a
 * plugin let go of.
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
  const logLost = limitedLog<Refusal>(settings.clock, (refusal, suppressed) =>
    settings.logger.warn({ code: refusal.code, suppressed }, `the processor lost a delivery: ${refusal.message}`),
  );
  const logRestart = limitedLog<{ why: unknown; lost: number }>(settings.clock, ({ why, lost }, suppressed) =>
    settings.logger.error({ err: why, refused: lost, suppressed }, "the processor failed and was started anew"),
  );
  const { flow, tally } = settings;
  let refusals = 0;
  const reportUnexpected = (refusal: Refusal) => {
    refusals += 1;
    if (!refusal.unexpected) return refusal;
    settings.failures.add(1);
    if (refusal.code === DELIVERY_LOST) logLost(refusal);
    else logFailure(refusal);
    return withProcessorName(settings.id, refusal);
  };
  const keepFailure = (error: unknown): Setback | undefined => {
    const refusal = toRefusal(error);
    if (!refusal.unexpected) return undefined;
    settings.failures.add(1);
    logFailure(refusal);
    return failureSetback(settings.id, refusal);
  };
  const trackerId = settings.pluginTracker?.register(`processor ${settings.id}`) ?? 0;
  return statefulProcessor((out) => {
    const heldDebts = new HeldDebts(reportUnexpected);
    if (tally !== undefined) tally.isIdle = () => heldDebts.size === 0;
    let input: Subject<Delivery>;
    let current: Subscription | undefined;
    let lostDeliveries: LostDeliveries | undefined;
    let onDrained: (() => void) | undefined;
    /** What the processor is being given: if it ends on an error meanwhile, this is what it failed on. */
    let passing: Debt | undefined;

    // Refusing may bring data back in at once, by a connector that knows another way: by then the broken one is gone.
    const restart = (why: unknown) => {
      unsubscribeCurrent();
      passing?.blame(failureRefusal(settings.id, why, { failedIn: settings.id }));
      const lost = heldDebts.refuseAll(failureRefusal(settings.id, why));
      settings.failures.add(1);
      logRestart({ why, lost });
      onDrained?.();
    };
    const unsubscribeCurrent = () => {
      const ended = current;
      current = undefined;
      lostDeliveries?.stop();
      try {
        ended?.unsubscribe();
      } catch (error) {
        settings.failures.add(1);
        settings.logger.error({ err: error }, "the processor failed while it was stopped");
      }
    };
    const handOn = (delivery: Delivery) => {
      const refusal = checkOutput(delivery, settings);
      if (refusal !== undefined) return delivery.refuse(refusal);
      if (delivery.debt.isRefused) return; // its sender has it, and sends it again: it would arrive twice
      heldDebts.remove(delivery.debt);
      if (delivery.setback === undefined) {
        settings.outgoing.add(delivery.batch.count);
        flow?.pass(delivery.batch);
      } else {
        if (tally !== undefined) tally.deadLettered += delivery.batch.count;
        settings.onSetback?.();
      }
      const before = settings.pluginTracker?.enter(0);
      out.next(delivery);
      settings.pluginTracker?.enter(before!);
    };
    const start = () => {
      const processor = make();
      lostDeliveries = watchFor(processor, heldDebts, settings);
      heldDebts.watch = lostDeliveries;
      input = processorInput(restart);
      const subscribe = () =>
        assertObservable(processor(input)).subscribe({
          next(delivery) {
            try {
              handOn(delivery);
            } catch (error) {
              restart(error);
            }
          },
          error: restart,
          complete: () => (onDrained === undefined ? restart(new Error("completed by itself")) : onDrained()),
        });
      const output = withFailureHandler(settings.keepsFailures ? keepFailure : undefined, subscribe);
      if (!assertSubscription(output).closed) current = output;
    };
    const end = () => {
      unsubscribeCurrent();
      heldDebts.close(abortRefusal(settings.id));
    };
    const isRunning = () => current !== undefined && !current.closed;

    return {
      next(delivery) {
        if (delivery.setback !== undefined && settings.takesSetbacks !== true) return out.next(delivery);
        settings.incoming.add(delivery.batch.count);
        heldDebts.add(delivery.debt);
        const before = settings.pluginTracker?.enter(trackerId);
        const passingBefore = passing;
        const refusalsBefore = refusals;
        passing = delivery.debt;
        try {
          if (!isRunning()) start();
          if (lostDeliveries === undefined) input.next(delivery);
          else lostDeliveries.passing(() => input.next(delivery.withLease()));
        } catch (error) {
          restart(error);
        }
        passing = passingBefore;
        if (tally !== undefined && refusals > refusalsBefore) tally.refused += delivery.batch.count;
        settings.pluginTracker?.enter(before!);
      },
      drain() {
        if (!isRunning()) return end();
        return new Promise((resolve) => {
          onDrained = () => {
            end();
            resolve();
          };
          try {
            input.complete();
          } catch (error) {
            restart(error);
          }
        });
      },
      abort: end,
    };
  });
}

/** Undefined for what comes with Sluice, and for what settles everything whatever its author does. */
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
