import type { Clock } from "../clock.js";

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
