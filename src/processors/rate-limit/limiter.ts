import { RecordReader, RecordWalk } from "#otlp/views";
import type { OnOttlError } from "#ottl";
import type { Batch, Clock, Origin } from "../../plugin.js";
import { Allowance } from "./allowance.js";
import { AllowanceTable } from "./allowance-table.js";
import { bypassFor } from "./bypass.js";
import type { RateLimitConfig } from "./config.js";
import { Judge, type Judgement } from "./judge.js";
import type { Lease } from "./lease.js";
import { RecordKeys } from "./record-key.js";
import type { SharedPermits } from "./shared-permits.js";

/** The limits that agents share. */
export interface SharedLimits {
  readonly perKey: SharedPermits;
  readonly global: SharedPermits | undefined;
}

/**
 * Decides batch by batch which records pass. Call `judge`, and then either `commit`, which counts the records that
 * pass, or `cancel`, which counts nothing. All records of a batch count as arriving at one time.
 */
export class Limiter {
  private readonly config: RateLimitConfig;
  private readonly clock: Clock;
  private readonly onError: OnOttlError;
  private readonly table: AllowanceTable;
  private readonly global: Allowance | undefined;
  private readonly shared: SharedLimits | undefined;
  private batchSerial = 0;
  private now = 0;
  private readonly keys: string[] = [];
  private readonly allowances: Allowance[] = [];

  constructor(config: RateLimitConfig, clock: Clock, onError: OnOttlError, shared?: SharedLimits) {
    this.config = config;
    this.clock = clock;
    this.onError = onError;
    this.shared = shared;
    this.table = new AllowanceTable(config.perKey, config.maxKeys, shared && ((key) => shared.perKey.lease(key)));
    this.global = config.global && new Allowance(config.global);
    if (this.global !== undefined) this.global.lease = shared?.global?.lease("global");
  }

  /** Number of keys with an allowance of their own. */
  get size(): number {
    return this.table.size;
  }

  judge(batch: Batch, origin: Origin): Judgement {
    this.forgetBatch();
    this.batchSerial += 1;
    this.now = this.clock.monotonic();
    if (this.global !== undefined) this.openForBatch(this.global);
    const walk = new RecordWalk(batch);
    const reader = new RecordReader(walk);
    const judge = new Judge({
      count: batch.count,
      reader,
      keys: new RecordKeys(this.config.key, walk, reader, origin),
      bypass: bypassFor(this.config.bypass, walk, origin, this.onError),
      global: this.global,
      find: (key) => this.find(key),
    });
    walk.run(judge);
    return judge;
  }

  /**
   * Fetches missing permits from the pool that agents share. The promise resolves when they have arrived or when it is
   * known that there are none; the batch must then be judged again. Returns undefined if fetching is pointless. Call it
   * after `judge`, if something was over a limit.
   */
  fetchMissingPermits(): Promise<unknown> | undefined {
    if (!this.shared?.perKey.isUp) return undefined;
    const fetches = this.leased().flatMap(([permits, { asked, room }, lease]) => {
      const lacking = Math.min(asked, permits.capacity) - lease.available(this.now);
      const mayAsk = asked > room && lacking > 0 && this.now >= lease.deniedUntil;
      return mayAsk ? [lease.asking ?? permits.fetch(lease, lacking)] : [];
    });
    return fetches.length === 0 ? undefined : Promise.all(fetches);
  }

  /** Counts the records that `judge` let pass. */
  commit(): void {
    this.spendLeases();
    if (this.global !== undefined && this.global.taken > 0) this.global.take(this.global.taken, this.now);
    for (const [i, allowance] of this.allowances.entries()) {
      const key = this.keys[i]!;
      if (allowance.taken === 0) this.table.forgetIfUnused(key, this.now);
      else {
        allowance.take(allowance.taken, this.now);
        this.table.markUsed(key);
      }
    }
    this.forgetBatch();
  }

  /**
   * Counts nothing. Returns the milliseconds until the whole batch could pass; infinite if it never could, because it
   * has more records of one key, or of all keys, than any window admits.
   */
  cancel(): number {
    const { global, now } = this;
    let wait = global === undefined ? 0 : global.waitFor(global.asked, now);
    for (const [i, allowance] of this.allowances.entries()) {
      // Several keys share the overflow, so part of these records may later have allowances of their own.
      const asked = allowance.isShared ? Math.min(allowance.asked, allowance.capacity) : allowance.asked;
      wait = Math.max(wait, allowance.waitFor(asked, now), (allowance.lease?.deniedUntil ?? now) - now);
      this.table.forgetIfUnused(this.keys[i]!, now);
    }
    this.forgetBatch();
    return wait;
  }

  /** Returns the allowances of this batch that have a lease, each with the source of its permits. */
  private leased(): [SharedPermits, Allowance, Lease][] {
    const { shared, global } = this;
    const leased: [SharedPermits, Allowance, Lease][] = [];
    if (shared === undefined) return leased;
    for (const allowance of this.allowances)
      if (allowance.lease !== undefined) leased.push([shared.perKey, allowance, allowance.lease]);
    if (shared.global !== undefined && global?.lease !== undefined) leased.push([shared.global, global, global.lease]);
    return leased;
  }

  /** Takes the passed records from the leases too, and starts to fetch what the next batches will need. */
  private spendLeases(): void {
    if (this.shared === undefined) return;
    const now = this.clock.monotonic();
    for (const [permits, { asked, taken }, lease] of this.leased()) {
      lease.take(taken, this.now);
      lease.noteDemand(asked, now);
      if (permits.isUp) void permits.fetch(lease, lease.wanted(now, permits.maxAhead));
    }
  }

  private find(key: string): Allowance {
    const allowance = this.table.find(key, this.now, this.batchSerial);
    if (allowance.batchSerial !== this.batchSerial) {
      this.openForBatch(allowance);
      this.keys.push(key);
      this.allowances.push(allowance);
    }
    return allowance;
  }

  private openForBatch(allowance: Allowance): void {
    allowance.batchSerial = this.batchSerial;
    const room = allowance.available(this.now);
    const lease = this.shared?.perKey.isUp ? allowance.lease : undefined;
    allowance.room = lease === undefined ? room : Math.min(room, lease.available(this.now));
    allowance.asked = 0;
    allowance.taken = 0;
  }

  private forgetBatch(): void {
    this.keys.length = 0;
    this.allowances.length = 0;
  }
}
