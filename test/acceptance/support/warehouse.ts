import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

/** What a handler told the warehouse of a message. */
export interface WarehouseCall {
  readonly body: { readonly id?: number; readonly [field: string]: unknown };
  readonly key: string;
  readonly delivery: { readonly [fact: string]: unknown };
  readonly pid: number;
}

/** A service that handlers call, and the handler `ship` that calls it, as a plugin of the agents of a test. */
export interface Warehouse {
  readonly plugin: string;
  readonly calls: WarehouseCall[];
  /** What it answers from now on. */
  answer: (call: WarehouseCall) => number;
  /** Ends it, so that nobody listens at its port, or starts it again there. */
  close(): Promise<void>;
  open(): Promise<void>;
}

const handler = (url: string) => `
import { defineHandler, Refusal } from "sluice/plugin";
export const ship = defineHandler({
  type: "ship",
  async handle(message, { abort, client }) {
    const body = message.json();
    if (body.id === undefined) throw new Refusal("permanent", "an order without an id");
    const said = { body, key: message.idempotencyKey, delivery: message.delivery, pid: process.pid };
    const answer = await fetch("${url}", { method: "POST", body: JSON.stringify(said), signal: abort });
    if (answer.status === 400) throw new Refusal("permanent", "unknown product");
    if (!answer.ok) throw new Error("the warehouse answered " + answer.status);
    await client?.query("INSERT INTO shipped (id) VALUES ($1)", [body.id]);
  },
});
`;

export async function startWarehouse(): Promise<Warehouse> {
  const port = await freePort();
  const plugin = join(temporaryFolder(), "ship.mjs");
  writeFileSync(plugin, handler(`http://127.0.0.1:${port}/`));
  const calls: WarehouseCall[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const call = JSON.parse(text) as WarehouseCall;
    calls.push(call);
    response.writeHead(warehouse.answer(call), { connection: "close" }).end();
  });
  const warehouse: Warehouse = {
    plugin,
    calls,
    answer: () => 200,
    open: () => new Promise((resolve) => server.listen(port, "127.0.0.1", resolve)),
    close: () => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections()),
  };
  await warehouse.open();
  onTestFinished(async () => {
    if (server.listening) await warehouse.close();
  });
  return warehouse;
}
