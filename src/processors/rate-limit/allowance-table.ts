import { Allowance, type Limit } from "./allowance.js";
import type { Lease } from "./lease.js";

/**
 * The allowances of a bounded number of keys.
 *
 * These invariants keep a large number of keys from being a way around the limit:
 * - Only idle allowances, which equal new ones, are ever forgotten. So a key cannot get a fresh allowance by waiting
 *   until other keys push it out.
 * - While the table is full, all keys without an allowance share one, the overflow.
 * - A key that gets its own allowance while the overflow is in use starts with everything that was taken from the
 *   overflow, because some of it may have been its own. So no key passes more than its limit in any window, however
 *   many keys there are.
 */
export class AllowanceTable {
  readonly overflow: Allowance;
  private readonly limit: Limit;
  private readonly maxKeys: number;
  private readonly lease: ((key: string) => Lease) | undefined;
  /** Ordered by last use, the oldest first. */
  private readonly byKey = new Map<string, Allowance>();

  /** `lease` gives each allowance its share of the permits that agents have in common. */
  constructor(limit: Limit, maxKeys: number, lease?: (key: string) => Lease) {
    this.limit = limit;
    this.maxKeys = maxKeys;
    this.lease = lease;
    this.overflow = new Allowance(limit, true);
    this.overflow.lease = lease?.("overflow");
  }

  get size(): number {
    return this.byKey.size;
  }

  /**
   * Returns the allowance of the key, which may be new, or the overflow. An allowance found for a batch is not
   * forgotten during that batch.
   */
  find(key: string, now: number, batchSerial: number): Allowance {
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    this.forgetIdle(now, batchSerial);
    if (this.byKey.size >= this.maxKeys) return this.overflow;
    const allowance = new Allowance(this.limit);
    allowance.lease = this.lease?.(`key:${key}`);
    if (!this.overflow.isIdle(now)) allowance.inherit(this.overflow);
    this.byKey.set(key, allowance);
    return allowance;
  }

  /** Call this when something was taken for the key: it becomes the last one to be forgotten. */
  markUsed(key: string): void {
    const allowance = this.byKey.get(key);
    if (allowance === undefined) return;
    this.byKey.delete(key);
    this.byKey.set(key, allowance);
  }

  /** Call this when nothing was taken for the key: an allowance that was never used, or is idle, is not kept. */
  forgetIfUnused(key: string, now: number): void {
    const allowance = this.byKey.get(key);
    if (allowance !== undefined && (!allowance.wasTakenFrom || allowance.isIdle(now))) this.byKey.delete(key);
  }

  private forgetIdle(now: number, batchSerial: number): void {
    for (const [key, allowance] of this.byKey) {
      if (allowance.batchSerial === batchSerial || !allowance.isIdle(now)) return;
      this.byKey.delete(key);
    }
  }
}
