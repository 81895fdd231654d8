import { SHAPES, SIGNALS, type Signal } from "../telemetry/bytes/signal.js";
import { validateRejection } from "./border/read-answers.js";
import { refusalOfSetback, type Setback } from "./dead-letter.js";
import { HeldDebts } from "./debt.js";
import type { Delivery, PartialRejection } from "./delivery.js";
import { ERROR_CODES } from "./error-codes.js";
import { limitedLog } from "./limited-log.js";
import type { Counter, Metrics } from "./observability.js";
import { MergeWhileBusy } from "./operators/merge-while-busy.js";
import { Semaphore } from "./operators/semaphore.js";
import type { OutletFactory } from "./outlet.js";
import { Refusal, toRefusal } from "./refusal.js";
import { completeSettings } from "./schema/exporter-settings.js";

/** More sends at once make no exporter faster, and each costs buffers of its own. */
const MAX_CONCURRENT_SENDS = 256;

/** How long an exporter may take to give up before its call is considered ended without it. */
const ABORT_GRACE_MS = 1000;

/** One send under way, or waiting for its turn. */
interface PendingSend {
  readonly controller: AbortController;
  cancelTimer: () => void;
  /** Ends it without the exporter. */
  abandon: (refusal: Refusal) => void;
}

/**
 * Sends each delivery as it comes, so many at once, and settles it by what comes of it: the sender waits for the export.
 * Pipelines that want their records merged have them merged while the exporter is busy.
 */
export const directOutlet: OutletFactory = (outletSettings) => {
  const { id, exporter, settings, typeDefaults, batching, clock, logger, metrics } = outletSettings;
  const counters = createCounters(id, metrics);
  const heldDebts = new HeldDebts();
  const sending = new Set<PendingSend>();
  const concurrency = new Semaphore(MAX_CONCURRENT_SENDS);
  const timeoutMs = completeSettings(settings, typeDefaults).timeout;
  let onIdle: (() => void) | undefined;
  let aborted = false;
  const logFailure = limitedLog<Refusal>(clock, (refusal, suppressed) =>
    logger.warn({ kind: refusal.kind, status: refusal.status, err: refusal, suppressed }, "export failed"),
  );
  const logPartial = limitedLog<PartialRejection>(clock, (partial, suppressed) =>
    logger.warn({ ...partial, suppressed }, "the other side rejected some records"),
  );

  const sendWhenFree = async ({ batch }: Delivery, call: PendingSend) => {
    const { signal } = call.controller;
    const turn = concurrency.acquire(signal);
    if (turn !== undefined) await turn;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        call.abandon = reject;
        Promise.resolve(exporter.send(batch, signal)).then(resolve, reject);
      });
    } finally {
      concurrency.release();
    }
  };
  const onTimeout = (call: PendingSend) => {
    const refusal = timeoutRefusal(id, timeoutMs);
    call.controller.abort(refusal);
    call.cancelTimer = clock.after(ABORT_GRACE_MS, () => call.abandon(refusal));
  };
  const send = async (delivery: Delivery, call: PendingSend) => {
    const { controller } = call;
    const counter = counters[delivery.batch.signal];
    const { count } = delivery.batch;
    try {
      const partial = validateRejection(await sendWhenFree(delivery, call), count);
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

  const begin = (delivery: Delivery, onEnded = () => {}) => {
    const call: PendingSend = { controller: new AbortController(), cancelTimer: () => {}, abandon: () => {} };
    sending.add(call);
    heldDebts.add(delivery.debt);
    if (timeoutMs > 0) call.cancelTimer = clock.after(timeoutMs, () => onTimeout(call));
    void send(delivery, call).finally(() => {
      call.cancelTimer();
      sending.delete(call);
      onEnded();
      if (sending.size === 0) onIdle?.();
    });
  };
  const mergers = new Map<string, MergeWhileBusy>();
  for (const [pipeline, wanted] of batching ?? []) {
    const merger = new MergeWhileBusy(wanted, clock, (merged) => begin(merged, () => merger.sent()));
    mergers.set(pipeline, merger);
  }

  return {
    accept(delivery, pipeline) {
      if (delivery.setback !== undefined) return settleSetback(delivery, delivery.setback);
      const merger = mergers.get(pipeline);
      if (merger === undefined) return begin(delivery);
      heldDebts.add(delivery.debt);
      merger.add(delivery);
    },
    drain() {
      for (const merger of mergers.values()) merger.flush();
      return new Promise((resolve) => {
        if (aborted || sending.size === 0) resolve();
        else onIdle = resolve;
      });
    },
    abort() {
      for (const merger of mergers.values()) merger.stop();
      const refusal = new Refusal("transient", `exporter ${id} was stopped`, {
        code: ERROR_CODES.SLUICE_SHUTTING_DOWN,
      });
      for (const { controller } of sending) controller.abort(refusal);
      heldDebts.refuseAll(refusal);
      aborted = true;
      onIdle?.();
    },
  };
};

/** Nothing is kept here: what was to be kept is given back to its sender. */
function settleSetback(delivery: Delivery, setback: Setback): void {
  if (setback.onlyIfAlwaysSaved) delivery.accept();
  else delivery.refuse(refusalOfSetback(setback));
}

function timeoutRefusal(id: string, ms: number): Refusal {
  return new Refusal("transient", `exporter ${id} did not finish within ${ms} ms`, {
    code: ERROR_CODES.SLUICE_TIMEOUT,
  });
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
