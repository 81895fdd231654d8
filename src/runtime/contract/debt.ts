/**
 * A debt is the answer that the agent owes to the sender of a batch. It is given exactly once.
 *
 * - **owed**: nobody has answered yet. The debt is inside at most one component, its holder, which may refuse it.
 * - **divided**: other debts are owed in its place, its parts. It waits for all of them.
 * - **settled**: it has its outcome, for good, and has told everyone who waits for it.
 *
 * The table says what follows in each state; test/runtime/contract/debt.test.ts reads this table and tries every cell:
 *
 * | state   | is settled | is replaced by parts | a part settles | the last part settles |
 * | ------- | ---------- | -------------------- | -------------- | --------------------- |
 * | owed    | settled    | divided              | -              | -                     |
 * | divided | divided    | divided              | divided        | settled               |
 * | settled | settled    | settled              | settled        | settled               |
 *
 * - Parts come from `divide` (a split, or copies), `join` (a merge: one part of several debts), `observe` and
 *   `catchRefusal` (one part). A debt that is replaced again waits for the new parts, too.
 * - An outcome is changed on its way: the holder may map a refusal, and `blame` names another reason for it.
 * - Then the holder lets go of the debt, and everyone who waits is told: first `onSettled`, then each creditor, for which
 *   a part has settled.
 * - But if a component catches the refusal (`catchRefusal`) and still runs, none of them is told. A new debt is owed in
 *   its place, inside that component, and has the same creditors.
 */
import type { Setback } from "./dead-letter.js";
import { chooseRefusal, expectedRefusal, type Refusal, toRefusal } from "./errors/refusal.js";

/** How a debt was settled: accepted, perhaps without the `rejected` records that a backend refused, or refused. */
export type Outcome =
  | { readonly ok: true; readonly rejected: number; readonly message: string }
  | { readonly ok: false; readonly refusal: Refusal };

type Taken = Extract<Outcome, { readonly ok: true }>;

/**
 * The outcome of a batch that was merged with those of other senders. Any of the rejected records may be this sender's.
 */
interface TakenWithOthers extends Taken {
  readonly rejectedOfAll?: number;
}

/** The number of records of a batch that may have been rejected, although its sender is not told any number. */
export function possiblyRejected({ rejected, rejectedOfAll = 0 }: TakenWithOthers): number {
  return rejected + rejectedOfAll;
}

/** Everything was accepted. */
export const ACCEPTED: Outcome = { ok: true, rejected: 0, message: "" };

/**
 * Watches whether the debts inside a component still have deliveries. A lease is an object that only deliveries hold.
 */
export interface DebtWatch {
  /** Called when a debt has a new lease. The debt itself holds it until `releaseLease`. */
  leaseCreated(debt: Debt): void;
}

/**
 * Decides what happens to data on which a function of a batch or a record threw. Returns the setback for keeping the
 * data as a dead letter, or undefined to refuse it. Called once for each failure, which it counts and logs.
 */
export type FailureHandler = (error: unknown) => Setback | undefined;

interface HeldDebtsSettings {
  /** Called with every refusal of a debt inside. Returns the refusal that is passed on. */
  readonly mapRefusal?: (refusal: Refusal) => Refusal;
  /** Set if failures are kept as dead letters. */
  readonly onFailure?: FailureHandler | undefined;
  /** Whether the whole graph is being aborted. */
  readonly isAborting?: (() => boolean) | undefined;
}

/** The debts that are inside one component at the moment. */
export class HeldDebts {
  /** Set for components that may lose a delivery without settling it. */
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

  /** If true, a refusal that the component would have caught is passed on to the sender. */
  get isClosed(): boolean {
    return this.hasEnded || this.isAborting?.() === true;
  }

  get size(): number {
    return this.debts.size;
  }

  /** The debt that has been inside longest. */
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

  /** Refuses all debts inside. Returns their number. */
  refuseAll(refusal: Refusal): number {
    const inside = [...this.debts];
    for (const debt of inside) debt.settle({ ok: false, refusal });
    return inside.length;
  }

  /** Refuses all debts inside, because the component has ended. */
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

/** The debt to the sender of a batch. Created by the intake; everyone else uses `Delivery`. */
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
  /** The component that caught the refusal with `onRefused`. A returned debt is inside it again. */
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
    joined.moveTo(debts.find((debt) => debt.open)?.holder); // a debt that is already settled has no holder
    for (const debt of debts) debt.replaceWithParts(1);
    return joined;
  }

  /** @internal Divides the debt into parts. `combineRejected` combines the numbers of rejected records of two parts. */
  divide(count: number, combineRejected: CombineRejected = sum): Debt[] {
    this.combineRejected = combineRejected;
    const creditors = [this];
    const parts = Array.from({ length: count }, () => new Debt(undefined, creditors));
    for (const part of parts) part.moveTo(this.holder);
    this.replaceWithParts(count);
    return parts;
  }

  /**
   * @internal Replaces this debt with one whose refusal is passed to `onRefused`, together with a new debt that is owed
   * instead.
   */
  catchRefusal(onRefused: OnRefused): Debt {
    const debt = new Debt(undefined, [this], onRefused);
    debt.catcher = this.holder;
    debt.moveTo(this.holder);
    this.replaceWithParts(1);
    return debt;
  }

  /** @internal Replaces this debt with one that calls `onSettled` with its outcome before the creditors learn of it. */
  observe(onSettled: (outcome: Outcome) => void): Debt {
    const debt = new Debt(onSettled, [this]);
    debt.moveTo(this.holder);
    this.replaceWithParts(1);
    return debt;
  }

  /** Whether other debts are owed in its place. Then it cannot be settled directly any more. */
  get isDivided(): boolean {
    return this.unsettledParts > 0;
  }

  /** @internal The failure handler of the component that has the debt; undefined if a throw refuses the data. */
  get failureHandler(): FailureHandler | undefined {
    return this.holder?.onFailure;
  }

  /** @internal The outcome; undefined while the debt is owed. */
  get outcome(): Outcome | undefined {
    return this.open || this.isDivided ? undefined : this.outcomeSoFar;
  }

  /** @internal Whether its sender was told to keep the data. */
  get isRefused(): boolean {
    return this.outcome?.ok === false;
  }

  /** The lease shared by all deliveries of this debt while it stays with its holder. */
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

  /** Makes deliveries the only holders of the lease, and returns it. Undefined if the debt is not owed there. */
  releaseLease(holder: HeldDebts): object | undefined {
    const lease = this.heldLease;
    if (lease === undefined || !this.open || this.holder !== holder) return undefined;
    this.heldLease = undefined;
    this.releasedLease = new WeakRef(lease);
    return lease;
  }

  /** Whether no delivery has the lease any more although the debt is still owed there. */
  isLostIn(holder: HeldDebts): boolean {
    const hasLease = this.heldLease !== undefined || this.releasedLease?.deref() !== undefined;
    return this.open && this.holder === holder && !hasLease;
  }

  /** Settles the debt. A second settlement is ignored. */
  settle(outcome: Outcome): void {
    if (!this.open) return;
    this.open = false;
    this.outcomeSoFar = this.withBlame(this.holder?.mapOutcome(outcome) ?? outcome);
    this.moveTo(undefined);
    this.conclude(this.outcomeSoFar);
  }

  /** @internal Sets the reason to use if the debt is refused. */
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

  /**
   * A debt may be divided more than once, for example by two subscribers of a shared stream. Then it waits for all
   * parts.
   */
  private replaceWithParts(parts: number): void {
    if (!this.open && !this.isDivided) return;
    this.open = false;
    this.unsettledParts += parts;
    this.moveTo(undefined);
  }

  private partSettled(outcome: Outcome): void {
    if (this.unsettledParts === 0) return; // the debt was settled before it was divided
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
   * Notifies everyone who waits for the debt, once, and drops the references to them, because through them a debt holds
   * its batch. V8 keeps the former members of a frequently changing set alive for long: the set's table is replaced
   * again and again, each old table refers to the next one and its contents, and only a full collection frees the
   * chain.
   */
  private conclude(outcome: Outcome): void {
    const { creditors, onSettled, onRefused } = this;
    this.creditors = NO_CREDITORS;
    this.onSettled = undefined;
    this.onRefused = undefined;
    if (!outcome.ok && onRefused !== undefined && this.catcher?.isClosed !== true) {
      this.returnToCatcher(onRefused, expectedRefusal(outcome.refusal), creditors);
      return;
    }
    const reported = creditors.length > 1 ? withoutCount(outcome) : outcome;
    onSettled?.(outcome);
    for (const creditor of creditors) creditor.partSettled(reported);
  }

  /** If `onRefused` throws, that is a failure of the component that caught the refusal, not of the one that refused. */
  private returnToCatcher(onRefused: OnRefused, refusal: Refusal, creditors: readonly Debt[]): void {
    const again = new Debt(undefined, creditors);
    again.moveTo(this.catcher);
    try {
      onRefused(again, refusal);
    } catch (error) {
      const outcome = { ok: false, refusal: toRefusal(error) } as const;
      if (again.open && again.holder === this.catcher) again.settle(outcome);
      else this.catcher?.mapOutcome(outcome); // handed on or divided already, so the error is only reported
    }
  }
}

const NO_CREDITORS: readonly Debt[] = [];

type OnRefused = (again: Debt, refusal: Refusal) => void;

/**
 * Pieces of a batch have different records, so their counts are added. Of copies, the larger count is used: at least
 * one branch does not have that many.
 */
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

/** Many pieces have the same message. */
function joinMessages(a: string, b: string): string {
  if (b === "" || a.includes(b) || a.length > MAX_JOINED_LENGTH) return a;
  return a === "" ? b : `${a}; ${b}`;
}

const MAX_JOINED_LENGTH = 500;

/**
 * For a merged batch it is not known whose records were rejected. So each sender gets the message as a warning, without
 * a count.
 */
function withoutCount(outcome: Outcome): Outcome {
  if (!outcome.ok || outcome.rejected === 0) return outcome;
  const message = `${outcome.rejected} records of a batch of several senders were rejected: ${outcome.message}`;
  return { ok: true, rejected: 0, message, ...rejectedOfAll(possiblyRejected(outcome)) };
}
