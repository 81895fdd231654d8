import type { Delivery } from "../contract/delivery.js";
import type { Inlet } from "./intake.js";

/** One inlet for several: each gets the whole batch and a part of the debt, so the sender waits for all of them. */
export function fanOut(inlets: readonly Inlet[]): Inlet {
  const single = inlets[0];
  if (inlets.length === 1 && single !== undefined) return guarded(single);
  const guardedInlets = inlets.map(guarded);
  return (delivery) => {
    const parts = delivery.copies(guardedInlets.length);
    guardedInlets.forEach((inlet, i) => {
      inlet(parts[i]!);
    });
  };
}

/** A branch that throws refuses its own part and disturbs no other. */
function guarded(inlet: Inlet): Inlet {
  return (delivery: Delivery) => {
    try {
      inlet(delivery);
    } catch (error) {
      delivery.refuse(error);
    }
  };
}
