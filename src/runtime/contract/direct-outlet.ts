import { SHAPES, SIGNALS, type Signal } from "../telemetry/signal.js";
import { nowhereToKeep, type Setback } from "./dead-letter.js";
import { type Delivery, Habitat, type PartialRejection, rejectionOf } from "./delivery.js";
import { completeSettings } from "./exporter-settings.js";
import { limitedLog } from "./limited-log.js";
import type { Counter, Metrics } from "./observability.js";
import type { OutletFactory } from "./outlet.js";
import { Refusal, toRefusal } from "./refusal.js";
import { Turns } from "./turns.js";

/** More sends at once make no exporter faster, and each costs buffers of its own. */
const AT_ONCE = 256;

/** How long an exporter may take to give up before its call is considered ended without it. */
const GIVE_UP_MS = 1000;

/** One send under way, or waiting for its turn. */
interface Call {
  readonly controller: AbortController;
  cancelTimer: () => void;
  /** Ends it without the exporter. */
  abandon: (refusal: Refusal) => void;
}

/** Sends each delivery as it comes, so many at once, and settles it by what comes of it: the sender waits for the export. */
export const directOutlet: OutletFactory = ({ id, exporter, settings, typeDefaults, clock, logger, metrics }) => {
  const counters = createCounters(id, metrics);
  const inside = new Habitat();
  const sending = new Set<Call>();
  const turns = new Turns(AT_ONCE);
  const timeoutMs = completeSettings(settings, typeDefaults).timeout;
  let idle: (() => void) | undefined;
  let aborted = false;
  const logFailure = limitedLog<Refusal>(clock, (refusal, suppressed) =>
    logger.warn({ kind: refusal.kind, status: refusal.status, err: refusal, suppressed }, "export failed"),
  );
  const logPartial = limitedLog<PartialRejection>(clock, (partial, suppressed) =>
    logger.warn({ ...partial, suppressed }, "the other side rejected some records"),
  );

  const inTurn = async ({ batch }: Delivery, call: Call) => {
    const { signal } = call.controller;
    const turn = turns.take(signal);
    if (turn !== undefined) await turn;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        call.abandon = reject;
        Promise.resolve(exporter.send(batch, signal)).then(resolve, reject);
      });
    } finally {
      turns.give();
    }
  };
  const giveUp = (call: Call) => {
    const refusal = timedOut(id, timeoutMs);
    call.controller.abort(refusal);
    call.cancelTimer = clock.after(GIVE_UP_MS, () => call.abandon(refusal));
  };
  const send = async (delivery: Delivery, call: Call) => {
    const { controller } = call;
    const counter = counters[delivery.batch.signal];
    const { count } = delivery.batch;
    try {
      const partial = rejectionOf(await inTurn(delivery, call), count);
      const rejected = partial?.rejected ?? 0;
      counter.sent.add(count - rejected);
      if (partial !== undefined) {
        counter.failed.add(rejected);
        logPartial(partial);
      }
      delivery.accept(partial);
    } catch (error) {
      const refusal = toRefusal(controller.signal.aborted ? controller.signal.reason : error);
      counter.failed.add(count);
      logFailure(refusal);
      delivery.refuse(refusal);
    }
  };

  return {
    accept(delivery) {
      if (delivery.setback !== undefined) return leaveOut(delivery, delivery.setback);
      const call: Call = { controller: new AbortController(), cancelTimer: () => {}, abandon: () => {} };
      sending.add(call);
      inside.enter(delivery.debt);
      if (timeoutMs > 0) call.cancelTimer = clock.after(timeoutMs, () => giveUp(call));
      void send(delivery, call).finally(() => {
        call.cancelTimer();
        sending.delete(call);
        if (sending.size === 0) idle?.();
      });
    },
    drain: () =>
      new Promise((resolve) => {
        if (aborted || sending.size === 0) resolve();
        else idle = resolve;
      }),
    abort() {
      const refusal = new Refusal("transient", `exporter ${id} was stopped`, { code: "SLUICE_SHUTTING_DOWN" });
      for (const { controller } of sending) controller.abort(refusal);
      inside.refuseAll(refusal);
      aborted = true;
      idle?.();
    },
  };
};

/** Nothing is kept here: what was to be kept is given back to its sender. */
function leaveOut(delivery: Delivery, setback: Setback): void {
  if (setback.onlyIfAlwaysSaved) delivery.accept();
  else delivery.refuse(nowhereToKeep(setback));
}

function timedOut(id: string, ms: number): Refusal {
  return new Refusal("transient", `exporter ${id} did not finish within ${ms} ms`, { code: "SLUICE_TIMEOUT" });
}

function createCounters(id: string, metrics: Metrics): Record<Signal, { sent: Counter; failed: Counter }> {
  const counters = {} as Record<Signal, { sent: Counter; failed: Counter }>;
  for (const signal of SIGNALS) {
    const noun = SHAPES[signal].metricNoun;
    counters[signal] = {
      sent: metrics.counter(
        `otelcol_exporter_sent_${noun}`,
        { description: "Records the other side took." },
        { exporter: id },
      ),
      failed: metrics.counter(
        `otelcol_exporter_send_failed_${noun}`,
        { description: "Records in sends that failed, or that the other side rejected." },
        { exporter: id },
      ),
    };
  }
  return counters;
}
