import type { Client } from "pg";
import { outboxKeys } from "../../../src/receivers/outbox/config.js";
import { outboxMigration } from "../../../src/receivers/outbox/migration.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { SetbackIntake } from "../started-receiver.js";

interface State {
  readonly status: string;
  readonly last_error: string | null;
  readonly attempts: number;
  readonly claims: number;
}

let names = 0;

export function newName(prefix: string): string {
  return `${prefix}_${names++}`;
}

/** An outbox of the test's own, and the config of a receiver for it; `db` is a connection to its server. */
export async function newOutbox(db: () => Client, keys: object, more: object = {}, change = "") {
  const table = newName("outbox");
  const config = { ...keys, table, notify_channel: table, poll_interval: "50ms", directory: "", ...more };
  await db().query(outboxMigration(outboxKeys.parse(config)));
  if (change !== "") await db().query(`ALTER TABLE ${table} ${change}`);
  const add = async (payload: unknown, fields: Record<string, unknown> = {}) => {
    const columns = { payload: typeof payload === "string" ? payload : JSON.stringify(payload), ...fields };
    const places = Object.keys(columns).map((_, i) => `$${i + 1}`);
    const text = `INSERT INTO ${table} (${Object.keys(columns)}) VALUES (${places}) RETURNING id`;
    return String((await db().query(text, Object.values(columns))).rows[0].id);
  };
  const states = async () =>
    (await db().query<State>(`SELECT status, last_error, attempts, claims FROM ${table} ORDER BY id`)).rows;
  const statuses = async () => (await states()).map(({ status }) => status);
  return { table, config, add, states, statuses };
}

/** An intake whose answers wait until they are given. */
export function heldIntake() {
  const intake = new SetbackIntake();
  const accepts: (() => void)[] = [];
  intake.answer = () => new Promise((resolve) => accepts.push(() => resolve(ACCEPTED)));
  return { intake, accepts };
}
