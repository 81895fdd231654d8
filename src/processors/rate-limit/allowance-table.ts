import { Allowance, type Limit } from "./allowance.js";

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
  /** The one taken from longest ago first. */
  private readonly own = new Map<string, Allowance>();

  constructor(limit: Limit, maxKeys: number) {
    this.limit = limit;
    this.maxKeys = maxKeys;
    this.overflow = new Allowance(limit, true);
  }

  get size(): number {
    return this.own.size;
  }

  /** The key's allowance, a new one, or the overflow. Those found in one turn are not forgotten in it. */
  find(key: string, now: number, turn: number): Allowance {
    const known = this.own.get(key);
    if (known !== undefined) return known;
    this.forgetIdle(now, turn);
    if (this.own.size >= this.maxKeys) return this.overflow;
    const allowance = new Allowance(this.limit);
    if (!this.overflow.isIdle(now)) allowance.inherit(this.overflow);
    this.own.set(key, allowance);
    return allowance;
  }

  /** Something was taken for this key: it is now the last to be forgotten. */
  used(key: string): void {
    const allowance = this.own.get(key);
    if (allowance === undefined) return;
    this.own.delete(key);
    this.own.set(key, allowance);
  }

  /** Nothing was taken for this key: one that never was, or is as good as new, need not be kept. */
  unused(key: string, now: number): void {
    const allowance = this.own.get(key);
    if (allowance !== undefined && (!allowance.isTouched || allowance.isIdle(now))) this.own.delete(key);
  }

  private forgetIdle(now: number, turn: number): void {
    for (const [key, allowance] of this.own) {
      if (allowance.turn === turn || !allowance.isIdle(now)) return;
      this.own.delete(key);
    }
  }
}
