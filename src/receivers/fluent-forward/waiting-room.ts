import type { ReceiverContext } from "../../plugin.js";

/** So long what was read may wait for room, and at least half as long: those that wait for each other do not all give up at once. */
const WAIT_LIMIT_MS = 60_000;
/** What waits counts nowhere else: beyond so much of all clients together none waits. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 250;

/** What was read and finds no room waits here, while no more is read from its client. */
export class WaitingRoom {
  private readonly context: ReceiverContext;
  private held = 0;

  constructor(context: ReceiverContext) {
    this.context = context;
  }

  /** By the clock's monotonic time, what begins to wait now has waited enough. */
  limit(): number {
    const { clock, random } = this.context;
    return clock.monotonic() + WAIT_LIMIT_MS * (0.5 + random() / 2);
  }

  /** Resolves with whether `attempt` has come true, until the limit and unless `isOver`; `held` bytes are nobody else's. */
  async wait(held: number, limit: number, attempt: () => boolean, isOver: () => boolean): Promise<boolean> {
    if (attempt()) return true;
    if (this.held + held > MAX_HELD_BYTES) return false;
    this.held += held;
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
        await this.pause(pause);
        if (isOver()) return false;
        if (attempt()) return true;
        if (this.context.clock.monotonic() >= limit) return false;
      }
    } finally {
      this.held -= held;
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.context.clock.after(ms, resolve));
  }
}
