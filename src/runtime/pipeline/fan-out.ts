import type { Delivery } from "../contract/delivery.js";
import type { DeliveryConsumer } from "./intake.js";

/** One consumer for several: each gets the whole batch and a part of the debt, so the sender waits for all of them. */
export function fanOut(consumers: readonly DeliveryConsumer[]): DeliveryConsumer {
  const single = consumers[0];
  if (consumers.length === 1 && single !== undefined) return refuseOnThrow(single);
  const guardedConsumers = consumers.map(refuseOnThrow);
  return (delivery) => {
    const parts = delivery.copies(guardedConsumers.length);
    guardedConsumers.forEach((inlet, i) => {
      inlet(parts[i]!);
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
