import { handledTableText, quoteName, quoteTable, quoteText } from "#brokers/postgres";
import type { OutboxReceiverConfig } from "./config.js";

type MigrationConfig = Pick<OutboxReceiverConfig, "table" | "columns" | "notify_channel" | "handled_table">;

/**
 * The SQL that creates the table or upgrades an existing one; running it twice changes nothing. It creates the table,
 * indexes for pending and claimed rows, a trigger that announces new rows, and a function that replays a failed row and
 * keeps its past in `failure_history`.
 */
export function outboxMigration({ table, columns, notify_channel, handled_table }: MigrationConfig): string {
  const name = table.split(".").at(-1)!;
  const schema = table.includes(".") ? `${quoteName(table.split(".")[0]!)}.` : "";
  const own = (suffix: string) => quoteName(`${name}_${suffix}`.slice(-63));
  const c = Object.fromEntries(
    Object.entries(columns).map(([what, column]) => [what, column && quoteName(column)]),
  ) as Columns;
  const position = c.position || c.id;
  const parts = [
    `CREATE TABLE IF NOT EXISTS ${quoteTable(table)} (\n${list([...producerColumns(c), ...agentColumns(c)], "")}\n);`,
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
    replayFunction(schema, own("replay"), table, c),
    ...(handled_table === undefined ? [] : [handledTableText(handled_table)]),
  ];
  return `${["BEGIN;", ...parts, "COMMIT;"].join("\n\n")}\n`;
}

type Columns = Readonly<Record<keyof MigrationConfig["columns"], string>>;
type ColumnText = readonly [name: string, type: string];

/** Columns that the producer of a row fills in; the others have defaults. */
function producerColumns(c: Columns): ColumnText[] {
  return [
    [c.id, "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"],
    [c.position, "bigint GENERATED ALWAYS AS IDENTITY"],
    [c.key, "text"],
    [c.type, "text"],
    [c.payload, "jsonb NOT NULL"],
    [c.headers, "jsonb"],
    [c.idempotency_key, "text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text"],
    [c.created_at, "timestamptz NOT NULL DEFAULT now()"],
  ];
}

function agentColumns(c: Columns): ColumnText[] {
  const states = `CHECK (${c.status} IN ('pending', 'in_flight', 'delivered', 'failed'))`;
  return [
    [c.status, `text NOT NULL DEFAULT 'pending' ${states}`],
    [c.attempts, "integer NOT NULL DEFAULT 0"],
    [c.last_error, "text"],
    [c.claimed_by, "text"],
    [c.claimed_until, "timestamptz"],
    [c.finished_at, "timestamptz"],
    ['"failure_history"', "jsonb NOT NULL DEFAULT '[]'"],
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

/** Only a failed row can be replayed. Its id and idempotency key stay the same. */
function replayFunction(schema: string, name: string, table: string, c: Columns): string {
  const failedAt = c.finished_at ? `'failed_at', ${c.finished_at}, ` : "";
  const reset = [`${c.attempts} = 0`, `${c.last_error} = NULL`, ...(c.finished_at ? [`${c.finished_at} = NULL`] : [])];
  return `CREATE OR REPLACE FUNCTION ${schema}${name}(row_id text, replayed_by text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE ${quoteTable(table)} SET
    "failure_history" = "failure_history" || jsonb_build_array(jsonb_build_object(
      'attempts', ${c.attempts}, 'last_error', ${c.last_error}, ${failedAt}'replayed_at', now(), 'replayed_by', replayed_by)),
    ${reset.join(", ")}, ${c.status} = 'pending'
  WHERE ${c.id}::text = row_id AND ${c.status} = 'failed';
  RETURN FOUND;
END $$;`;
}
