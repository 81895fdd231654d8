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

/** SQL that deletes a limited number of old keys, so that nobody waits long. */
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
