import { z } from "zod";
import { POSTGRES_CLIENT, postgresConnectionKeys, tableName } from "#brokers/postgres";
import { withClient } from "#system";
import { duration, type Signal, section } from "../../plugin.js";

function destination(signal: Signal, rows: string) {
  return section(
    z.strictObject({
      table: tableName()
        .default(`otel_${signal}`)
        .meta({ description: `The table that ${rows} are rows of, with its schema where that matters.` }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} go.` });
}

export const postgresExporterSchema = withClient(
  POSTGRES_CLIENT,
  z.strictObject({
    ...postgresConnectionKeys,
    logs: destination("logs", "log records"),
    traces: destination("traces", "spans"),
    metrics: destination("metrics", "data points"),
    create_tables: z
      .boolean()
      .default(true)
      .meta({ description: "Make tables that are not there. A table that is there is never changed." }),
    handled_table: z
      .union([tableName(), z.literal("")])
      .default("event_handled")
      .meta({
        description:
          "The table that remembers what was stored, by idempotency key, so that what is sent twice is stored once. Empty: no such memory.",
      }),
    handled_retention: duration()
      .default(30 * 24 * 3_600_000)
      .meta({ description: "How long handled_table remembers." }),
    max_connections: z
      .number()
      .int()
      .positive()
      .default(4)
      .meta({ description: "How many connections, and so requests at once, there are at most." }),
  }),
);

export type PostgresExporterConfig = z.infer<typeof postgresExporterSchema>;
