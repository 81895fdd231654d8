import type { Outcome } from "../contract/debt.js";
import type { Delivery } from "../contract/delivery.js";
import { ERROR_CODES } from "../contract/error-codes.js";
import type { DeliveryConsumer } from "./intake.js";
import type { PartialAcceptance } from "./partial-acceptance.js";

type Memory = PartialAcceptance<DeliveryConsumer>;

/** One consumer for several: each gets the whole batch and a part of the debt, so the sender waits for all of them. */
export function fanOut(consumers: readonly DeliveryConsumer[], memory: Memory): DeliveryConsumer {
  const guarded = consumers.map(refuseOnThrow);
  const [single] = guarded;
  if (guarded.length === 1 && single !== undefined) return single;
  return (delivery) => offer(delivery, guarded, memory);
}

/**
 * Sends a connector's delivery to the pipelines it chose, once each, or to all. None chosen is a deliberate drop. The
 * choice ends there: it says nothing to the next connector.
 */
export function routeToTargets(consumers: ReadonlyMap<string, DeliveryConsumer>, memory: Memory): DeliveryConsumer {
  const guarded = new Map([...consumers].map(([id, consumer]) => [id, refuseOnThrow(consumer)]));
  const all = [...guarded.values()];
  return (delivery) => {
    if (delivery.route === undefined) return offer(delivery, all, memory);
    const chosen = [...new Set(delivery.route)].flatMap((id) => guarded.get(id) ?? []);
    offer(delivery.to(undefined), chosen, memory);
  };
}

/** One who took it when others refused it is not given it again. */
function offer(delivery: Delivery, consumers: readonly DeliveryConsumer[], memory: Memory): void {
  if (consumers.length < 2) {
    for (const copy of delivery.copies(consumers.length)) consumers[0]!(copy);
    return;
  }
  const takenBefore = memory.take(delivery);
  const observed = delivery.observe((outcome) => {
    if (outcome.ok || outcome.refusal.kind === "permanent") return;
    const taken = takenOf(consumers, parts);
    if (taken.size > 0) memory.remember(delivery, taken);
  });
  const parts = observed.copies(consumers.length);
  for (const [i, consumer] of consumers.entries()) {
    const before = takenBefore?.get(consumer);
    if (before === undefined) consumer(parts[i]!);
    else parts[i]!.debt.settle(before);
  }
}

function takenOf(consumers: readonly DeliveryConsumer[], parts: readonly Delivery[]): Map<DeliveryConsumer, Outcome> {
  const taken = new Map<DeliveryConsumer, Outcome>();
  for (const [i, { debt }] of parts.entries()) {
    if (debt.outcome !== undefined && isTaken(debt.outcome)) taken.set(consumers[i]!, debt.outcome);
  }
  return taken;
}

/** One who waits for the result of a queue is refused what became a dead letter of it: the queue has it. */
function isTaken(outcome: Outcome): boolean {
  return outcome.ok || outcome.refusal.code === ERROR_CODES.SLUICE_DEAD_LETTERED;
}

/** A branch that throws refuses its own part and disturbs no other. */
function refuseOnThrow(consumer: DeliveryConsumer): DeliveryConsumer {
  return (delivery: Delivery) => {
    try {
      consumer(delivery);
    } catch (error) {
      delivery.refuse(error);
    }
  };
}
