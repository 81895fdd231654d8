import { Allowance, type Limit } from "./allowance.js";
import type { Lease } from "./lease.js";

/**
 * The allowances of a bounded number of keys.
 *
 * Invariants, which keep the number of keys from being a way around the limit:
 * - Only an idle allowance, which is as good as new, is ever forgotten: a key cannot get a fresh one by waiting to be
 *   pushed out by others.
 * - While there is no room, all keys that have no allowance of their own share one, the overflow.
 * - A key that gets its own while the overflow is in use begins with all that was taken from the overflow, of which some
 *   may have been its own.
 * So no key passes more than its limit in any window, however many keys there are.
 */
export class AllowanceTable {
  readonly overflow: Allowance;
  private readonly limit: Limit;
  private readonly maxKeys: number;
  private readonly lease: ((key: string) => Lease) | undefined;
  /** The one taken from longest ago first. */
  private readonly byKey = new Map<string, Allowance>();

  /** `lease` gives those of its allowances their share of what agents have together. */
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

  /** The key's allowance, a new one, or the overflow. One that was found for a batch is not forgotten during that batch. */
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

  /** Something was taken for this key: it is now the last to be forgotten. */
  markUsed(key: string): void {
    const allowance = this.byKey.get(key);
    if (allowance === undefined) return;
    this.byKey.delete(key);
    this.byKey.set(key, allowance);
  }

  /** Nothing was taken for this key: one that never was, or is as good as new, need not be kept. */
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
