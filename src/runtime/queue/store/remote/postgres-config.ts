import { hostname } from "node:os";
import { z } from "zod";
import { postgresConnectionKeys, postgresErrorMessage, quoteTable, sqlState, tableName } from "#brokers/postgres";
import { duration } from "#contract/schema";
import { isStoreError, StoreError } from "../store.js";

const ENTRIES_SUFFIX = "_entries";
const NOTES_SUFFIX = "_notes";
/** The server truncates longer names, so that the three tables would become one. */
const MAX_NAME_BYTES = 63 - ENTRIES_SUFFIX.length;

export const postgresStoreKeys = () =>
  z.strictObject({
    ...postgresConnectionKeys(),
    table: tableName()
      .refine(
        (name) => Buffer.byteLength(name.split(".").at(-1)!) <= MAX_NAME_BYTES,
        `expected a name of at most ${MAX_NAME_BYTES} bytes`,
      )
      .default("sluice_queue")
      .meta({
        description:
          "The table of the queues; the tables of entries and notes have the suffixes _entries and _notes. They are created if missing.",
      }),
    agent: z
      .string()
      .regex(/^[^/]+$/, "expected a name without /, which separates it from the names of queues")
      .optional()
      .meta({ description: "The agent's name, the same after every restart. Default: its host's." }),
    timeout: duration()
      .refine((ms) => ms >= 100, "expected at least 100ms")
      .default(10_000)
      .meta({ description: "A server that takes longer to answer counts as unreachable." }),
  });

export type PostgresStoreConfig = z.infer<ReturnType<typeof postgresStoreKeys>>;

export function agentName({ agent }: PostgresStoreConfig): string {
  return agent ?? hostname();
}

/** Returns the name of an exporter's queue or of a journal in the table. Agent names contain no slash. */
export function queueName(config: PostgresStoreConfig, id: string): string {
  return `${agentName(config)}/${id}`;
}

/** The table names, quoted for SQL. */
export function tablesOf({ table }: PostgresStoreConfig) {
  return {
    queues: quoteTable(table),
    entries: quoteTable(`${table}${ENTRIES_SUFFIX}`),
    notes: quoteTable(`${table}${NOTES_SUFFIX}`),
  };
}

export type PostgresTables = ReturnType<typeof tablesOf>;

export function postgresStoreError({ endpoint }: PostgresStoreConfig, error: unknown): StoreError {
  if (isStoreError(error)) return error;
  const isFull = /^5[34]/.test(sqlState(error) ?? "");
  const message = `PostgreSQL at ${endpoint}: ${postgresErrorMessage(error)}`;
  return new StoreError(isFull ? "full" : "io", message, { cause: error });
}
