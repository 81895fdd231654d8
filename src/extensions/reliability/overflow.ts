import { type AttemptError, type CompleteSettings, type Delivery, Refusal } from "../../plugin.js";
import type { Verdict } from "./item.js";

/** A delivery on its way into the queue. */
export interface Incoming {
  readonly delivery: Delivery;
  readonly pipeline: string;
}

export interface OverflowSettings {
  readonly queue: Pick<CompleteSettings["sending_queue"], "on_full" | "block_on_overflow">;
  readonly fits: (incoming: Incoming) => boolean;
  readonly put: (incoming: Incoming) => void;
  readonly refuse: (incoming: Incoming, refusal: Refusal) => void;
  readonly deadLetter: (incoming: Incoming) => void;
  /** Gives up the oldest entry; false when there is none that could be. */
  readonly dropOldest: () => Promise<boolean>;
}

const RETRY_AFTER_MS = 5000;

/**
 * What happens to deliveries that the queue has no room for: they are refused, kept as dead letters, take the place of
 * the oldest, or wait. Nothing is lost in silence. Those that wait keep their order.
 */
export class Overflow {
  private readonly own: OverflowSettings;
  private waiting: Incoming[] = [];
  private isMakingRoom = false;

  constructor(own: OverflowSettings) {
    this.own = own;
  }

  /** Nothing may go into the queue before these. */
  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  add(incoming: Incoming): void {
    const { queue } = this.own;
    if (queue.block_on_overflow) this.waiting.push(incoming);
    else if (queue.on_full === "drop_newest") this.own.deadLetter(incoming);
    else if (queue.on_full === "refuse") this.own.refuse(incoming, queueFull());
    else {
      this.waiting.push(incoming);
      if (!this.isMakingRoom) void this.makeRoom();
    }
  }

  /** Something has left the queue. */
  onRoom(): void {
    while (this.waiting.length > 0 && this.own.fits(this.waiting[0]!)) this.own.put(this.waiting.shift()!);
  }

  /** Refuses those that wait. */
  stop(refusal: Refusal): void {
    for (const incoming of this.waiting.splice(0)) this.own.refuse(incoming, refusal);
  }

  private async makeRoom(): Promise<void> {
    this.isMakingRoom = true;
    while (this.waiting.length > 0) {
      this.onRoom();
      if (this.waiting.length > 0 && !(await this.own.dropOldest())) {
        // All that is in the queue is being sent at this moment, or not read yet.
        for (const incoming of this.waiting.splice(0)) this.own.refuse(incoming, queueFull());
      }
    }
    this.isMakingRoom = false;
  }
}

const MESSAGE = "the sending queue is full";

function queueFull(): Refusal {
  return new Refusal("throttled", MESSAGE, { code: "SLUICE_QUEUE_FULL", retryAfterMs: RETRY_AFTER_MS });
}

const error: AttemptError = {
  kind: "transient",
  class: "SLUICE_QUEUE_FULL",
  code: "SLUICE_QUEUE_FULL",
  message: MESSAGE,
};

export const QUEUE_FULL: Verdict = { reason: "queue_full", category: "queue_full", error };
