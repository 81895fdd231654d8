import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream";
import type { Client } from "pg";
import { outboxKeys } from "../../../src/receivers/outbox/config.js";
import { outboxMigration } from "../../../src/receivers/outbox/migration.js";
import { ACCEPTED } from "../../../src/runtime/kit.js";
import { SetbackIntake } from "../started-receiver.js";

interface State {
  readonly status: string;
  readonly last_error: string | null;
  readonly attempts: number;
}

let names = 0;

export function newName(prefix: string): string {
  return `${prefix}_${names++}`;
}

/** An outbox of the test's own, and the config of a receiver for it; `db` is a connection to its server. */
export async function newOutbox(db: () => Client, keys: object, more: object = {}, change = "") {
  const table = newName("outbox");
  const config = { ...keys, table, notify_channel: table, poll_interval: "50ms", ...more };
  await db().query(outboxMigration(outboxKeys.parse(config)));
  if (change !== "") await db().query(`ALTER TABLE ${table} ${change}`);
  const add = async (payload: unknown, fields: Record<string, unknown> = {}) => {
    const columns = { payload: typeof payload === "string" ? payload : JSON.stringify(payload), ...fields };
    const places = Object.keys(columns).map((_, i) => `$${i + 1}`);
    const text = `INSERT INTO ${table} (${Object.keys(columns)}) VALUES (${places}) RETURNING id`;
    return String((await db().query(text, Object.values(columns))).rows[0].id);
  };
  const states = async () =>
    (await db().query<State>(`SELECT status, last_error, attempts FROM ${table} ORDER BY id`)).rows;
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

/** A way to the server that can be cut. */
export interface Relay {
  readonly endpoint: string;
  /** The ports that the server sees. */
  ports(): number[];
  /** Ends what is there, and whatever comes until it is mended. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function startRelay(target: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  const cut = () => {
    isCut = true;
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  const server = createServer((socket) => {
    if (isCut) return void socket.destroy();
    const pair = [socket, connect(target, "127.0.0.1")] as const;
    pairs.add(pair);
    pipeline(pair[0], pair[1], pair[0], () => pairs.delete(pair));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ports: () => [...pairs].flatMap(([, { localPort }]) => localPort ?? []),
    cut,
    mend: () => {
      isCut = false;
    },
    close: async () => {
      cut();
      await once(server.close(), "close");
    },
  };
}
