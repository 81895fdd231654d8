import type { Batch } from "#otlp";
import { validateSetback } from "./border/read-answers.js";
import { type DeadLetter, isDeadLetter, type Setback } from "./dead-letter.js";
import { Debt, type Outcome } from "./debt.js";
import { type Refusal, toRefusal } from "./errors/refusal.js";

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
   * Set on what a processor took out of the pipeline: exporters keep it as a dead letter.
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

  /** Meant for these pipelines only; undefined means all. For connectors. */
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
    const debts = this.debt.divide(parts.length);
    return parts.map((part, i) => this.createPart(part, debts[i]!));
  }

  /** The whole batch so many times, for branches that all must take it. None at all means a deliberate drop. */
  copies(count: number): Delivery[] {
    if (count === 0) this.accept();
    if (count === 1) return [this];
    return this.debt.divide(count, Math.max).map((debt, i) => this.createCopy(debt, i));
  }

  /**
   * The same delivery, but a refusal comes back: `onRefused` is given it with a delivery that owes what this one owed,
   * and is to be handed on or settled in its place. For connectors that know another way.
   */
  catchRefusal(onRefused: (again: Delivery, refusal: Refusal) => void): Delivery {
    const debt = this.debt.catchRefusal((again, refusal) => onRefused(this.withDebt(again), refusal));
    return this.withDebt(debt);
  }

  /** @internal The same delivery; `onSettled` is told how it ended, before anybody else. */
  observe(onSettled: (outcome: Outcome) => void): Delivery {
    return this.withDebt(this.debt.observe(onSettled));
  }

  /** One delivery that owes what all of these owed. The origin is that of the first, without what others say otherwise of their clients. */
  static merge(deliveries: readonly Delivery[], batch: Batch): Delivery {
    const first = deliveries[0];
    if (first === undefined) throw new RangeError("cannot merge no deliveries");
    if (deliveries.length === 1) return first.with(batch);
    const debt = Debt.join(deliveries.map((d) => d.debt));
    return new Delivery(batch, commonOrigin(deliveries), debt, first.route, first.setback);
  }

  private withDebt(debt: Debt): Delivery {
    return new Delivery(this.batch, this.origin, debt, this.route, this.setback);
  }

  private createPart(part: Batch | DeadLetter, debt: Debt): Delivery {
    const [batch, setback] = isDeadLetter(part) ? [part.batch, validateSetback(part.setback)] : [part, this.setback];
    const isSame = batch === this.batch && debt === this.debt && setback === this.setback;
    const origin = debt === this.debt ? this.origin : withoutIdentity(this.origin);
    return isSame ? this : new Delivery(batch, origin, debt, this.route, setback);
  }

  /** All of it goes this way too; by the number the ways are told apart, which may meet again in one queue. */
  private createCopy(debt: Debt, number: number): Delivery {
    const { key, isOnce } = this.origin;
    const origin = withoutIdentity(this.origin);
    const own = key === undefined ? origin : { ...origin, key: `${key}/${number}`, ...(isOnce && { isOnce }) };
    return new Delivery(this.batch, own, debt, this.route, this.setback);
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
  /** @internal The address of the client, where the receiver knows it; what was merged from several has none. */
  readonly address?: string;
  /**
   * @internal The place in its pipeline's journal of the one entry that this delivery is all of; what was split or merged has
   * none. An entry that is read again has the same.
   */
  readonly position?: number;
  /**
   * @internal What all of this delivery is known by to whoever handed it in, the same each time it is handed in; what was split
   * or merged has none. A queue keeps one entry of it, whose id is made of it, also when it comes again after a crash.
   */
  readonly key?: string;
  /** @internal It may be handed in again when the queue has delivered it already: the queue remembers that it took this key. */
  readonly isOnce?: boolean;
  /** @internal Whoever sent it hears of no refusal and has not kept it: it is lost unless somebody on its way keeps it. */
  readonly isUnattended?: boolean;
  /** @internal It has come from outside and is in no store of the agent yet. */
  readonly isNew?: boolean;
}

/** Nobody's data is to be sent in the name of another client: what differs is of none of them. */
function commonOrigin(deliveries: readonly Delivery[]): Origin {
  const { metadata, address, ...others } = withoutIdentity(deliveries[0]!.origin);
  const isOfOne = address !== undefined && deliveries.every(({ origin }) => origin.address === address);
  const rest = isOfOne ? { ...others, address } : others;
  if (metadata === undefined) return rest;
  if (deliveries.every(({ origin }) => origin.metadata === metadata)) return { ...rest, metadata };
  const isCommon = ([name, values]: [string, readonly string[]]) =>
    deliveries.every(({ origin }) => isSameList(origin.metadata?.get(name), values));
  const common = [...metadata].filter(isCommon);
  return common.length === 0 ? rest : { ...rest, metadata: new Map(common) };
}

function isSameList(one: readonly string[] | undefined, other: readonly string[]): boolean {
  return one?.length === other.length && one.every((text, index) => text === other[index]);
}

function withoutIdentity(origin: Origin): Origin {
  if (origin.position === undefined && origin.key === undefined) return origin;
  const { position: _, key: __, isOnce: ___, ...rest } = origin;
  return rest;
}

/** A downstream that took the request but rejected some records of it for good (OTLP partial_success). */
export interface PartialRejection {
  readonly rejected: number;
  readonly message: string;
}

const NOTHING_REJECTED: PartialRejection = { rejected: 0, message: "" };
