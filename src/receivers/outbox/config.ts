import { z } from "zod";
import { MESSAGE_ENCODINGS, maxLagKey } from "#brokers";
import { columnName, POSTGRES_CLIENT, postgresConnectionKeys, tableName } from "#brokers/postgres";
import { withClient } from "#system";
import { byteSize, duration, section } from "../../plugin.js";

function column(name: string, description: string) {
  return columnName().min(1).default(name).meta({ description });
}

function optionalColumn(name: string, description: string) {
  return columnName()
    .default(name)
    .meta({ description: `${description} Empty when the table has none.` });
}

const columns = z.strictObject({
  id: column("id", "The unique id of a row."),
  position: optionalColumn("", "The order of rows, if it is not the id."),
  key: optionalColumn("aggregate_key", "Rows with the same value are handed in one after the other, in their order."),
  type: optionalColumn("event_type", "The type of event, such as order.paid."),
  payload: column("payload", "The body: bytea, text, json or jsonb."),
  headers: optionalColumn("headers", "A JSON object with headers."),
  idempotency_key: optionalColumn("idempotency_key", "The idempotency key of the event, which it keeps everywhere."),
  created_at: optionalColumn("created_at", "When the row was written."),
  status: column("status", "`pending`, `in_flight`, `delivered` or `failed`."),
  attempts: column("attempts", "How often exporters tried to send the row, since it was written or replayed."),
  last_error: column("last_error", "Why the row failed."),
  first_failed_at: optionalColumn("first_failed_at", "When the first attempt failed."),
  generation: optionalColumn(
    "generation",
    "Increases with every replay, or is set by the program that replays the row.",
  ),
  deleted_at: optionalColumn("deleted_at", "Rows with a value here are not sent."),
  claims: column("claims", "How often the row was claimed without being stored by an agent."),
  claimed_by: column("claimed_by", "The agent that has claimed the row."),
  claimed_until: column("claimed_until", "When another agent may take the row over."),
  finished_at: optionalColumn("finished_at", "When the row was delivered or failed."),
});

export type OutboxColumns = z.infer<typeof columns>;

/** The config keys, independent of whether the PostgreSQL client is installed. */
export const outboxKeys = z
  .strictObject({
    ...postgresConnectionKeys(),
    table: tableName().default("outbox").meta({ description: "The table, with its schema if needed." }),
    columns: section(columns).prefault({}).meta({ description: "The names of its columns." }),
    encoding: z
      .enum(MESSAGE_ENCODINGS)
      .default("json")
      .meta({ description: "The encoding of payloads; with text, raw and json each row becomes one log record." }),
    notify_channel: z.string().default("sluice_outbox").meta({
      description: "The NOTIFY channel that announces new rows. Empty: only polling finds them.",
    }),
    poll_interval: duration()
      .refine((ms) => ms >= 10, "expected at least 10ms")
      .default(1000)
      .meta({ description: "How often to poll for rows that were not announced." }),
    batch_size: z
      .number()
      .int()
      .positive()
      .max(10_000)
      .default(100)
      .meta({ description: "How many rows are claimed at once." }),
    max_in_flight: z
      .number()
      .int()
      .positive()
      .default(1000)
      .meta({ description: "How many rows may be claimed and not yet delivered or failed: the back-pressure." }),
    claim_after: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(30_000)
      .meta({
        description:
          "Claimed rows are taken over from another agent after this time without renewal. An agent renews the claims of rows it is still working on.",
      }),
    query_timeout: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(10_000)
      .meta({ description: "How long the server may take to answer before the connection is reopened." }),
    max_attempts: z.number().int().positive().default(10).meta({
      description:
        "A row that was claimed more often than this, because agents exited before they had stored it, becomes a dead letter without being processed.",
    }),
    max_lag: maxLagKey,
    directory: z.string().default("./data/outbox").meta({
      privileged: true,
      description:
        'Where the agent keeps its name, by which it recognises its rows after a restart; "": it gets a new name each time.',
    }),
    max_message_size: byteSize()
      .default(20 * 1024 * 1024)
      .meta({ description: "Rows with larger payloads are dead letters, or fail without being fetched." }),
    on_delivered: z.enum(["keep", "delete"]).default("keep").meta({
      description: "Whether finished rows stay, with the status `delivered`, or are deleted.",
    }),
    handled_table: tableName().optional().meta({
      description: "A table of handled idempotency keys, to recognise later rows with the same key. Default: none.",
    }),
    handled_retention: duration()
      .default(30 * 24 * 3_600_000)
      .meta({ description: "How long handled_table remembers." }),
    consumer: z.string().min(1).default("sluice").meta({ description: "The name of this consumer in handled_table." }),
  })
  .superRefine(({ handled_table, columns: { idempotency_key } }, context) => {
    if (handled_table === undefined || idempotency_key !== "") return;
    const message = "it stores idempotency keys, but columns.idempotency_key is empty";
    context.addIssue({ code: "custom", path: ["handled_table"], message });
  });

export const outboxReceiverSchema = withClient(POSTGRES_CLIENT, outboxKeys);

export type OutboxReceiverConfig = z.infer<typeof outboxReceiverSchema>;
