import type { Observable } from "rxjs";
import { isBatch } from "#otlp";
import type { Signal } from "#otlp/signals";
import type { Delivery } from "../delivery.js";
import { ERROR_CODES } from "../errors/error-codes.js";
import { Refusal } from "../errors/refusal.js";

/** Rules for the deliveries that a component hands on. */
export interface OutputRules {
  /** The signal of outgoing batches. */
  readonly signal: Signal;
  /** The pipelines that a connector may choose from; undefined for a processor. */
  readonly targets?: readonly string[] | undefined;
}

/** Throws if the value is not a delivery. Returns a refusal if the delivery is not valid, or undefined if it is. */
export function checkOutput(given: Delivery, { signal, targets }: OutputRules): Refusal | undefined {
  if (!isDelivery(given)) throw new TypeError("it handed on a value that is not a delivery");
  if (!isBatch(given.batch, signal)) return handedOnRefusal(signal);
  return isRoute(given.route, targets) ? undefined : invalidRouteRefusal(targets);
}

/** Returns undefined for a batch of the signal, otherwise the refusal for the receiver that handed it in. */
export function checkHandedIn(batch: unknown, receiver: string, signal: Signal): Refusal | undefined {
  if (isBatch(batch, signal)) return undefined;
  const message = `receiver ${receiver} handed in a value that is not a batch of ${signal}`;
  return new Refusal("permanent", message, { code: NO_BATCH, category: "integration" });
}

/** Checks by shape, because a plugin may have its own copy of rxjs. */
export function assertObservable(made: Observable<Delivery>): Observable<Delivery> {
  if (typeof made?.subscribe === "function") return made;
  throw new TypeError(NOT_AN_OPERATOR);
}

export function assertSubscription<S extends { unsubscribe(): void }>(given: S): S {
  if (typeof given?.unsubscribe === "function") return given;
  throw new TypeError(NOT_AN_OPERATOR);
}

const NOT_AN_OPERATOR =
  "create returned a function that is not an operator; wrap it: eachRecord(...) or eachBatch(...)";
const NO_BATCH = ERROR_CODES.SLUICE_NO_BATCH;

/** Checks the members that are used later, because a plugin may not hand on what its types promise. */
function isDelivery(given: Partial<Delivery> | null | undefined): given is Delivery {
  return (
    typeof given?.debt?.moveTo === "function" &&
    typeof given.accept === "function" &&
    typeof given.refuse === "function" &&
    typeof given.split === "function"
  );
}

/**
 * A connector must not choose a pipeline that it does not feed: the data would be lost while its sender gets a success.
 * A processor must not choose any, because a connector behind it would take the choice for its own.
 */
function isRoute(route: unknown, targets: readonly string[] | undefined): boolean {
  if (route === undefined || targets === undefined) return route === undefined;
  return Array.isArray(route) && route.every((id) => targets.includes(id));
}

function invalidRouteRefusal(targets: readonly string[] = []): Refusal {
  const message = `it chose a pipeline that it does not feed; it feeds ${targets.join(", ") || "none"}`;
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_NO_ROUTE, unexpected: true });
}

function handedOnRefusal(signal: Signal): Refusal {
  const message = `it handed on a value that is not a batch of ${signal}`;
  return new Refusal("transient", message, { code: NO_BATCH, unexpected: true });
}
