import type { Counter, ReceiverContext } from "#contract";
import type { ConnectionRefusal } from "#net";
import type { Transport } from "./request-intake.js";

/** Counts requests that were refused before their records could be counted, by the status of the answer. */
export function createRefusedCounters(context: ReceiverContext, transport: Transport): (status: string) => Counter {
  const counters = new Map<string, Counter>();
  return (status) => {
    let counter = counters.get(status);
    if (counter === undefined) {
      const description = {
        description: "Number of requests that were refused before they were read, or could not be read.",
        unit: "{requests}",
      };
      const attributes = { receiver: context.id, transport, status };
      counter = context.metrics.counter("sluice_receiver_refused_requests", description, attributes);
      counters.set(status, counter);
    }
    return counter;
  };
}

/** Counts connections that were closed right after they opened, and logs them from time to time. */
export function onRefusedConnection(
  context: ReceiverContext,
  transport: Transport,
): (reason: ConnectionRefusal) => void {
  const description = { description: "Number of connections refused by a limit.", unit: "{connections}" };
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (reason) => {
    const attributes = { receiver: context.id, transport, reason };
    context.metrics.counter("sluice_receiver_refused_connections", description, attributes).add(1);
    const now = context.clock.monotonic();
    if (now < quietUntil) return;
    quietUntil = now + WARNING_INTERVAL_MS;
    context.logger.warn({ transport, reason }, `connections are refused: ${REFUSAL_TEXTS[reason]}`);
  };
}

const WARNING_INTERVAL_MS = 60_000;

const REFUSAL_TEXTS: Readonly<Record<ConnectionRefusal, string>> = {
  max_connections: "limits.max_connections connections are open",
  max_connections_per_client: "one address has limits.max_connections_per_client connections open",
  open_files: "more would leave too few open files for the rest; raise the limit of open files (ulimit -n)",
};
