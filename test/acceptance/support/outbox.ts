import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "pg";
import { expect, onTestFinished } from "vitest";
import { sluiceProcess } from "../../agent/cli/dlq/support.js";
import type { Postgres } from "../../support/servers/postgres.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

/** An outbox table, and agents that read it. */
export interface Outbox {
  readonly db: Client;
  /** The section `receivers` of the agent with this name. */
  receivers(agent: string): string;
}

/** Makes the table with the SQL that `sluice outbox migration` prints. `create` makes it before, with columns of its own. */
export async function newOutbox(
  postgres: Postgres,
  keys: { table: string; columns?: object },
  create = "",
): Promise<Outbox> {
  const db = await postgres.connect();
  onTestFinished(() => db.end());
  if (create !== "") await db.query(create);
  const folder = temporaryFolder();
  const outbox = { ...postgres.keys, ...keys, notify_channel: keys.table, poll_interval: "100ms" };
  const receivers = (agent: string) => JSON.stringify({ outbox: { ...outbox, directory: join(folder, agent) } });
  const file = join(folder, "outbox.yaml");
  const service = "service: {pipelines: {logs: {receivers: [outbox], exporters: [nop]}}}";
  writeFileSync(file, `receivers: ${receivers("none")}\nexporters: {nop: }\n${service}\n`);
  const { code, out, err } = await sluiceProcess(["outbox", "migration", "--config", file]);
  expect({ code, err }).toMatchObject({ code: 0 });
  await db.query(out);
  return { db, receivers };
}

/** A table of somebody else's making, with the keys that ADR-54 names. */
export const PAYMENTS = `
CREATE TABLE shipped (id int NOT NULL);
CREATE TABLE payments (
  event_id uuid PRIMARY KEY DEFAULT gen_random_uuid(), position bigint GENERATED ALWAYS AS IDENTITY, aggregate_key text,
  event_type text, payload jsonb NOT NULL, headers jsonb, idempotency_key text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text,
  created_at timestamptz NOT NULL DEFAULT now())`;
