import { z } from "zod";
import { duration, section } from "#contract/schema";
import { hasClient, missingClient } from "#system";
import { POSTGRES_CLIENT, postgresConnectionKeys, tableName } from "../postgres/postgres-config.js";

const eventHandled = z
  .strictObject({
    ...postgresConnectionKeys(),
    table: tableName().default("event_handled").meta({ description: "The table of handled keys." }),
    create_table: z.boolean().default(true).meta({ description: "Create the table if it is missing." }),
    consumer: z.string().min(1).optional().meta({
      description: "The name of this handler in the table. Default: its id in the config.",
    }),
    retention: duration()
      .default(30 * 24 * 3_600_000)
      .meta({ description: "How long the table remembers." }),
    max_connections: z
      .number()
      .int()
      .positive()
      .default(10)
      .meta({ description: "How many messages can be in a transaction at the same time." }),
  })
  .superRefine((_config, context) => {
    if (!hasClient(POSTGRES_CLIENT)) context.addIssue({ code: "custom", message: missingClient(POSTGRES_CLIENT) });
  });

/** The keys of every handler, besides those of all exporters. */
export const handlerSchema = z.strictObject({
  event_handled: section(eventHandled).optional().meta({
    description:
      "A table in PostgreSQL that remembers the keys of handled messages. Each message is handled in a transaction, together with its key.",
  }),
});

export type HandlerConfig = z.infer<typeof handlerSchema>;

export type EventHandledConfig = z.infer<typeof eventHandled>;
