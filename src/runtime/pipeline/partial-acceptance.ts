import { createHash } from "node:crypto";
import type { Clock, Counter, Delivery, Outcome } from "#contract";

/** The consumers that took a delivery which others refused, and what each said of it. */
export type TakenBefore<Consumer> = ReadonlyMap<Consumer, Outcome>;

interface Remembered<Consumer> {
  readonly taken: TakenBefore<Consumer>;
  readonly byteLength: number;
  /** Monotonic time. */
  readonly at: number;
}

/** Senders that mean to send again do so within minutes. */
const TTL_MS = 10 * 60_000;
const MAX_REMEMBERED = 10_000;

/**
 * The memory of a fan-out: of a delivery that some of its consumers took and others refused, who has it. Its sender is told
 * to send it again, and those that have it must not get it twice.
 *
 * A delivery is known again by its bytes and what is kept of the client's headers; whoever sends them. Equal bytes are
 * interchangeable: of those that were refused and those that succeed, each consumer gets as many as have succeeded, and at
 * most one more. What succeeded for all is not remembered: who sends the same twice on purpose has it twice. Bounded in
 * number and time, and forgotten at a restart; then a consumer may get a delivery again, never too few.
 *
 * While nothing is remembered it costs nothing, and else a hash of the bytes where their length is that of something
 * remembered.
 */
export class PartialAcceptance<Consumer> {
  private readonly clock: Clock;
  private readonly duplicates: Counter;
  private readonly maxRemembered: number;
  /** Oldest first. */
  private readonly remembered = new Map<string, Remembered<Consumer>>();
  /** How many are remembered of each length in bytes. */
  private readonly lengths = new Map<number, number>();

  /** `duplicates` counts the records that somebody had already and was not given again. */
  constructor(clock: Clock, duplicates: Counter, maxRemembered = MAX_REMEMBERED) {
    this.clock = clock;
    this.duplicates = duplicates;
    this.maxRemembered = maxRemembered;
  }

  /** Who has this delivery, from when it was refused before; undefined when nobody has. It is forgotten by this. */
  take(delivery: Delivery): TakenBefore<Consumer> | undefined {
    if (!this.lengths.has(delivery.batch.byteLength)) return undefined;
    const key = keyOf(delivery);
    const found = this.remembered.get(key);
    if (found === undefined) return undefined;
    this.forget(key, found);
    if (this.isOld(found)) return undefined;
    this.duplicates.add(found.taken.size * delivery.batch.count);
    return found.taken;
  }

  /** The delivery was refused, but not by these. */
  remember(delivery: Delivery, taken: TakenBefore<Consumer>): void {
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

/** A short hash would lose a delivery that it takes for another one. */
function keyOf({ batch, origin, setback }: Delivery): string {
  const context = JSON.stringify([batch.signal, setback?.code ?? null, [...(origin.metadata ?? [])]]);
  return createHash("sha256").update(context).update(batch.bytes).digest("base64");
}
