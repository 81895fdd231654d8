/** Permits that were granted together, until when they may be used, and the slot they are counted in. */
interface Grant {
  permits: number;
  readonly expiresAt: number;
  readonly slot: string;
}

/**
 * Permits that were fetched ahead from what all agents share.
 *
 * The law: a permit is used within `lifeMs` of when it was asked for, or never. Who grants no more than `n` in any span of the
 * window and `lifeMs` together so lets no more than `n` pass in any window, among all who have leases.
 */
export class Lease {
  readonly key: string;
  /** Before this nobody need ask again: there are no more. */
  deniedUntil = Number.NEGATIVE_INFINITY;
  isAsking = false;
  private readonly lifeMs: number;
  private readonly grants: Grant[] = [];
  /** What was never used, by slot: it may be granted to others. */
  private readonly unused = new Map<string, number>();
  private periodStart = Number.NEGATIVE_INFINITY;
  private askedInPeriod = 0;
  private demand = 0;

  constructor(key: string, lifeMs: number) {
    this.key = key;
    this.lifeMs = lifeMs;
  }

  /** How many may be used at `now`; of those, how many still at `until`. */
  available(now: number, until = now): number {
    this.expire(now);
    let permits = 0;
    for (const grant of this.grants) if (grant.expiresAt > until) permits += grant.permits;
    return permits;
  }

  /** Uses so many; those that end first, first. Must not be more than are available. */
  take(count: number, now: number): void {
    this.expire(now);
    let left = count;
    for (const grant of this.grants) {
      const used = Math.min(left, grant.permits);
      grant.permits -= used;
      left -= used;
    }
  }

  /** `askedAt` is when they were asked for: the granter has counted them no earlier. */
  add(permits: number, slot: string, askedAt: number): void {
    this.grants.push({ permits, slot, expiresAt: askedAt + this.lifeMs });
  }

  hasUnused(now: number): boolean {
    this.expire(now);
    return this.unused.size > 0;
  }

  /** What is to be given back, once. */
  takeUnused(now: number): [slot: string, permits: number][] {
    this.expire(now);
    const all = [...this.unused];
    this.unused.clear();
    return all;
  }

  /** So many were asked for, whether or not there were any. */
  note(asked: number, now: number): void {
    const age = now - this.periodStart;
    if (age >= this.lifeMs) {
      this.demand = Math.max(asked, age < 2 * this.lifeMs ? this.askedInPeriod : 0);
      this.periodStart = now;
      this.askedInPeriod = 0;
    }
    this.askedInPeriod += asked;
    this.demand = Math.max(this.demand, this.askedInPeriod);
  }

  /** How many to fetch ahead, so that what comes next finds them here; 0 for none now. */
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
