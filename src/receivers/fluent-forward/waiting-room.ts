import { backoff, jittered, pause } from "#resilience";
import type { ReceiverContext } from "../../plugin.js";

/**
 * The longest wait for memory. Each wait lasts between half of it and all of it at random, so connections that wait for
 * each other do not all give up at once.
 */
const WAIT_LIMIT_MS = 60_000;
/**
 * Bytes that wait here are not counted in the intake's limit. When all clients together exceed this, nothing more may
 * wait.
 */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 250;

/** Holds bytes that were read and find no memory. Nothing more is read from their client meanwhile. */
export class WaitingRoom {
  private readonly context: ReceiverContext;
  private held = 0;

  constructor(context: ReceiverContext) {
    this.context = context;
  }

  /** The deadline, by the monotonic clock, for a wait that starts now. */
  limit(): number {
    return this.context.clock.monotonic() + jittered(WAIT_LIMIT_MS, this.context);
  }

  /**
   * Retries `attempt` until it succeeds, the limit passes or `isOver` returns true, and resolves with whether it
   * succeeded. `held` is the number of bytes that only this wait accounts for.
   */
  async wait(held: number, limit: number, attempt: () => boolean, isOver: () => boolean): Promise<boolean> {
    if (attempt()) return true;
    if (this.held + held > MAX_HELD_BYTES) return false;
    this.held += held;
    const delays = backoff({ first: FIRST_PAUSE_MS, max: MAX_PAUSE_MS }, this.context);
    try {
      for (let failures = 1; ; failures++) {
        await pause(delays(failures), this.context.clock);
        if (isOver()) return false;
        if (attempt()) return true;
        if (this.context.clock.monotonic() >= limit) return false;
      }
    } finally {
      this.held -= held;
    }
  }
}
