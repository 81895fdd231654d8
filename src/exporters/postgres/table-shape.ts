import type { Client } from "pg";
import { ensureTable, handledTableText, quoteName, quoteTable } from "#brokers/postgres";
import type { Signal } from "../../plugin.js";
import type { PostgresExporterConfig } from "./config.js";

/** A column that the exporter fills, and its type as the server writes it. */
interface TableColumn {
  readonly name: string;
  readonly type: string;
}

/** The first columns of every row. A time is stored exactly in nanoseconds, and also as the server's type. */
const TIME = ["time timestamp with time zone", "time_unix_nano bigint"];
/** The last columns of every row. */
const OWNERS = [
  "attributes jsonb",
  "resource jsonb",
  "scope_name text",
  "scope_version text",
  "scope_attributes jsonb",
  "service_name text",
];

const SHAPES: Readonly<Record<Signal, readonly string[]>> = {
  logs: [
    ...TIME,
    "observed_time timestamp with time zone",
    "trace_id text",
    "span_id text",
    "flags bigint",
    "severity_number integer",
    "severity_text text",
    "event_name text",
    "body text",
    ...OWNERS,
  ],
  traces: [
    ...TIME,
    "end_time timestamp with time zone",
    "duration_nano bigint",
    "trace_id text",
    "span_id text",
    "parent_span_id text",
    "trace_state text",
    "flags bigint",
    "name text",
    "kind text",
    "status_code text",
    "status_message text",
    "events jsonb",
    "links jsonb",
    ...OWNERS,
  ],
  metrics: [
    ...TIME,
    "start_time timestamp with time zone",
    "name text",
    "description text",
    "unit text",
    "kind text",
    "temporality text",
    "is_monotonic boolean",
    "value double precision",
    "int_value bigint",
    "data jsonb",
    "flags bigint",
    ...OWNERS,
  ],
};

/** The columns of each signal, in the order of the values in a row. */
export const COLUMNS: Readonly<Record<Signal, readonly TableColumn[]>> = {
  logs: columnsOf("logs"),
  traces: columnsOf("traces"),
  metrics: columnsOf("metrics"),
};

function columnsOf(signal: Signal): TableColumn[] {
  return SHAPES[signal].map((text) => {
    const space = text.indexOf(" ");
    return { name: text.slice(0, space), type: text.slice(space + 1) };
  });
}

/** Indexes for the most common queries: by time, by service, by trace. */
const INDEXES: Readonly<Record<Signal, readonly string[]>> = {
  logs: ["time", "service_name, time", "trace_id"],
  traces: ["time", "service_name, time", "trace_id"],
  metrics: ["time", "name, time"],
};

export function createTableText(signal: Signal, table: string): string {
  const columns = COLUMNS[signal].map(({ name, type }) => `${quoteName(name)} ${type}`);
  const short = table.split(".").at(-1)!;
  const indexes = INDEXES[signal].map((on) => {
    const name = quoteName(`${short}_${on.replaceAll(", ", "_")}`.slice(-63));
    return `CREATE INDEX IF NOT EXISTS ${name} ON ${quoteTable(table)} (${on});`;
  });
  return `CREATE TABLE IF NOT EXISTS ${quoteTable(table)} (\n  ${columns.join(",\n  ")}\n);\n${indexes.join("\n")}\n`;
}

export function copyText(signal: Signal, table: string): string {
  return `COPY ${quoteTable(table)} (${COLUMNS[signal].map(({ name }) => quoteName(name)).join(", ")}) FROM STDIN`;
}

/** Creates missing tables, unless the config forbids it. Other agents may do so at the same moment. */
export async function ensureTables(client: Client, config: PostgresExporterConfig, signal: Signal): Promise<void> {
  const { create_tables, handled_table } = config;
  if (!create_tables) return;
  const { table } = config[signal];
  await ensureTable(client, table, createTableText(signal, table));
  if (handled_table !== "") await ensureTable(client, handled_table, handledTableText(handled_table));
}

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
