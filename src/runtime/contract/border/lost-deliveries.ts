import type { Clock } from "../clock.js";
import type { Debt, DebtWatch, HeldDebts } from "../debt.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { Refusal } from "../errors/refusal.js";

/** The error code of deliveries that are refused because a component lost them. */
export const DELIVERY_LOST = ERROR_CODES.SLUICE_DELIVERY_LOST;

/** A debt that stays inside for longer than this (at most twice as long) is checked for being lost. */
const LOOK_INTERVAL_MS = 1000;

interface LostDeliveriesSettings {
  readonly heldDebts: HeldDebts;
  readonly clock: Clock;
  /** Undefined for a component that holds deliveries on purpose. What it loses is found when memory is needed. */
  readonly garbageCollection: GarbageCollection | undefined;
}

/**
 * Notices deliveries that a component lost without handing them on or settling them, as a plain `filter(...)` does.
 * Their senders would wait forever, and their bytes would count as held. Only deliveries hold the lease of a debt. So
 * if the lease was garbage-collected while the debt is still owed here, no code can settle the debt any more, and it is
 * refused with a retryable error.
 *
 * Node.js collects garbage when it needs memory, which an idle process may not do for hours. So a collection is
 * requested if the same debt stays inside for some time.
 */
export class LostDeliveries implements DebtWatch {
  private readonly settings: LostDeliveriesSettings;
  private readonly leases: FinalizationRegistry<Debt>;
  private readonly fresh: Debt[] = [];
  private depth = 0;
  private isStopped = false;
  private cancelTimer: (() => void) | undefined;
  private lastOldest: Debt | undefined;

  constructor(settings: LostDeliveriesSettings) {
    this.settings = settings;
    this.leases = new FinalizationRegistry((debt) => this.refuseIfLost(debt));
  }

  leaseCreated(debt: Debt): void {
    if (this.depth > 0) {
      this.fresh.push(debt);
      return;
    }
    this.release(debt);
    this.lookLater();
  }

  /**
   * Runs `give`, which hands a delivery to the component. Most deliveries are handed on at once. Only those that the
   * component still has afterwards are registered, because a registration costs more than everything else here.
   */
  passing(give: () => void): void {
    this.depth += 1;
    try {
      give();
    } finally {
      this.depth -= 1;
      if (this.depth === 0) this.releaseFresh();
    }
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.lastOldest = undefined;
  }

  private releaseFresh(): void {
    for (const debt of this.fresh) this.release(debt);
    this.fresh.length = 0;
    this.lookLater();
  }

  private release(debt: Debt): void {
    const lease = debt.releaseLease(this.settings.heldDebts);
    if (lease !== undefined) this.leases.register(lease, debt);
  }

  private lookLater(): void {
    const { garbageCollection, heldDebts, clock } = this.settings;
    if (this.isStopped || this.cancelTimer !== undefined) return;
    if (garbageCollection === undefined || heldDebts.size === 0) return;
    this.cancelTimer = clock.after(LOOK_INTERVAL_MS, () => this.look(garbageCollection));
  }

  private look(garbageCollection: GarbageCollection): void {
    const { oldest } = this.settings.heldDebts;
    if (oldest !== undefined && oldest === this.lastOldest) garbageCollection.request();
    this.cancelTimer = undefined;
    this.lastOldest = oldest;
    this.lookLater();
  }

  private refuseIfLost(debt: Debt): void {
    if (!debt.isLostIn(this.settings.heldDebts)) return;
    this.settings.garbageCollection?.found();
    debt.settle({ ok: false, refusal: lostRefusal() });
  }
}

function lostRefusal(): Refusal {
  const message =
    "it lost a delivery without handing it on; to drop one on purpose, call its drop(): filter((d) => isWanted(d) || d.drop())";
  return new Refusal("transient", message, { code: DELIVERY_LOST, unexpected: true });
}

const MIN_INTERVAL_MS = 2000;
const MAX_INTERVAL_MS = 60_000;

/**
 * Full garbage collections on request, for all plugins of an agent. A collection stops everything for some
 * milliseconds, so there is a minimum interval between two, which doubles with each one that finds nothing.
 */
export class GarbageCollection {
  private readonly clock: Clock;
  private readonly collect: () => void;
  private intervalMs = MIN_INTERVAL_MS;
  private notBefore = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, collect: () => void) {
    this.clock = clock;
    this.collect = collect;
  }

  /** Runs a collection, unless it is too early. */
  request(): void {
    const now = this.clock.monotonic();
    if (now < this.notBefore) return;
    this.notBefore = now + this.intervalMs;
    this.intervalMs = Math.min(2 * this.intervalMs, MAX_INTERVAL_MS);
    this.collect();
  }

  /** To be called when a collection, requested or not, found a lost delivery. */
  found(): void {
    this.intervalMs = MIN_INTERVAL_MS;
    this.notBefore = Math.min(this.notBefore, this.clock.monotonic() + MIN_INTERVAL_MS);
  }
}
