import type { ConsumeMessage } from "amqplib";
import type { Setback } from "../../plugin.js";
import { ERROR_CODES } from "../../runtime/kit.js";

/** One line of the history that RabbitMQ keeps in a dead-lettered message. */
interface Death {
  readonly queue?: unknown;
  readonly reason?: unknown;
  readonly count?: unknown;
}

/** What a message of a dead-letter queue says of how it got there, as the reason of our dead letter. */
export function describeDeath({ properties }: ConsumeMessage): Setback {
  const history: unknown = properties.headers?.["x-death"];
  const deaths = Array.isArray(history) ? (history as Death[]) : [];
  const lines = deaths.map(
    ({ queue, reason, count }) => `${String(reason)} in ${String(queue)} (${String(count)} times)`,
  );
  const message =
    lines.length === 0 ? "it was in a dead-letter queue" : `dead-lettered by RabbitMQ: ${lines.join(", ")}`;
  return { reason: "imported", category: "integration", code: ERROR_CODES.SLUICE_BROKER_DEAD_LETTER, message };
}
