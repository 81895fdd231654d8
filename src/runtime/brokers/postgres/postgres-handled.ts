import { createHash } from "node:crypto";
import type { Client } from "pg";
import { quoteName, quoteTable } from "./postgres-config.js";

/** SQL for the table of handled idempotency keys; several consumers may share it. */
export function handledTableText(table: string): string {
  const index = quoteName(`${table.split(".").at(-1)!}_handled_at`.slice(-63));
  return `CREATE TABLE IF NOT EXISTS ${quoteTable(table)} (
  consumer text NOT NULL,
  idempotency_key text NOT NULL,
  handled_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer, idempotency_key)
);
CREATE INDEX IF NOT EXISTS ${index} ON ${quoteTable(table)} (handled_at);`;
}

/** SQL that deletes a limited number of old keys, so that other statements do not wait long. */
export function forgetHandledText(table: string, retentionMs: number): string {
  const old = `handled_at < now() - ${milliseconds(retentionMs)}`;
  return `DELETE FROM ${quoteTable(table)} WHERE ctid IN (SELECT ctid FROM ${quoteTable(table)} WHERE ${old} LIMIT 10000)`;
}

/** How often old keys are deleted. */
export const FORGET_INTERVAL_MS = 3_600_000;

/** A duration in SQL. */
export function milliseconds(ms: number): string {
  return `interval '${Math.ceil(ms)} milliseconds'`;
}

/** A key that does not fit into the server's text type or index is replaced by its hash. */
export function storableKey(key: string): string {
  if (key.length <= MAX_KEY_LENGTH && !key.includes("\0")) return key;
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

const MAX_KEY_LENGTH = 500;

/**
 * Creates a table if it is missing. Other agents may do so at the same moment. Checks first, because a user without
 * permission to create tables may still use existing ones.
 */
export async function ensureTable(client: Client, table: string, createText: string): Promise<void> {
  const { rows } = await client.query<{ found: boolean }>("SELECT to_regclass($1) IS NOT NULL AS found", [
    quoteTable(table),
  ]);
  if (!rows[0]!.found) await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${LOCK}); ${createText} COMMIT;`);
}

/** The number of the advisory lock, chosen arbitrarily. */
const LOCK = "6075471835519374";
