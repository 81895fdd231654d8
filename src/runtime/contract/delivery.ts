import type { Batch } from "#otlp";
import type { DeadLetter, Setback } from "./dead-letter.js";
import { Debt, type Outcome } from "./debt.js";
import { ERROR_CODES } from "./errors/error-codes.js";
import { errorMessage } from "./errors/error-message.js";
import { type Refusal, toRefusal } from "./errors/refusal.js";
import type { MessageWatch } from "./message-source.js";
import { FAILURE_REASONS } from "./operations/failure-reasons.js";

/**
 * A delivery is a batch and the debt to its sender.
 *
 * Invariants:
 * - A debt is settled exactly once: accepted or refused. A second settlement is ignored.
 * - `split` and `merge` move the debt, they never end it: the debt follows the data. A split debt is settled when all
 *   its parts are, and refused if any part is; a merged one settles all debts that it was made of.
 * - A debt whose refusal is caught (`catchRefusal`) is settled only by acceptance; after a refusal, the debt created in
 *   its place takes over.
 * - The holder of a delivery must eventually hand it on, settle it, split it or merge it. The debts of deliveries
 *   inside a component are in the component's `HeldDebts`, so that they can be refused if the component fails, is
 *   aborted, or loses a delivery.
 *
 * @example
 * const copyToAll = (delivery: Delivery, targets: readonly string[]) =>
 *   delivery.copies(targets.length).map((copy, i) => copy.to([targets[i]!]));
 */
export class Delivery {
  readonly batch: Batch;
  readonly origin: Origin;
  /** Pipelines that a connector chose; undefined means all that it feeds. */
  readonly route: readonly string[] | undefined;
  readonly debt: Debt;
  /** @internal Stays alive as long as any delivery of this debt, if the debts inside a component are watched. */
  readonly lease: object | undefined;
  /** Set if a processor took the records out of the pipeline. Exporters keep them as a dead letter. */
  readonly setback: Setback | undefined;

  constructor(batch: Batch, origin: Origin, debt: Debt, route?: readonly string[], setback?: Setback) {
    this.batch = batch;
    this.origin = origin;
    this.debt = debt;
    this.route = route;
    this.setback = setback;
    this.lease = debt.lease();
  }

  /** Returns a delivery with the same debt for another batch, such as an edited one. */
  with(batch: Batch): Delivery {
    return batch === this.batch ? this : new Delivery(batch, this.origin, this.debt, this.route, this.setback);
  }

  /** Returns a delivery for these pipelines only; undefined means all. For connectors. */
  to(pipelines: readonly string[] | undefined): Delivery {
    return new Delivery(this.batch, this.origin, this.debt, pipelines, this.setback);
  }

  /** @internal Returns the same delivery with a lease on its debt, if the debt is watched. */
  withLease(): Delivery {
    return this.withDebt(this.debt);
  }

  /** Returns several deliveries that share this debt. An empty list means a deliberate drop: the debt is accepted. */
  split(parts: readonly (Batch | DeadLetter)[]): Delivery[] {
    if (parts.length === 0) this.accept();
    if (parts.length === 1)
      return parts[0] === this.batch ? [this] : [this.createPart(parts[0]!, this.debt, this.origin)];
    const debts = this.debt.divide(parts.length);
    const origin = withoutIdentity(this.origin);
    return parts.map((part, i) => this.createPart(part, debts[i]!, origin));
  }

  /** Returns the whole batch this many times, for branches that must all take it. 0 means a deliberate drop. */
  copies(count: number): Delivery[] {
    if (count === 0) this.accept();
    if (count === 1) return [this];
    return this.debt.divide(count, Math.max).map((debt, i) => this.createCopy(debt, i));
  }

  /**
   * Returns the same delivery, but its refusal is passed to `onRefused`. That also gets a delivery that carries the
   * debt and must be handed on or settled instead. For connectors that have an alternative.
   */
  catchRefusal(onRefused: (again: Delivery, refusal: Refusal) => void): Delivery {
    const debt = this.debt.catchRefusal((again, refusal) => onRefused(this.withDebt(again), refusal));
    return this.withDebt(debt);
  }

  /** @internal Returns the same delivery; `onSettled` gets its outcome before anyone else. */
  observe(onSettled: (outcome: Outcome) => void): Delivery {
    return this.withDebt(this.debt.observe(onSettled));
  }

  /**
   * Returns one delivery with the debts of all of these. Its origin is that of the first, without client
   * properties in which the others differ.
   */
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

  private createPart(part: Batch | DeadLetter, debt: Debt, origin: Origin): Delivery {
    const isDeadLetter = "setback" in part;
    const [batch, setback] = isDeadLetter ? [part.batch, validateSetback(part.setback)] : [part, this.setback];
    const isSame = batch === this.batch && debt === this.debt && setback === this.setback;
    return isSame ? this : new Delivery(batch, origin, debt, this.route, setback);
  }

  /** Creates a copy for one branch. The number distinguishes the branches, which may meet again in one queue. */
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
   * Drops the data on purpose: the debt is accepted. Returns false, for streams that pass on only some deliveries:
   * `filter((delivery) => isWanted(delivery) || delivery.drop())`.
   */
  drop(): false {
    this.accept();
    return false;
  }

  /** Returns the data to its sender. */
  refuse(error: unknown): void {
    this.debt.settle({ ok: false, refusal: toRefusal(error) });
  }
}

/**
 * Where a delivery came from. `metadata` has the client headers that the receiver was configured to keep, by lower-case
 * name.
 */
export interface Origin {
  readonly receiver: string;
  readonly transport: string;
  readonly metadata?: ReadonlyMap<string, readonly string[]>;
  /** @internal The client's address, if the receiver knows it. Deliveries merged from several clients have none. */
  readonly address?: string;
  /**
   * @internal The position in its pipeline's journal of the entry that this delivery consists of. It is the same if the
   * entry is read again. Split or merged deliveries have none.
   */
  readonly position?: number;
  /**
   * @internal The key by which the sender identifies this whole delivery, the same each time it is sent. Split or
   * merged deliveries have none. A queue stores one entry for it, with an id made from the key, even if it is sent
   * again after a crash.
   */
  readonly key?: string;
  /**
   * @internal Whether it may be sent again after the queue has delivered it. Then the queue remembers that it took this
   * key.
   */
  readonly isOnce?: boolean;
  /**
   * @internal Whether the sender is not told of a refusal and has not kept the data. It is lost unless a component
   * keeps it.
   */
  readonly isUnattended?: boolean;
  /** @internal Whether it has come from outside and is in no store of the agent yet. */
  readonly isNew?: boolean;
  /** @internal The queue, topic, stream or table that a message came from. */
  readonly queue?: string;
  /** @internal The kind of event that a message is about. */
  readonly event?: string | undefined;
  /** @internal Wants to know how the entries end that queues make from this delivery. Merged deliveries have none. */
  readonly watch?: MessageWatch;
}

/** Data must not be sent in the name of another client, so properties that differ are dropped. */
function commonOrigin(deliveries: readonly Delivery[]): Origin {
  const { metadata, address, watch: _, queue: __, event: ___, ...others } = withoutIdentity(deliveries[0]!.origin);
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

const NOTHING_REJECTED: PartialRejection = { rejected: 0, message: "" };

/** Returns the client metadata that an exporter asks for with its `metadataKeys`; undefined if there is none. */
export function metadataFor(
  { metadataKeys = [] }: { readonly metadataKeys?: readonly string[] },
  metadata: Origin["metadata"],
): Origin["metadata"] {
  if (metadataKeys.length === 0 || metadata === undefined) return undefined;
  const found = metadataKeys.flatMap((key) => {
    const values = metadata.get(key);
    return values === undefined ? [] : [[key, values] as const];
  });
  return found.length === 0 ? undefined : new Map(found);
}

/**
 * The answer of a backend that took the request but permanently rejected some of its records (OTLP partial_success).
 */
export interface PartialRejection {
  readonly rejected: number;
  readonly message: string;
}

/**
 * Validates an exporter's answer about `count` records that it has sent, so that the number of rejected ones is between
 * zero and all. The batch was sent, so an unreadable answer counts as no rejection and does not cause another send.
 */
export function validateRejection(answer: unknown, count: number): PartialRejection | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  try {
    const { rejected, message } = answer as { rejected?: unknown; message?: unknown };
    if (rejected === undefined || rejected === null) return undefined;
    const bounded = Math.min(Math.max(0, Math.ceil(Number(rejected) || 0)), count);
    return { rejected: bounded, message: errorMessage(message ?? "").slice(0, MAX_MESSAGE_LENGTH) };
  } catch {
    return undefined;
  }
}

/** Turns whatever a plugin returned into a valid setback, so that the records become dead letters in any case. */
export function validateSetback(given: unknown): Setback {
  const fields = (typeof given === "object" && given !== null ? given : { message: given }) as Partial<Setback>;
  const { reason, category, code, message, onlyIfAlwaysSaved } = fields;
  return {
    reason: FAILURE_REASONS.find((known) => known === reason) ?? "rejected",
    category: nonEmptyName(category) ?? "rejected",
    code: nonEmptyName(code) ?? ERROR_CODES.SLUICE_REJECTED,
    message:
      message === undefined || message === null
        ? NO_REASON_MESSAGE
        : errorMessage(message).slice(0, MAX_MESSAGE_LENGTH),
    ...(onlyIfAlwaysSaved === true && { onlyIfAlwaysSaved }),
  };
}

function nonEmptyName(name: unknown): string | undefined {
  return typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME_LENGTH) : undefined;
}

const NO_REASON_MESSAGE = "the processor gave no reason";
const MAX_MESSAGE_LENGTH = 1000;
const MAX_NAME_LENGTH = 100;
