import type { Delivery } from "../contract/delivery.js";
import type { DeliveryConsumer } from "./intake.js";

/** One consumer for several: each gets the whole batch and a part of the debt, so the sender waits for all of them. */
export function fanOut(consumers: readonly DeliveryConsumer[]): DeliveryConsumer {
  const single = consumers[0];
  if (consumers.length === 1 && single !== undefined) return refuseOnThrow(single);
  const guardedConsumers = consumers.map(refuseOnThrow);
  return (delivery) => {
    const parts = delivery.copies(guardedConsumers.length);
    guardedConsumers.forEach((consumer, i) => {
      consumer(parts[i]!);
    });
  };
}

/**
 * Sends a connector's delivery to the pipelines it chose, once each, or to all. None chosen is a deliberate drop. The
 * choice ends there: it says nothing to the next connector.
 */
export function routeToTargets(consumers: ReadonlyMap<string, DeliveryConsumer>): DeliveryConsumer {
  const toAll = fanOut([...consumers.values()]);
  return (delivery: Delivery) => {
    if (delivery.route === undefined) return toAll(delivery);
    const chosen = [...new Set(delivery.route)].flatMap((id) => consumers.get(id) ?? []);
    const parts = delivery.to(undefined).copies(chosen.length);
    parts.forEach((part, i) => {
      chosen[i]!(part);
    });
  };
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
