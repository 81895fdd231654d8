import type { Batch } from "../telemetry/batch.js";
import { validateSetback } from "./border/read-answers.js";
import { type DeadLetter, isDeadLetter, type Setback } from "./dead-letter.js";
import { chooseRefusal, expectedRefusal, type Refusal, toRefusal } from "./refusal.js";

/**
 * A delivery is a batch and the debt to whoever handed it in.
 *
 * Invariants:
 * - A debt is settled exactly once: accepted or refused. A second settlement is ignored.
 * - `split` and `merge` move the debt, they never end it: the debt follows the data. A split debt is settled when all
 *   its parts are, and refused if any part is; a merged one settles all it was made of.
 * - A debt whose refusal is caught (`catchRefusal`) is settled by its acceptance only; after a refusal the one made in
 *   its place carries on.
 * - Whoever holds a delivery must, in the end, hand it on, settle it, split it or merge it. What sits in a component is
 *   in the component's `HeldDebts`, so that it can be refused when the component fails, is aborted, or lets go of it.
 *
 * @example
 * const copyToAll = (delivery: Delivery, targets: readonly string[]) =>
 *   delivery.copies(targets.length).map((copy, i) => copy.to([targets[i]!]));
 */
export class Delivery {
  readonly batch: Batch;
  readonly origin: Origin;
  /** Pipelines a connector chose for this delivery; undefined means all that the connector feeds. */
  readonly route: readonly string[] | undefined;
  readonly debt: Debt;
  /** @internal Alive for as long as any delivery of this debt is, where the debts inside a component are watched for that. */
  readonly lease: object | undefined;
  /**
   * Set on what a processor took out of the pipeline: no other processor sees it, exporters keep it as a dead letter.
   */
  readonly setback: Setback | undefined;

  constructor(batch: Batch, origin: Origin, debt: Debt, route?: readonly string[], setback?: Setback) {
    this.batch = batch;
    this.origin = origin;
    this.debt = debt;
    this.route = route;
    this.setback = setback;
    this.lease = debt.lease();
  }

  /** The same debt for another batch, such as an edited one. */
  with(batch: Batch): Delivery {
    return batch === this.batch ? this : new Delivery(batch, this.origin, this.debt, this.route, this.setback);
  }

  /** The same delivery, meant for these pipelines only; undefined means all. For connectors. */
  to(pipelines: readonly string[] | undefined): Delivery {
    return new Delivery(this.batch, this.origin, this.debt, pipelines, this.setback);
  }

  /** @internal The same delivery with a lease on its debt, where the debt is watched. */
  withLease(): Delivery {
    return this.withDebt(this.debt);
  }

  /** Several deliveries that share this debt. No batches at all means a deliberate drop: the debt is accepted. */
  split(parts: readonly (Batch | DeadLetter)[]): Delivery[] {
    if (parts.length === 0) this.accept();
    if (parts.length === 1) return [this.createPart(parts[0]!, this.debt)];
    const debts = this.debt.divide(parts.length, sum);
    return parts.map((part, i) => this.createPart(part, debts[i]!));
  }

  /** The whole batch so many times, for branches that all must take it. None at all means a deliberate drop. */
  copies(count: number): Delivery[] {
    if (count === 0) this.accept();
    if (count === 1) return [this];
    return this.debt.divide(count, Math.max).map((debt) => this.createPart(this.batch, debt));
  }

  /**
   * The same delivery, but a refusal comes back: `onRefused` is given it with a delivery that owes what this one owed,
   * and is to be handed on or settled in its place. For connectors that know another way.
   */
  catchRefusal(onRefused: (again: Delivery, refusal: Refusal) => void): Delivery {
    const debt = this.debt.catchRefusal((again, refusal) => onRefused(this.withDebt(again), refusal));
    return this.withDebt(debt);
  }

  /** One delivery that owes what all of these owed. The origin is that of the first. */
  static merge(deliveries: readonly Delivery[], batch: Batch): Delivery {
    const first = deliveries[0];
    if (first === undefined) throw new RangeError("cannot merge no deliveries");
    if (deliveries.length === 1) return first.with(batch);
    return new Delivery(batch, first.origin, Debt.join(deliveries.map((d) => d.debt)), first.route, first.setback);
  }

  private withDebt(debt: Debt): Delivery {
    return new Delivery(this.batch, this.origin, debt, this.route, this.setback);
  }

  private createPart(part: Batch | DeadLetter, debt: Debt): Delivery {
    const [batch, setback] = isDeadLetter(part) ? [part.batch, validateSetback(part.setback)] : [part, this.setback];
    const isSame = batch === this.batch && debt === this.debt && setback === this.setback;
    return isSame ? this : new Delivery(batch, this.origin, debt, this.route, setback);
  }

  /** Takes responsibility: the data is safe, or was dropped on purpose. */
  accept(partial: PartialRejection = NOTHING_REJECTED): void {
    this.debt.settle({ ok: true, rejected: partial.rejected, message: partial.message });
  }

  /**
   * Drops the data on purpose: the debt is accepted. For streams that pass on only some deliveries, it gives false:
   * `filter((delivery) => isWanted(delivery) || delivery.drop())`.
   */
  drop(): false {
    this.accept();
    return false;
  }

  /** Gives the data back to whoever sent it. */
  refuse(error: unknown): void {
    this.debt.settle({ ok: false, refusal: toRefusal(error) });
  }
}

/**
 * Where a delivery came from; `metadata` is what the receiver was told to keep of the client's headers, by lower-case
 * name.
 */
export interface Origin {
  readonly receiver: string;
  readonly transport: string;
  readonly metadata?: ReadonlyMap<string, readonly string[]>;
}

/** A downstream that took the request but rejected some records of it for good (OTLP partial_success). */
export interface PartialRejection {
  readonly rejected: number;
  readonly message: string;
}

/** How a debt was settled: taken, perhaps without the `rejected` records that a backend will not have, or refused. */
export type Outcome =
  | { readonly ok: true; readonly rejected: number; readonly message: string }
  | { readonly ok: false; readonly refusal: Refusal };

const NOTHING_REJECTED: PartialRejection = { rejected: 0, message: "" };

/** All of it was taken. */
export const ACCEPTED: Outcome = { ok: true, rejected: 0, message: "" };

/** Watches whether the debts inside a component still have deliveries: an object that only these hold is their lease. */
export interface DebtWatch {
  /** The debt has a new lease, which it holds itself until `releaseLease`. */
  leaseCreated(debt: Debt): void;
}

/** The debts that are inside one component at the moment. */
export class HeldDebts {
  /** Set for components that may let go of a delivery without settling it. */
  watch: DebtWatch | undefined;
  isClosed = false;
  private readonly debts = new Set<Debt>();
  private readonly mapRefusal: ((refusal: Refusal) => Refusal) | undefined;

  /** `mapRefusal` sees every refusal of what is inside, and gives the one that is passed on. */
  constructor(mapRefusal?: (refusal: Refusal) => Refusal) {
    this.mapRefusal = mapRefusal;
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

  /** Refuses all that is inside. The component has ended: a refusal that it would have caught goes on to the sender. */
  close(refusal: Refusal): void {
    this.isClosed = true;
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
  private outcome: Outcome = ACCEPTED;
  private combineRejected: CombineRejected = sum;
  private holder: HeldDebts | undefined;
  private heldLease: object | undefined;
  private releasedLease: WeakRef<object> | undefined;
  private readonly creditors: readonly Debt[];
  private readonly onSettled: ((outcome: Outcome) => void) | undefined;
  private readonly onRefused: OnRefused | undefined;
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
  divide(count: number, combineRejected: CombineRejected): Debt[] {
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

  /** True once others are owed in its place: it cannot be settled by itself any more. */
  get isDivided(): boolean {
    return this.unsettledParts > 0;
  }

  /** @internal True once its sender was told to keep the data. */
  get isRefused(): boolean {
    return !this.open && !this.isDivided && !this.outcome.ok;
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
    this.outcome = this.holder?.mapOutcome(outcome) ?? outcome;
    this.moveTo(undefined);
    this.conclude(this.outcome);
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
    this.outcome = combine(this.outcome, outcome, this.combineRejected);
    this.unsettledParts -= 1;
    if (this.unsettledParts === 0) this.conclude(this.outcome);
  }

  private conclude(outcome: Outcome): void {
    if (!outcome.ok && this.onRefused !== undefined && this.catcher?.isClosed !== true) {
      this.comeBack(this.onRefused, expectedRefusal(outcome.refusal));
      return;
    }
    const reported = this.creditors.length > 1 ? withoutCount(outcome) : outcome;
    for (const creditor of this.creditors) creditor.partSettled(reported);
    this.onSettled?.(outcome);
  }

  /** A throw is the failure of the component that caught the refusal, not of whoever refused. */
  private comeBack(onRefused: OnRefused, refusal: Refusal): void {
    const again = new Debt(undefined, this.creditors);
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
  return { ok: true, rejected: combineRejected(a.rejected, b.rejected), message: joinMessages(a.message, b.message) };
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
  return { ok: true, rejected: 0, message };
}
