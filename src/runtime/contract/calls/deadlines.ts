import type { Clock } from "../clock.js";

/** A call whose time is limited. The links are those of the list it is in. */
export interface CallWithDeadline {
  deadline: number;
  previous: CallWithDeadline | undefined;
  next: CallWithDeadline | undefined;
}

/**
 * The calls under way that all have the same time, oldest first. One timer watches the oldest of them, and is not touched when a
 * call begins or ends: a timer for each call costs more than what it watches. When it fires, those whose time is up leave the
 * list and are told of.
 */
export class Deadlines<Call extends CallWithDeadline> {
  private readonly clock: Clock;
  private readonly timeoutMs: number;
  private readonly onExpired: (call: Call) => void;
  private oldest: CallWithDeadline | undefined;
  private newest: CallWithDeadline | undefined;
  private cancelTimer: (() => void) | undefined;

  /** A timeout of 0 means that there is no limit. */
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

  /** Takes a call out; one that is not in the list stays out. */
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

  /** All calls in the list, as they are now. */
  all(): Call[] {
    const calls: Call[] = [];
    for (let call = this.oldest; call !== undefined; call = call.next) calls.push(call as Call);
    return calls;
  }

  /** No call expires any more. */
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
