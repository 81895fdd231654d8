import type { Clock } from "#contract";
import { ERROR_CODES, isRefusal, Refusal } from "#contract/errors";

/** One call to an exporter under way. */
export interface TimedCall {
  readonly controller: AbortController;
  /** How many calls the controller has served, this one included. */
  readonly uses: number;
  /** Called when the exporter has not even given up some time after it was told to. */
  readonly abandon: (refusal: Refusal) => void;
}

/**
 * Making an AbortController costs more than all else that is done for a call. One that was not used is good for the next
 * call; but not for ever, in case an exporter leaves its listeners on it.
 */
const MAX_USES = 64;

/** How long an exporter may take to give up before its call is considered ended without it. */
const ABANDON_AFTER_MS = 1000;

/**
 * Ends calls that take too long. All calls may take equally long, so they end in the order they began and one timer
 * serves them all.
 */
export class CallTimeout {
  private readonly id: string;
  private readonly ms: number;
  private readonly clock: Clock;
  /** Calls under way, oldest first, with the monotonic time at which each must be over. */
  private readonly calls = new Map<TimedCall, number>();
  private readonly reusable: TimedCall[] = [];
  private cancelTimer: (() => void) | undefined;

  constructor(id: string, ms: number, clock: Clock) {
    this.id = id;
    this.ms = ms;
    this.clock = clock;
  }

  /**
   * Makes a call. Exactly one of `done` and `failed` is called, once: with what came of it, with the reason it was aborted
   * for, or, if the exporter does not even give up then, with that reason a little later.
   */
  run<T>(work: (abort: AbortSignal) => Promise<T>, done: (result: T) => void, failed: (error: unknown) => void): void {
    let isOver = false;
    const call = this.begin((refusal) => {
      if (isOver) return;
      isOver = true;
      failed(refusal);
    });
    const { signal } = call.controller;
    let working: Promise<T>;
    try {
      // What gives no promise in spite of its type is done already.
      working = Promise.resolve(work(signal));
    } catch (error) {
      working = Promise.reject(error);
    }
    working.then(
      (result) => {
        if (isOver) return;
        isOver = true;
        this.end(call);
        done(result);
      },
      (error: unknown) => {
        if (isOver) return;
        isOver = true;
        this.end(call);
        failed(signal.aborted && !tellsUndelivered(error) ? signal.reason : error);
      },
    );
  }

  begin(abandon: (refusal: Refusal) => void): TimedCall {
    const last = this.reusable.pop();
    const controller = last?.controller ?? new AbortController();
    const call = { controller, uses: (last?.uses ?? 0) + 1, abandon };
    this.calls.set(call, this.clock.monotonic() + this.ms);
    if (this.ms > 0) this.cancelTimer ??= this.clock.after(this.ms, () => this.abortOverdue());
    return call;
  }

  /** The exporter is done with the call. */
  end(call: TimedCall): void {
    this.calls.delete(call);
    if (call.uses < MAX_USES && !call.controller.signal.aborted) this.reusable.push(call);
  }

  /** Tells every call to give up, now. */
  abortAll(refusal: Refusal): void {
    for (const call of [...this.calls.keys()]) call.controller.abort(refusal);
    this.stop();
  }

  stop(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  private abortOverdue(): void {
    this.cancelTimer = undefined;
    const now = this.clock.monotonic();
    for (const [call, deadline] of this.calls) {
      if (deadline > now) {
        this.cancelTimer = this.clock.after(deadline - now, () => this.abortOverdue());
        return;
      }
      this.calls.delete(call);
      this.abortLate(call);
    }
  }

  private abortLate(call: TimedCall): void {
    const message = `exporter ${this.id} did not finish within ${this.ms} ms`;
    const refusal = new Refusal("transient", message, { code: ERROR_CODES.SLUICE_TIMEOUT });
    call.controller.abort(refusal);
    this.clock.after(ABANDON_AFTER_MS, () => call.abandon(refusal));
  }
}

/** Some of it was delivered: that must not get lost because the rest was given up. */
function tellsUndelivered(error: unknown): boolean {
  return isRefusal(error) && error.undelivered !== undefined;
}
