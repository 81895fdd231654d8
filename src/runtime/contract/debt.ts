import type { Setback } from "./dead-letter.js";
import { chooseRefusal, expectedRefusal, type Refusal, toRefusal } from "./errors/refusal.js";

/** How a debt was settled: taken, perhaps without the `rejected` records that a backend will not have, or refused. */
export type Outcome =
  | { readonly ok: true; readonly rejected: number; readonly message: string }
  | { readonly ok: false; readonly refusal: Refusal };

type Taken = Extract<Outcome, { readonly ok: true }>;

/** The outcome of what was merged with the batches of others: any of the records rejected may be this sender's. */
interface TakenWithOthers extends Taken {
  readonly rejectedOfAll?: number;
}

/** How many records of a batch may have been rejected, though its sender is told of no number. */
export function possiblyRejected({ rejected, rejectedOfAll = 0 }: TakenWithOthers): number {
  return rejected + rejectedOfAll;
}

/** All of it was taken. */
export const ACCEPTED: Outcome = { ok: true, rejected: 0, message: "" };

/** Watches whether the debts inside a component still have deliveries: an object that only these hold is their lease. */
export interface DebtWatch {
  /** The debt has a new lease, which it holds itself until `releaseLease`. */
  leaseCreated(debt: Debt): void;
}

/**
 * Decides what happens to data on which a function of a batch or a record threw: returns the setback to keep the data with as a
 * dead letter, or undefined to refuse it. Called once for each failure; it counts and logs the failure.
 */
export type FailureHandler = (error: unknown) => Setback | undefined;

export interface HeldDebtsSettings {
  /** Sees every refusal of what is inside, and returns the one that is passed on. */
  readonly mapRefusal?: (refusal: Refusal) => Refusal;
  /** Set where failures are kept as dead letters. */
  readonly onFailure?: FailureHandler | undefined;
  /** True from the moment on in which the whole graph is aborted. */
  readonly isAborting?: (() => boolean) | undefined;
}

/** The debts that are inside one component at the moment. */
export class HeldDebts {
  /** Set for components that may let go of a delivery without settling it. */
  watch: DebtWatch | undefined;
  readonly onFailure: FailureHandler | undefined;
  private hasEnded = false;
  private readonly isAborting: (() => boolean) | undefined;
  private readonly debts = new Set<Debt>();
  private readonly mapRefusal: ((refusal: Refusal) => Refusal) | undefined;

  constructor({ mapRefusal, onFailure, isAborting }: HeldDebtsSettings = {}) {
    this.mapRefusal = mapRefusal;
    this.onFailure = onFailure;
    this.isAborting = isAborting;
  }

  /** Once true, a refusal that the component would have caught goes on to the sender. */
  get isClosed(): boolean {
    return this.hasEnded || this.isAborting?.() === true;
  }

  get size(): number {
    return this.debts.size;
  }

  /** The one that has been inside for the longest. */
  get oldest(): Debt | undefined {
    for (const debt of this.debts) return debt;
    return undefined;
  }

  add(debt: Debt): void {
    debt.moveTo(this);
  }

  remove(debt: Debt): void {
    debt.moveTo(undefined);
  }

  /** Refuses all that is inside; returns how many there were. */
  refuseAll(refusal: Refusal): number {
    const inside = [...this.debts];
    for (const debt of inside) debt.settle({ ok: false, refusal });
    return inside.length;
  }

  /** Refuses all that is inside, because the component has ended. */
  close(refusal: Refusal): void {
    this.hasEnded = true;
    this.refuseAll(refusal);
  }

  /** @internal called by Debt alone */
  mapOutcome(outcome: Outcome): Outcome {
    return outcome.ok || this.mapRefusal === undefined
      ? outcome
      : { ok: false, refusal: this.mapRefusal(outcome.refusal) };
  }

  /** @internal called by Debt alone */
  track(debt: Debt, inside: boolean): void {
    if (inside) this.debts.add(debt);
    else this.debts.delete(debt);
  }
}

/** What is owed to the sender of a batch. Made by the intake; everyone else goes through `Delivery`. */
export class Debt {
  private open = true;
  private unsettledParts = 0;
  private outcomeSoFar: Outcome = ACCEPTED;
  private combineRejected: CombineRejected = sum;
  private blamed: Refusal | undefined;
  private holder: HeldDebts | undefined;
  private heldLease: object | undefined;
  private releasedLease: WeakRef<object> | undefined;
  private creditors: readonly Debt[];
  private onSettled: ((outcome: Outcome) => void) | undefined;
  private onRefused: OnRefused | undefined;
  /** The component that `onRefused` is of: what comes back is inside it again. */
  private catcher: HeldDebts | undefined;

  constructor(
    onSettled: ((outcome: Outcome) => void) | undefined,
    creditors: readonly Debt[] = [],
    onRefused?: OnRefused,
  ) {
    this.onSettled = onSettled;
    this.creditors = creditors;
    this.onRefused = onRefused;
  }

  /** @internal for `Delivery.merge` */
  static join(debts: readonly Debt[]): Debt {
    const joined = new Debt(undefined, debts);
    joined.moveTo(debts.find((debt) => debt.open)?.holder); // one that was settled before is nowhere
    for (const debt of debts) debt.replaceWithParts(1);
    return joined;
  }

  /** @internal `combineRejected` makes one number of what two parts had rejected. */
  divide(count: number, combineRejected: CombineRejected = sum): Debt[] {
    this.combineRejected = combineRejected;
    const parts = Array.from({ length: count }, () => new Debt(undefined, [this]));
    for (const part of parts) part.moveTo(this.holder);
    this.replaceWithParts(count);
    return parts;
  }

  /**
   * @internal A debt in the place of this one, whose refusal is told to `onRefused` with one that is owed in its stead.
   */
  catchRefusal(onRefused: OnRefused): Debt {
    const debt = new Debt(undefined, [this], onRefused);
    debt.catcher = this.holder;
    debt.moveTo(this.holder);
    this.replaceWithParts(1);
    return debt;
  }

  /** @internal A debt in the place of this one; `onSettled` is told of its outcome before anybody who is owed. */
  observe(onSettled: (outcome: Outcome) => void): Debt {
    const debt = new Debt(onSettled, [this]);
    debt.moveTo(this.holder);
    this.replaceWithParts(1);
    return debt;
  }

  /** True once others are owed in its place: it cannot be settled by itself any more. */
  get isDivided(): boolean {
    return this.unsettledParts > 0;
  }

  /** @internal The handler of the component that the debt is inside of; undefined where a throw refuses the data. */
  get failureHandler(): FailureHandler | undefined {
    return this.holder?.onFailure;
  }

  /** @internal How it was settled; undefined while it is owed. */
  get outcome(): Outcome | undefined {
    return this.open || this.isDivided ? undefined : this.outcomeSoFar;
  }

  /** @internal True once its sender was told to keep the data. */
  get isRefused(): boolean {
    return this.outcome?.ok === false;
  }

  /** The one lease that all deliveries of this debt share while it is where it is. */
  lease(): object | undefined {
    const watch = this.holder?.watch;
    if (watch === undefined || !this.open) return undefined;
    const existing = this.heldLease ?? this.releasedLease?.deref();
    if (existing !== undefined) return existing;
    const lease = {};
    this.heldLease = lease;
    watch.leaseCreated(this);
    return lease;
  }

  /** From here on only deliveries hold the lease, which is given; undefined when the debt is not owed in that place. */
  releaseLease(holder: HeldDebts): object | undefined {
    const lease = this.heldLease;
    if (lease === undefined || !this.open || this.holder !== holder) return undefined;
    this.heldLease = undefined;
    this.releasedLease = new WeakRef(lease);
    return lease;
  }

  /** No delivery holds a lease on it, though it is still owed in that place. */
  isLostIn(holder: HeldDebts): boolean {
    const hasLease = this.heldLease !== undefined || this.releasedLease?.deref() !== undefined;
    return this.open && this.holder === holder && !hasLease;
  }

  /** Ends the debt; a second settlement is ignored. */
  settle(outcome: Outcome): void {
    if (!this.open) return;
    this.open = false;
    this.outcomeSoFar = this.withBlame(this.holder?.mapOutcome(outcome) ?? outcome);
    this.moveTo(undefined);
    this.conclude(this.outcomeSoFar);
  }

  /** @internal Should it be refused, it is for this reason. */
  blame(refusal: Refusal): void {
    this.blamed = refusal;
  }

  /** @internal for `HeldDebts` */
  moveTo(holder: HeldDebts | undefined): void {
    if (this.holder === holder) return;
    this.holder?.track(this, false);
    this.holder = holder;
    this.heldLease = undefined;
    this.releasedLease = undefined;
    if (this.open) holder?.track(this, true);
  }

  /** Who divides it a second time, as two subscribers of a shared stream may, adds to the parts that it waits for. */
  private replaceWithParts(parts: number): void {
    if (!this.open && !this.isDivided) return;
    this.open = false;
    this.unsettledParts += parts;
    this.moveTo(undefined);
  }

  private partSettled(outcome: Outcome): void {
    if (this.unsettledParts === 0) return; // was settled before it was divided
    this.outcomeSoFar = combine(this.outcomeSoFar, outcome, this.combineRejected);
    this.unsettledParts -= 1;
    if (this.unsettledParts > 0) return;
    this.outcomeSoFar = this.withBlame(this.outcomeSoFar);
    this.conclude(this.outcomeSoFar);
  }

  private withBlame(outcome: Outcome): Outcome {
    return outcome.ok || this.blamed === undefined ? outcome : { ok: false, refusal: this.blamed };
  }

  /**
   * Tells whoever waits for it, once, and lets go of them: through them a debt holds its batch, and V8 keeps what was in a set that
   * changes all the time for long. The table of such a set is replaced again and again, each old one holds the next one and what
   * was in it, and only a full collection frees a chain of them.
   */
  private conclude(outcome: Outcome): void {
    const { creditors, onSettled, onRefused } = this;
    this.creditors = NOBODY;
    this.onSettled = undefined;
    this.onRefused = undefined;
    if (!outcome.ok && onRefused !== undefined && this.catcher?.isClosed !== true) {
      this.comeBack(onRefused, expectedRefusal(outcome.refusal), creditors);
      return;
    }
    const reported = creditors.length > 1 ? withoutCount(outcome) : outcome;
    onSettled?.(outcome);
    for (const creditor of creditors) creditor.partSettled(reported);
  }

  /** A throw is the failure of the component that caught the refusal, not of whoever refused. */
  private comeBack(onRefused: OnRefused, refusal: Refusal, creditors: readonly Debt[]): void {
    const again = new Debt(undefined, creditors);
    again.moveTo(this.catcher);
    try {
      onRefused(again, refusal);
    } catch (error) {
      const outcome = { ok: false, refusal: toRefusal(error) } as const;
      if (again.open && again.holder === this.catcher) again.settle(outcome);
      else this.catcher?.mapOutcome(outcome); // it was handed on or divided: the throw is only told
    }
  }
}

const NOBODY: readonly Debt[] = [];

type OnRefused = (again: Debt, refusal: Refusal) => void;

/** Pieces of a batch have different records; of copies, the larger count is what at least one branch does not have. */
type CombineRejected = (a: number, b: number) => number;

function sum(a: number, b: number): number {
  return a + b;
}

function combine(a: Outcome, b: Outcome, combineRejected: CombineRejected): Outcome {
  if (!a.ok) return b.ok ? a : { ok: false, refusal: chooseRefusal(a.refusal, b.refusal) };
  if (!b.ok) return b;
  if (a.message === "" && a.rejected === 0) return b;
  if (b.message === "" && b.rejected === 0) return a;
  return {
    ok: true,
    rejected: combineRejected(a.rejected, b.rejected),
    message: joinMessages(a.message, b.message),
    ...rejectedOfAll(combineRejected(possiblyRejected(a) - a.rejected, possiblyRejected(b) - b.rejected)),
  };
}

function rejectedOfAll(count: number): Pick<TakenWithOthers, "rejectedOfAll"> {
  return count > 0 ? { rejectedOfAll: count } : {};
}

/** Many pieces tend to have the same to say. */
function joinMessages(a: string, b: string): string {
  if (b === "" || a.includes(b) || a.length > MAX_JOINED_LENGTH) return a;
  return a === "" ? b : `${a}; ${b}`;
}

const MAX_JOINED_LENGTH = 500;

/** Of a merged batch nobody knows whose records were rejected: each sender gets the words as a warning, no count. */
function withoutCount(outcome: Outcome): Outcome {
  if (!outcome.ok || outcome.rejected === 0) return outcome;
  const message = `${outcome.rejected} records of a batch of several senders were rejected: ${outcome.message}`;
  return { ok: true, rejected: 0, message, ...rejectedOfAll(possiblyRejected(outcome)) };
}
