import { handledTableText, milliseconds, quoteName, quoteTable, quoteText } from "#brokers/postgres";
import type { OutboxReceiverConfig } from "./config.js";
import { HISTORY, notDeleted, type QuotedColumns, quoteColumns, replayChanges } from "./outbox-columns.js";

type MigrationConfig = Pick<
  OutboxReceiverConfig,
  "table" | "columns" | "notify_channel" | "handled_table" | "claim_after"
>;

/**
 * The SQL that creates the table or upgrades an existing one; running it twice changes nothing. It creates the table,
 * indexes for pending and claimed rows, a trigger that announces new rows, and a function that replays a failed row and
 * keeps its past in `failure_history`.
 */
export function outboxMigration(config: MigrationConfig): string {
  const { table, columns, notify_channel, handled_table } = config;
  const name = table.split(".").at(-1)!;
  const schema = table.includes(".") ? `${quoteName(table.split(".")[0]!)}.` : "";
  const own = (suffix: string) => quoteName(`${name}_${suffix}`.slice(-63));
  const c = quoteColumns(columns);
  const { position } = c;
  const hasOwnPosition = columns.position !== "";
  const parts = [
    `CREATE TABLE IF NOT EXISTS ${quoteTable(table)} (\n${list([...producerColumns(c, hasOwnPosition), ...agentColumns(c)], "")}\n);`,
    `-- A table that was there already gets what the receiver needs.\nALTER TABLE ${quoteTable(table)}\n${list(agentColumns(c), "ADD COLUMN IF NOT EXISTS ")};`,
    index(own("waiting"), table, position, c.status, "pending"),
    ...(c.key
      ? [
          index(own("waiting_by_key"), table, `${c.key}, ${position}`, c.status, "pending"),
          index(own("in_flight_by_key"), table, c.key, c.status, "in_flight"),
        ]
      : []),
    index(own("in_flight"), table, c.claimed_by, c.status, "in_flight"),
    ...(notify_channel === "" ? [] : [notifyTrigger(schema, own("notify"), table, notify_channel)]),
    replayFunction(`${schema}${own("replay")}`, config, c),
    replayByUuid(`${schema}${own("replay")}`, table, columns.id),
    ...(handled_table === undefined ? [] : [handledTableText(handled_table)]),
  ];
  return `${["BEGIN;", ...parts, "COMMIT;"].join("\n\n")}\n`;
}

type ColumnText = readonly [name: string, type: string];

/** Columns that the producer of a row fills in; the others have defaults. */
function producerColumns(c: QuotedColumns, hasOwnPosition: boolean): ColumnText[] {
  return [
    [c.id, "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"],
    [hasOwnPosition ? c.position : "", "bigint GENERATED ALWAYS AS IDENTITY"],
    [c.key, "text"],
    [c.type, "text"],
    [c.payload, "jsonb NOT NULL"],
    [c.headers, "jsonb"],
    [c.idempotency_key, "text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text"],
    [c.created_at, "timestamptz NOT NULL DEFAULT now()"],
  ];
}

function agentColumns(c: QuotedColumns): ColumnText[] {
  const states = `CHECK (${c.status} IN ('pending', 'in_flight', 'delivered', 'failed'))`;
  return [
    [c.status, `text NOT NULL DEFAULT 'pending' ${states}`],
    [c.attempts, "integer NOT NULL DEFAULT 0"],
    [c.last_error, "text"],
    [c.first_failed_at, "timestamptz"],
    [c.generation, "bigint NOT NULL DEFAULT 0"],
    [c.deleted_at, "timestamptz"],
    [c.claims, "integer NOT NULL DEFAULT 0"],
    [c.claimed_by, "text"],
    [c.claimed_until, "timestamptz"],
    [c.finished_at, "timestamptz"],
    [HISTORY, "jsonb NOT NULL DEFAULT '[]'"],
  ];
}

function list(columns: readonly ColumnText[], prefix: string): string {
  const named = columns.filter(([name]) => name !== "");
  return named.map(([name, type]) => `  ${prefix}${name} ${type}`).join(",\n");
}

function index(name: string, table: string, on: string, status: string, value: string): string {
  return `CREATE INDEX IF NOT EXISTS ${name} ON ${quoteTable(table)} (${on}) WHERE ${status} = '${value}';`;
}

/** Fires once per statement, however many rows it writes; the server notifies when the transaction commits. */
function notifyTrigger(schema: string, name: string, table: string, channel: string): string {
  return `CREATE OR REPLACE FUNCTION ${schema}${name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(${quoteText(channel)}, '');
  RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS ${name} ON ${quoteTable(table)};
CREATE TRIGGER ${name} AFTER INSERT ON ${quoteTable(table)}
  FOR EACH STATEMENT EXECUTE FUNCTION ${schema}${name}();`;
}

/**
 * Only a failed row that is not deleted can be replayed. Its id and idempotency key stay the same. The agent that keeps
 * the dead letter of the row (`claimed_by`) may take it first.
 */
function replayFunction(name: string, config: MigrationConfig, c: QuotedColumns): string {
  const { table, notify_channel, claim_after } = config;
  const notify = notify_channel === "" ? "" : `\n  PERFORM pg_notify(${quoteText(notify_channel)}, '');`;
  return `DROP FUNCTION IF EXISTS ${name}(text, text);
CREATE OR REPLACE FUNCTION ${name}(row_id text, replayed_by text, p_new_generation bigint DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE ${quoteTable(table)} SET
    ${replayChanges(c, "$2", "$3")},
    ${c.claims} = 0, ${c.claimed_until} = now() + ${milliseconds(claim_after)}, ${c.status} = 'pending'
  WHERE ${c.id}::text = $1 AND ${c.status} = 'failed'${notDeleted(c)};
  IF NOT FOUND THEN RETURN false; END IF;${notify}
  RETURN true;
END $$;`;
}

/**
 * The same function for events whose id is a uuid, with its arguments in the order in which others have it. Other tables
 * do not get it: with two functions of three arguments the server cannot choose one for arguments without types.
 */
function replayByUuid(name: string, table: string, id: string): string {
  return `DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = ${quoteText(quoteTable(table))}::regclass
             AND attname = ${quoteText(id)} AND atttypid = 'uuid'::regtype) THEN
    CREATE OR REPLACE FUNCTION ${name}(event_id uuid, p_new_generation bigint, p_replayed_by text)
    RETURNS boolean LANGUAGE sql AS $$ SELECT ${name}($1::text, $3, $2) $$;
  END IF;
END $do$;`;
}
