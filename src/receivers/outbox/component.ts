import { defineReceiver } from "../../plugin.js";
import { type OutboxReceiverConfig, outboxReceiverSchema } from "./config.js";
import { OutboxSource } from "./outbox-source.js";

/** Reads the rows of an outbox in PostgreSQL. A row is marked as delivered once every exporter has delivered it. */
export const outboxReceiver = defineReceiver<OutboxReceiverConfig>({
  type: "outbox",
  summary:
    "Reads rows of an outbox table in PostgreSQL, in order per key, and marks them when they are delivered or failed.",
  signals: ["logs"],
  // An agent recognises its rows by its name, and rows that it has taken by its queues.
  workers: "one",
  schema: outboxReceiverSchema,
  create: (config, context) => new OutboxSource(config, context),
});
