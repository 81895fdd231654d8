import type { Counter, ReceiverContext } from "../../plugin.js";
import type { Transport } from "./request-intake.js";

/** Counts requests that were turned away before anyone knew how many records they hold, by the status of the answer. */
export function createRefusedCounters(context: ReceiverContext, transport: Transport): (status: string) => Counter {
  const counters = new Map<string, Counter>();
  return (status) => {
    let counter = counters.get(status);
    if (counter === undefined) {
      const description = { description: "Number of requests refused unread or unreadable.", unit: "{requests}" };
      const attributes = { receiver: context.id, transport, status };
      counter = context.metrics.counter("sluice_receiver_refused_requests", description, attributes);
      counters.set(status, counter);
    }
    return counter;
  };
}
