import type { Delivery } from "#contract";
import type { Refusal } from "#contract/errors";
import type { CompleteSettings } from "#contract/schema";
import type { Amount } from "../store/store.js";
import { queueFullRefusal } from "./refusals.js";

type CapacityLimits = Pick<CompleteSettings["sending_queue"], "queue_size" | "sizer" | "max_bytes">;

/** The size of an entry, or of a batch that is to become one. */
export interface Size {
  readonly items: number;
  readonly bytes: number;
}

/**
 * The free space of the queue. It keeps its own counts, from the moment an entry is on its way into the store until it
 * has left the queue, because the store's counts lag behind by one write.
 */
export class Capacity {
  private readonly limits: CapacityLimits;
  private entries = 0;
  private items = 0;
  private bytes = 0;

  constructor(limits: CapacityLimits) {
    this.limits = limits;
  }

  /** Sets the counts to what is known to be in the queue. */
  reset({ entries, items, bytes }: Amount): void {
    this.entries = entries;
    this.items = items;
    this.bytes = bytes;
  }

  /** Whether there is room for all sizes. A batch larger than the whole queue fits if the queue is empty. */
  fits(sizes: readonly Size[]): boolean {
    if (this.entries === 0) return true;
    const items = sizes.reduce((sum, size) => sum + size.items, 0);
    const bytes = sizes.reduce((sum, size) => sum + size.bytes, 0);
    const { max_bytes, queue_size, sizer } = this.limits;
    if (max_bytes > 0 && this.bytes + bytes > max_bytes) return false;
    if (queue_size === 0) return true;
    if (sizer === "requests") return this.entries + sizes.length <= queue_size;
    return (sizer === "items" ? this.items + items : this.bytes + bytes) <= queue_size;
  }

  add({ items, bytes }: Size): void {
    this.entries += 1;
    this.items += items;
    this.bytes += bytes;
  }

  remove({ items, bytes }: Size): void {
    this.entries -= 1;
    this.items -= items;
    this.bytes -= bytes;
  }
}

/** A delivery on its way into the queue, as the entries it will become. Either all of them are put or none. */
export interface Incoming {
  readonly pieces: readonly Delivery[];
  readonly pipeline: string;
  /** If set, the queue remembers this key, so that it takes the delivery only once. */
  readonly onceKey?: string | undefined;
}

interface AdmissionActions {
  readonly settings: Pick<CompleteSettings["sending_queue"], "on_full" | "block_on_overflow">;
  readonly fits: (incoming: Incoming) => boolean;
  readonly put: (incoming: Incoming) => void;
  readonly refuse: (incoming: Incoming, refusal: Refusal) => void;
  readonly deadLetter: (incoming: Incoming) => void;
  /** Dead-letters the oldest entry. Returns false if there is none that can be dropped. */
  readonly dropOldest: () => Promise<boolean>;
}

/**
 * Handles deliveries that find the queue full. They are refused, become dead letters, replace the oldest entries, or
 * wait, depending on the settings. Nothing is lost silently. Waiting deliveries keep their order.
 */
export class Overflow {
  private readonly admission: AdmissionActions;
  private waiting: Incoming[] = [];
  private isMakingRoom = false;

  constructor(admission: AdmissionActions) {
    this.admission = admission;
  }

  /** Whether no delivery waits for room. While one waits, no other may be put before it. */
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

  /** To be called when space in the queue was freed. */
  putWaiting(): void {
    while (this.waiting.length > 0 && this.admission.fits(this.waiting[0]!)) this.admission.put(this.waiting.shift()!);
  }

  /** Refuses all waiting deliveries. */
  stop(refusal: Refusal): void {
    for (const incoming of this.waiting.splice(0)) this.admission.refuse(incoming, refusal);
  }

  private async makeRoom(): Promise<void> {
    this.isMakingRoom = true;
    while (this.waiting.length > 0) {
      this.putWaiting();
      if (this.waiting.length > 0 && !(await this.admission.dropOldest())) {
        // All entries of the queue are being sent or have not been read yet, so none can be dropped.
        for (const incoming of this.waiting.splice(0)) this.admission.refuse(incoming, queueFullRefusal());
      }
    }
    this.isMakingRoom = false;
  }
}
