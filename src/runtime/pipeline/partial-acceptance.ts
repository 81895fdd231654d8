import { createHash } from "node:crypto";
import type { Clock, Counter, Delivery, Outcome } from "#contract";

/** The consumers that accepted a delivery which others refused, with their outcomes. */
type TakenBefore<Consumer> = ReadonlyMap<Consumer, Outcome>;

/** By what a delivery is recognised. */
type Recognised = Pick<Delivery, "batch" | "origin"> & Partial<Pick<Delivery, "setback">>;

interface Remembered<Consumer> {
  readonly taken: TakenBefore<Consumer>;
  readonly byteLength: number;
  /** Monotonic time. */
  readonly at: number;
}

/** A sender that retries does so within minutes. */
const TTL_MS = 10 * 60_000;
const MAX_REMEMBERED = 10_000;

/**
 * The memory of a fan-out: if some consumers accepted a delivery and others refused it, it remembers who has it. The
 * sender will retry, and those that have the delivery must not get it twice.
 *
 * A delivery is recognised by its bytes and the kept client headers, not by its sender. Equal bytes are
 * interchangeable: each consumer gets as many copies as succeed, and at most one more. Deliveries that all consumers
 * accepted are not remembered: sending the same data twice on purpose delivers it twice. Bounded in number and time,
 * and lost at a restart; a consumer may then get a delivery again, but never too few.
 *
 * It costs nothing while nothing is remembered; otherwise it costs a hash of the bytes, only if something of the same
 * length is remembered.
 */
export class PartialAcceptance<Consumer> {
  private readonly clock: Clock;
  private readonly duplicates: Counter;
  private readonly maxRemembered: number;
  /** Oldest first. */
  private readonly remembered = new Map<string, Remembered<Consumer>>();
  /** Number of remembered deliveries by length in bytes. */
  private readonly lengths = new Map<number, number>();

  /** `duplicates` counts records that were not given to a consumer again. */
  constructor(clock: Clock, duplicates: Counter, maxRemembered = MAX_REMEMBERED) {
    this.clock = clock;
    this.duplicates = duplicates;
    this.maxRemembered = maxRemembered;
  }

  /** Returns who accepted this delivery before, and forgets it; undefined if it is unknown. */
  take(delivery: Recognised): TakenBefore<Consumer> | undefined {
    if (!this.lengths.has(delivery.batch.byteLength)) return undefined;
    const key = keyOf(delivery);
    const found = this.remembered.get(key);
    if (found === undefined) return undefined;
    this.forget(key, found);
    if (this.isOld(found)) return undefined;
    this.duplicates.add(found.taken.size * delivery.batch.count);
    return found.taken;
  }

  /** Called for a refused delivery, with the consumers that accepted it. */
  remember(delivery: Recognised, taken: TakenBefore<Consumer>): void {
    const { byteLength } = delivery.batch;
    const key = keyOf(delivery);
    const earlier = this.remembered.get(key);
    if (earlier !== undefined) this.forget(key, earlier);
    this.remembered.set(key, { taken, byteLength, at: this.clock.monotonic() });
    this.lengths.set(byteLength, (this.lengths.get(byteLength) ?? 0) + 1);
    for (const [oldest, each] of this.remembered) {
      if (this.remembered.size <= this.maxRemembered && !this.isOld(each)) return;
      this.forget(oldest, each);
    }
  }

  private isOld({ at }: Remembered<Consumer>): boolean {
    return this.clock.monotonic() - at > TTL_MS;
  }

  private forget(key: string, { byteLength }: Remembered<Consumer>): void {
    this.remembered.delete(key);
    const others = this.lengths.get(byteLength)! - 1;
    if (others > 0) this.lengths.set(byteLength, others);
    else this.lengths.delete(byteLength);
  }
}

/** Uses a strong hash: a collision would lose a delivery. */
function keyOf({ batch, origin, setback }: Recognised): string {
  const context = JSON.stringify([batch.signal, setback?.code ?? null, [...(origin.metadata ?? [])]]);
  return createHash("sha256").update(context).update(batch.bytes).digest("base64");
}
