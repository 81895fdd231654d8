import type { Clock } from "#contract";
import { ERROR_CODES, isRefusal, Refusal } from "#contract/errors";

/** A call to an exporter that has not ended. */
interface TimedCall {
  readonly controller: AbortController;
  /** How many calls the controller has served, this one included. */
  readonly uses: number;
  /** Called if the exporter has still not ended the call some time after the abort. */
  readonly abandon: (refusal: Refusal) => void;
}

/**
 * Making an AbortController costs more than everything else done for a call, so one that was not aborted is reused. The
 * number of uses is limited, in case an exporter leaves its listeners on the signal.
 */
const MAX_USES = 64;

/** How long an exporter may take to end an aborted call before the call is abandoned. */
const ABANDON_AFTER_MS = 1000;

/**
 * Aborts calls that take too long. All calls have the same timeout, so they expire in the order in which they began,
 * and one timer serves them all.
 */
export class CallTimeout {
  private readonly id: string;
  private readonly ms: number;
  private readonly clock: Clock;
  /** Calls under way, oldest first, with the monotonic time of each deadline. */
  private readonly calls = new Map<TimedCall, number>();
  private readonly reusable: TimedCall[] = [];
  private cancelTimer: (() => void) | undefined;

  constructor(id: string, ms: number, clock: Clock) {
    this.id = id;
    this.ms = ms;
    this.clock = clock;
  }

  /** When a call that begins now times out, in milliseconds since the epoch; undefined if it never does. */
  get nextDeadlineAt(): number | undefined {
    return this.ms > 0 ? this.clock.now() + this.ms : undefined;
  }

  /**
   * Makes a call. Calls either `done` or `failed`, exactly once: with the result, with the error or abort reason, or,
   * if the exporter ignores the abort, with the abort reason a little later.
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
      // A plugin may return a plain value in spite of the declared type.
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
        failed(signal.aborted && !hasUndelivered(error) ? signal.reason : error);
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

  /** To be called when the exporter has ended the call. */
  end(call: TimedCall): void {
    this.calls.delete(call);
    if (call.uses < MAX_USES && !call.controller.signal.aborted) this.reusable.push(call);
  }

  /** Aborts all calls now. */
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

/** Some records were delivered. This must not be forgotten because the rest was aborted. */
function hasUndelivered(error: unknown): boolean {
  return isRefusal(error) && error.undelivered !== undefined;
}
