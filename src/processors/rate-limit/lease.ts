/** Permits that were granted together, the time until which they may be used, and the slot they are counted in. */
interface Grant {
  permits: number;
  readonly expiresAt: number;
  readonly slot: string;
}

/**
 * Permits that were fetched in advance from the pool that all agents share.
 *
 * Invariant: a permit is used within `lifeMs` of the request for it, or never. The granter grants at most `n` permits
 * in any span of `windowMs + lifeMs`. Therefore at most `n` records pass in any window, over all agents with leases.
 */
export class Lease {
  readonly key: string;
  /** The pool is known to be empty until this time, so asking earlier is useless. */
  deniedUntil = Number.NEGATIVE_INFINITY;
  /** The request under way; resolves with its answer. */
  asking: Promise<void> | undefined;
  private readonly lifeMs: number;
  private readonly grants: Grant[] = [];
  /** Expired permits that were never used, by slot. They can be given back for others. */
  private readonly unused = new Map<string, number>();
  private periodStart = Number.NEGATIVE_INFINITY;
  private askedInPeriod = 0;
  private demand = 0;

  constructor(key: string, lifeMs: number) {
    this.key = key;
    this.lifeMs = lifeMs;
  }

  /** Returns how many permits can be used at `now` and are still valid at `until`. */
  available(now: number, until = now): number {
    this.expire(now);
    let permits = 0;
    for (const grant of this.grants) if (grant.expiresAt > until) permits += grant.permits;
    return permits;
  }

  /** Uses `count` permits, the ones that expire first before the others. `count` must not exceed what is available. */
  take(count: number, now: number): void {
    this.expire(now);
    let left = count;
    for (const grant of this.grants) {
      const used = Math.min(left, grant.permits);
      grant.permits -= used;
      left -= used;
    }
  }

  /** `askedAt` is the time of the request. The granter has counted the permits no earlier than that. */
  add(permits: number, slot: string, askedAt: number): void {
    this.grants.push({ permits, slot, expiresAt: askedAt + this.lifeMs });
  }

  hasUnused(now: number): boolean {
    this.expire(now);
    return this.unused.size > 0;
  }

  /** Returns the permits to give back. Each is returned once. */
  takeUnused(now: number): [slot: string, permits: number][] {
    this.expire(now);
    const all = [...this.unused];
    this.unused.clear();
    return all;
  }

  /** Notes the demand, whether or not there were permits for it. */
  noteDemand(asked: number, now: number): void {
    const age = now - this.periodStart;
    if (age >= this.lifeMs) {
      this.demand = Math.max(asked, age < 2 * this.lifeMs ? this.askedInPeriod : 0);
      this.periodStart = now;
      this.askedInPeriod = 0;
    }
    this.askedInPeriod += asked;
    this.demand = Math.max(this.demand, this.askedInPeriod);
  }

  /** Returns how many permits to fetch in advance for the next batches; 0 if there are enough. */
  wanted(now: number, max: number): number {
    const ahead = Math.min(this.demand, max);
    const left = this.available(now, now + this.lifeMs / 2);
    return left * 2 >= ahead ? 0 : ahead - left;
  }

  private expire(now: number): void {
    while (this.grants.length > 0 && (this.grants[0]!.expiresAt <= now || this.grants[0]!.permits === 0)) {
      const { permits, slot } = this.grants.shift()!;
      if (permits > 0) this.unused.set(slot, (this.unused.get(slot) ?? 0) + permits);
    }
  }
}
