import { z } from "zod";
import { MESSAGE_ENCODINGS } from "#brokers";
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
  id: column("id", "What a row is known by; unique."),
  position: optionalColumn("", "What rows are ordered by, when that is not the id."),
  key: optionalColumn("aggregate_key", "Rows with the same value are handed in one after the other, in their order."),
  type: optionalColumn("event_type", "What the row tells of, such as order.paid."),
  payload: column("payload", "The body: bytea, text, json or jsonb."),
  headers: optionalColumn("headers", "A JSON object with headers."),
  idempotency_key: optionalColumn("idempotency_key", "What the event is known by wherever it goes."),
  created_at: optionalColumn("created_at", "When the row was written."),
  status: column("status", "`pending`, `in_flight`, `delivered` or `failed`."),
  attempts: column("attempts", "How often the row was taken."),
  last_error: column("last_error", "Why the row failed."),
  claimed_by: column("claimed_by", "The agent that works on the row."),
  claimed_until: column("claimed_until", "When another agent may take the row over."),
  finished_at: optionalColumn("finished_at", "When the row was delivered or failed."),
});

export type OutboxColumns = z.infer<typeof columns>;

/** The config keys, independent of whether the PostgreSQL client is installed. */
export const outboxKeys = z
  .strictObject({
    ...postgresConnectionKeys,
    table: tableName().default("outbox").meta({ description: "The table, with its schema where that matters." }),
    columns: section(columns).prefault({}).meta({ description: "The names of its columns." }),
    encoding: z
      .enum(MESSAGE_ENCODINGS)
      .default("json")
      .meta({ description: "What a payload is; text, raw and json make one log record of each row." }),
    notify_channel: z.string().default("sluice_outbox").meta({
      description: "The channel of NOTIFY that says that there are new rows. Empty: only poll_interval finds them.",
    }),
    poll_interval: duration()
      .refine((ms) => ms >= 10, "expected at least 10ms")
      .default(1000)
      .meta({ description: "How often is looked for rows that nobody has told of." }),
    batch_size: z
      .number()
      .int()
      .positive()
      .max(10_000)
      .default(100)
      .meta({ description: "How many rows are taken at once." }),
    max_in_flight: z
      .number()
      .int()
      .positive()
      .default(1000)
      .meta({ description: "How many rows may be taken and not yet settled here: the back-pressure." }),
    claim_after: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(30_000)
      .meta({
        description:
          "Rows of which nothing was heard for this long are taken over from other agents. An agent tells of those it still works on.",
      }),
    query_timeout: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(10_000)
      .meta({ description: "How long the server may take to answer before the connection is made anew." }),
    max_attempts: z.number().int().positive().default(10).meta({
      description:
        "A row that was taken this often without an outcome, because agents died over it, is kept as a dead letter without being read.",
    }),
    max_message_size: byteSize()
      .default(20 * 1024 * 1024)
      .meta({ description: "Rows with larger payloads are dead letters, or fail without being fetched." }),
    on_delivered: z.enum(["keep", "delete"]).default("keep").meta({
      description: "Whether rows that are done with stay, with the status `delivered`, or are deleted.",
    }),
    handled_table: tableName().optional().meta({
      description:
        "A table that remembers idempotency keys of what was handed in, for rows that come with the same key later. Default: none.",
    }),
    handled_retention: duration()
      .default(30 * 24 * 3_600_000)
      .meta({ description: "How long handled_table remembers." }),
    consumer: z.string().min(1).default("sluice").meta({ description: "Whose memory it is, in handled_table." }),
  })
  .superRefine(({ handled_table, columns: { idempotency_key } }, context) => {
    if (handled_table === undefined || idempotency_key !== "") return;
    const message = "it remembers idempotency keys, and columns.idempotency_key is empty";
    context.addIssue({ code: "custom", path: ["handled_table"], message });
  });

export const outboxReceiverSchema = withClient(POSTGRES_CLIENT, outboxKeys);

export type OutboxReceiverConfig = z.infer<typeof outboxReceiverSchema>;
