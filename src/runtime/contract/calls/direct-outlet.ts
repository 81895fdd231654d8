import { getEventListeners } from "node:events";
import { SHAPES } from "#otlp/bytes";
import { SIGNALS, type Signal } from "#otlp/signals";
import type { Clock } from "../clock.js";
import { refusalOfSetback, type Setback } from "../dead-letter.js";
import { HeldDebts } from "../debt.js";
import { type Delivery, metadataFor, type PartialRejection, validateRejection } from "../delivery.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { copyRefusal, Refusal, toRefusal } from "../errors/refusal.js";
import type { Exporter, SendOptions } from "../exporter.js";
import { limitedLog } from "../limited-log.js";
import type { Counter, Metrics } from "../observability.js";
import type { Batching, OutletFactory } from "../operators/outlet.js";
import { completeSettings } from "../schema/exporter-settings.js";
import { keyedEntryId } from "./keyed-entry-id.js";
import { MergeWhileBusy } from "./merge-while-busy.js";

/** More concurrent sends make no exporter faster, and each needs its own buffers. */
const MAX_CONCURRENT_SENDS = 256;

/** How long an exporter may take to end an aborted call before the call is abandoned. */
const ABORT_GRACE_MS = 1000;

/** A send that is under way or waits for its turn. */
interface PendingSend extends CallWithDeadline {
  readonly delivery: Delivery;
  readonly pipeline: string;
  readonly controller: AbortController;
  hasTurn: boolean;
  isEnded: boolean;
  /** Set while an exporter has not ended an aborted call. */
  cancelGrace: (() => void) | undefined;
  readonly onEnded: (() => void) | undefined;
}

/**
 * Sends each delivery when it comes, with a limit on concurrent sends, and settles it with the result: the sender waits
 * for the export. If a pipeline wants batching, its deliveries are merged while the exporter is busy.
 */
export const directOutlet: OutletFactory = (outletSettings) => {
  const { id, exporter, settings, typeDefaults, batching, clock, logger, metrics } = outletSettings;
  const counters = createCounters(id, metrics);
  const heldDebts = new HeldDebts();
  const controllers = new AbortPool();
  const concurrency = new Semaphore(MAX_CONCURRENT_SENDS);
  const timeoutMs = completeSettings(settings, typeDefaults).timeout;
  let sending = 0;
  let onIdle: (() => void) | undefined;
  let aborted = false;
  const logFailure = limitedLog<Refusal>(clock, (refusal, suppressed) =>
    logger.warn({ kind: refusal.kind, status: refusal.status, err: refusal, suppressed }, "export failed"),
  );
  const logPartial = limitedLog<PartialRejection>(clock, (partial, suppressed) =>
    logger.warn({ ...partial, suppressed }, "the backend rejected some records"),
  );

  const onSent = (delivery: Delivery, answer: unknown) => {
    const counter = counters[delivery.batch.signal];
    const { count } = delivery.batch;
    const partial = validateRejection(answer, count);
    const rejected = partial?.rejected ?? 0;
    counter.sent.add(count - rejected);
    if (partial !== undefined) {
      counter.failed.add(rejected);
      logPartial(partial);
    }
    delivery.accept(partial);
  };
  const onFailed = (delivery: Delivery, error: unknown) => {
    const refusal = toRefusal(error);
    counters[delivery.batch.signal].failed.add(delivery.batch.count);
    logFailure(refusal);
    delivery.refuse(copyRefusal(refusal, { exporter: id }));
  };
  /** Ends a call once. An exporter may still return after its call was abandoned. */
  const end = (call: PendingSend, settle: typeof onSent | typeof onFailed, result: unknown) => {
    if (call.isEnded) return;
    call.isEnded = true;
    deadlines.remove(call);
    call.cancelGrace?.();
    if (call.hasTurn) concurrency.release();
    try {
      settle(call.delivery, result);
    } catch (error) {
      call.delivery.refuse(error);
    }
    controllers.giveBack(call.controller);
    sending -= 1;
    call.onEnded?.();
    if (sending === 0) onIdle?.();
  };
  const fail = (call: PendingSend, error: unknown) => {
    const { aborted: isAborted, reason } = call.controller.signal;
    end(call, onFailed, isAborted ? reason : error);
  };
  const onTimeout = (call: PendingSend) => {
    const refusal = timeoutRefusal(id, timeoutMs);
    call.controller.abort(refusal);
    call.cancelGrace = clock.after(ABORT_GRACE_MS, () => fail(call, refusal));
  };
  const deadlines = new Deadlines<PendingSend>(clock, timeoutMs, onTimeout);
  /** Written out, because objects made of parts would be most of what a request allocates here. */
  const optionsOf = ({ pipeline, delivery: { origin } }: PendingSend): SendOptions => {
    const metadata = metadataFor(exporter, origin.metadata);
    const { receiver } = origin;
    const firstSeenAt = clock.now();
    const delivery =
      timeoutMs === 0
        ? { attempt: 1, firstSeenAt, receiver }
        : { attempt: 1, firstSeenAt, receiver, deadlineAt: firstSeenAt + timeoutMs };
    if (origin.key === undefined) return metadata === undefined ? { delivery } : { delivery, metadata };
    const idempotencyKey = keyedEntryId(id, pipeline, origin.key);
    return metadata === undefined ? { delivery, idempotencyKey } : { delivery, idempotencyKey, metadata };
  };
  const send = (call: PendingSend) => {
    call.hasTurn = true;
    callExporter(exporter, call, optionsOf(call)).then(
      (answer) => end(call, onSent, answer),
      (error: unknown) => fail(call, error),
    );
  };

  const begin = (delivery: Delivery, pipeline: string, onEnded?: () => void) => {
    const call = createCall(delivery, pipeline, controllers.take(), onEnded);
    sending += 1;
    heldDebts.add(delivery.debt);
    deadlines.add(call);
    const turn = concurrency.acquire(call.controller.signal);
    if (turn === undefined) return send(call);
    turn.then(
      () => send(call),
      (error: unknown) => fail(call, error),
    );
  };
  const mergers = new Map<Batching, MergeWhileBusy>();
  const mergerFor = (pipeline: string) => {
    const wanted = batching?.get(pipeline);
    const known = wanted && mergers.get(wanted);
    if (wanted === undefined || known !== undefined) return known;
    const merger = new MergeWhileBusy(wanted, exporter, clock, (merged) =>
      begin(merged, pipeline, () => merger.sent()),
    );
    mergers.set(wanted, merger);
    return merger;
  };

  return {
    accept(delivery, pipeline) {
      if (delivery.setback !== undefined) return settleSetback(delivery, delivery.setback);
      const merger = mergerFor(pipeline);
      if (merger === undefined) return begin(delivery, pipeline);
      heldDebts.add(delivery.debt);
      merger.add(delivery);
    },
    drain: async () => {
      for (const merger of mergers.values()) merger.flush();
      if (!aborted && sending > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      deadlines.stop();
    },
    abort() {
      for (const merger of mergers.values()) merger.stop();
      const refusal = new Refusal("transient", `exporter ${id} was stopped`, {
        code: ERROR_CODES.SLUICE_SHUTTING_DOWN,
      });
      deadlines.stop();
      for (const { controller } of deadlines.all()) controller.abort(refusal);
      heldDebts.refuseAll(refusal);
      aborted = true;
      onIdle?.();
    },
  };
};

function createCall(
  delivery: Delivery,
  pipeline: string,
  controller: AbortController,
  onEnded?: () => void,
): PendingSend {
  return {
    delivery,
    pipeline,
    controller,
    hasTurn: false,
    isEnded: false,
    cancelGrace: undefined,
    onEnded,
    deadline: 0,
    previous: undefined,
    next: undefined,
  };
}

/** An exporter may throw synchronously, or return a plain value. */
function callExporter(
  exporter: Exporter,
  { delivery, controller }: PendingSend,
  options: SendOptions,
): Promise<unknown> {
  try {
    return Promise.resolve(exporter.send(delivery.batch, controller.signal, options));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** There is no queue to keep dead letters, so they are refused to their sender. */
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
        { description: "Records that the backend accepted." },
        { exporter: id },
      ),
      failed: metrics.counter(
        `otelcol_exporter_send_failed_${noun}`,
        { description: "Records in failed sends, or that the backend rejected." },
        { exporter: id },
      ),
    };
  }
  return counters;
}

/** The maximum number of free controllers kept: about as many as a busy agent uses at a time. */
const MAX_FREE_CONTROLLERS = 256;

/**
 * Reuses AbortControllers, because calls are rarely aborted. Creating one and listening to it takes longer than sending
 * a small request. Nothing may carry over from one call to the next: a controller is reused only if no code listens to
 * it any more.
 */
export class AbortPool {
  private readonly free: AbortController[] = [];

  /** Returns a controller that is not aborted and has no listeners. */
  take(): AbortController {
    return this.free.pop() ?? new AbortController();
  }

  /** Call this when the call has ended and the signal is not needed any more. */
  giveBack(controller: AbortController): void {
    const { signal } = controller;
    if (signal.aborted || this.free.length >= MAX_FREE_CONTROLLERS) return;
    if (!hasFollowers(signal) && getEventListeners(signal, "abort").length === 0) this.free.push(controller);
  }
}

/**
 * Whether `AbortSignal.any` has derived signals from this one. They are not listeners but are in a set that the signal
 * keeps under a symbol and that only grows. If no such symbol can be found, every signal may have derived ones.
 */
function hasFollowers(signal: AbortSignal): boolean {
  return FOLLOWERS === undefined || FOLLOWERS in signal;
}

const FOLLOWERS = findFollowersSymbol();

function findFollowersSymbol(): symbol | undefined {
  const { signal } = new AbortController();
  const before = Object.getOwnPropertySymbols(signal);
  AbortSignal.any([signal]);
  return Object.getOwnPropertySymbols(signal).find((symbol) => !before.includes(symbol));
}

/** A call with a time limit, as an element of a linked list. */
export interface CallWithDeadline {
  deadline: number;
  previous: CallWithDeadline | undefined;
  next: CallWithDeadline | undefined;
}

/**
 * The calls under way that have the same timeout, oldest first. One timer watches the oldest call and is not touched
 * when a call begins or ends, because a timer for each call would cost more than the call. When it fires, expired calls
 * are removed from the list and reported.
 */
export class Deadlines<Call extends CallWithDeadline> {
  private readonly clock: Clock;
  private readonly timeoutMs: number;
  private readonly onExpired: (call: Call) => void;
  private oldest: CallWithDeadline | undefined;
  private newest: CallWithDeadline | undefined;
  private cancelTimer: (() => void) | undefined;

  /** A timeout of 0 means no limit. */
  constructor(clock: Clock, timeoutMs: number, onExpired: (call: Call) => void) {
    this.clock = clock;
    this.timeoutMs = timeoutMs;
    this.onExpired = onExpired;
  }

  add(call: Call): void {
    call.previous = this.newest;
    if (this.newest === undefined) this.oldest = call;
    else this.newest.next = call;
    this.newest = call;
    if (this.timeoutMs === 0) return;
    call.deadline = this.clock.monotonic() + this.timeoutMs;
    this.cancelTimer ??= this.clock.after(this.timeoutMs, this.expire);
  }

  /** Removes a call. Does nothing if it is not in the list. */
  remove(call: Call): void {
    const { previous, next } = call;
    if (previous === undefined && this.oldest !== call) return;
    if (previous === undefined) this.oldest = next;
    else previous.next = next;
    if (next === undefined) this.newest = previous;
    else next.previous = previous;
    call.previous = undefined;
    call.next = undefined;
  }

  /** Returns a copy of the list. */
  all(): Call[] {
    const calls: Call[] = [];
    for (let call = this.oldest; call !== undefined; call = call.next) calls.push(call as Call);
    return calls;
  }

  /** Stops the timer, so that no call expires any more. */
  stop(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  private readonly expire = (): void => {
    const now = this.clock.monotonic();
    this.cancelTimer = undefined;
    for (const call of this.all()) {
      if (call.deadline > now) break;
      this.remove(call);
      this.onExpired(call);
    }
    const { oldest } = this;
    if (oldest !== undefined) this.cancelTimer = this.clock.after(oldest.deadline - now, this.expire);
  };
}

interface Waiter {
  /** Undefined once it has left the queue. */
  proceed: (() => void) | undefined;
}

/** Limits concurrency; further callers wait in line. */
export class Semaphore {
  private free: number;
  private waiters: Waiter[] = [];
  private head = 0;

  constructor(limit: number) {
    this.free = limit;
  }

  /**
   * Returns undefined if the caller may proceed at once. Rejects with the signal's reason if it is aborted before its
   * turn.
   */
  acquire(signal: AbortSignal): Promise<void> | undefined {
    if (this.free === 0) return new Promise((resolve, reject) => this.enqueue(signal, resolve, reject));
    this.free -= 1;
    return undefined;
  }

  /** Ends an acquired turn. */
  release(): void {
    while (this.head < this.waiters.length) {
      const { proceed } = this.waiters[this.head++]!;
      if (proceed !== undefined) return proceed();
    }
    this.waiters = [];
    this.head = 0;
    this.free += 1;
  }

  private enqueue(signal: AbortSignal, resolve: () => void, reject: (reason: unknown) => void): void {
    const waiter: Waiter = { proceed: undefined };
    const onAbort = () => {
      waiter.proceed = undefined;
      reject(signal.reason);
    };
    waiter.proceed = () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.waiters.push(waiter);
  }
}
