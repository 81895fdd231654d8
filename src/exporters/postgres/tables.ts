import type { Client } from "pg";
import { handledTableText, quoteTable } from "#brokers/postgres";
import type { Signal } from "../../plugin.js";
import type { PostgresExporterConfig } from "./config.js";
import { COLUMNS, createTableText } from "./table-shape.js";

/** Creates missing tables, unless the config forbids it. Other agents may do so at the same moment. */
export async function ensureTables(client: Client, config: PostgresExporterConfig, signal: Signal): Promise<void> {
  const { create_tables, handled_table } = config;
  if (!create_tables) return;
  const { table } = config[signal];
  if (!(await exists(client, table))) await create(client, createTableText(signal, table));
  if (handled_table !== "" && !(await exists(client, handled_table)))
    await create(client, handledTableText(handled_table));
}

/** Checks first, because a user without permission to create tables may still use existing ones. */
async function exists(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>("SELECT to_regclass($1) IS NOT NULL AS found", [
    quoteTable(table),
  ]);
  return rows[0]!.found;
}

async function create(client: Client, text: string): Promise<void> {
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${LOCK}); ${text} COMMIT;`);
}

/** The number of the advisory lock, chosen arbitrarily. */
const LOCK = "6075471835519374";

/** Describes the differences between a table and the columns that rows need; undefined if there are none. */
export async function tableDrift(client: Client, signal: Signal, table: string): Promise<string | undefined> {
  await client.query("ROLLBACK");
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    [quoteTable(table)],
  );
  if (rows.length === 0) return undefined;
  const types = new Map(rows.map(({ name, type }) => [name, type]));
  const differences = COLUMNS[signal].flatMap(({ name, type }) => {
    const found = types.get(name);
    if (found === undefined) return [`has no column ${name}`];
    return found === type ? [] : [`has ${found} in the column ${name}, expected ${type}`];
  });
  return differences.length === 0 ? undefined : `the table ${table} ${differences.join(", ")}`;
}
