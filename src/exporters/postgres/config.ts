import { z } from "zod";
import { POSTGRES_CLIENT, postgresConnectionKeys, tableName } from "#brokers/postgres";
import { withClient } from "#system";
import { duration, type Signal, section } from "../../plugin.js";

function destination(signal: Signal, rows: string) {
  return section(
    z.strictObject({
      table: tableName()
        .default(`otel_${signal}`)
        .meta({ description: `The table for ${rows}, with its schema if needed.` }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} go.` });
}

export const postgresExporterSchema = withClient(
  POSTGRES_CLIENT,
  z.strictObject({
    ...postgresConnectionKeys(),
    logs: destination("logs", "log records"),
    traces: destination("traces", "spans"),
    metrics: destination("metrics", "data points"),
    create_tables: z
      .boolean()
      .default(true)
      .meta({ description: "Create missing tables. Existing tables are never changed." }),
    handled_table: z
      .union([tableName(), z.literal("")])
      .default("event_handled")
      .meta({
        description:
          "The table of idempotency keys that were stored, so that records sent twice are stored once. Empty: duplicates are not recognised.",
      }),
    handled_retention: duration()
      .default(30 * 24 * 3_600_000)
      .meta({ description: "How long handled_table keeps keys." }),
    max_connections: z
      .number()
      .int()
      .positive()
      .default(4)
      .meta({ description: "Maximum number of connections, and so of concurrent requests." }),
  }),
);

export type PostgresExporterConfig = z.infer<typeof postgresExporterSchema>;
