import type { Delivery } from "#contract";
import type { Refusal } from "#contract/errors";
import type { CompleteSettings } from "#contract/schema";
import { queueFullRefusal } from "./refusals.js";

/** A delivery on its way into the queue, as the entries that it is to become: all of them have room, or none. */
export interface Incoming {
  readonly pieces: readonly Delivery[];
  readonly pipeline: string;
  /** The queue remembers this key, so that it takes the delivery only once. */
  readonly onceKey?: string | undefined;
}

export interface AdmissionActions {
  readonly settings: Pick<CompleteSettings["sending_queue"], "on_full" | "block_on_overflow">;
  readonly fits: (incoming: Incoming) => boolean;
  readonly put: (incoming: Incoming) => void;
  readonly refuse: (incoming: Incoming, refusal: Refusal) => void;
  readonly deadLetter: (incoming: Incoming) => void;
  /** Gives up the oldest entry; false when there is none that could be. */
  readonly dropOldest: () => Promise<boolean>;
}

/**
 * What happens to deliveries that the queue has no room for: they are refused, kept as dead letters, take the place of
 * the oldest, or wait. Nothing is lost in silence. Those that wait keep their order.
 */
export class Overflow {
  private readonly admission: AdmissionActions;
  private waiting: Incoming[] = [];
  private isMakingRoom = false;

  constructor(admission: AdmissionActions) {
    this.admission = admission;
  }

  /** True when no delivery waits for room; while one does, nothing may go into the queue before it. */
  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  add(incoming: Incoming): void {
    const { settings } = this.admission;
    if (settings.block_on_overflow) this.waiting.push(incoming);
    else if (settings.on_full === "drop_newest") this.admission.deadLetter(incoming);
    else if (settings.on_full === "refuse") this.admission.refuse(incoming, queueFullRefusal());
    else {
      this.waiting.push(incoming);
      if (!this.isMakingRoom) void this.makeRoom();
    }
  }

  /** Something has left the queue. */
  putThoseThatFit(): void {
    while (this.waiting.length > 0 && this.admission.fits(this.waiting[0]!)) this.admission.put(this.waiting.shift()!);
  }

  /** Refuses those that wait. */
  stop(refusal: Refusal): void {
    for (const incoming of this.waiting.splice(0)) this.admission.refuse(incoming, refusal);
  }

  private async makeRoom(): Promise<void> {
    this.isMakingRoom = true;
    while (this.waiting.length > 0) {
      this.putThoseThatFit();
      if (this.waiting.length > 0 && !(await this.admission.dropOldest())) {
        // All that is in the queue is being sent at this moment, or not read yet.
        for (const incoming of this.waiting.splice(0)) this.admission.refuse(incoming, queueFullRefusal());
      }
    }
    this.isMakingRoom = false;
  }
}
