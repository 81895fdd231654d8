import type { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type Batch,
  batchFromJson,
  defineHandler,
  type Exporter,
  type HandlerContext,
  type HandlerMessage,
} from "../../../../src/plugin.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { runPipeline } from "../../../../src/testing.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../support/servers/postgres.js";
import { until } from "../../../support/until.js";
import { ModelBroker } from "./broker-model.js";

/** A message with this key. */
function message(key: string, body: object = {}): Batch {
  const attributes = [{ key: "messaging.header.x-idempotency-key", value: { stringValue: key } }];
  const record = { body: { stringValue: JSON.stringify(body) }, attributes };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }));
}

const never = new AbortController().signal;

describe.skipIf(postgresProgram === undefined)("a handler with event_handled", () => {
  let postgres: Postgres;
  let db: Client;
  const handlers: Exporter[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    db = await postgres.connect();
    await db.query("CREATE TABLE effects (key text, n integer CHECK (n < 100))");
  });
  afterEach(async () => {
    for (const handler of handlers.splice(0)) await handler.stop?.();
    await db.query("TRUNCATE effects");
  });
  afterAll(() => postgres?.close());

  /** A handler as one of several agents has it. */
  async function handler(handle: (message: HandlerMessage, context: HandlerContext) => Promise<unknown>, more = {}) {
    const factory = defineHandler({ type: "book", handle });
    const config = factory.schema.parse({ event_handled: { ...postgres.keys, table: "handled", ...more } });
    const context = { id: "book", kind: "exporter", logger: silentLogger, metrics: noMetrics } as const;
    const made = factory.create(config, { ...context, clock: systemClock, random: () => 0.5 });
    handlers.push(made);
    await made.start?.();
    return made;
  }

  const insert = async (message: HandlerMessage, { client }: HandlerContext) => {
    const { n = 1 } = message.json() as { n?: number };
    await client!.query("INSERT INTO effects VALUES ($1, $2)", [message.idempotencyKey, n]);
  };
  const effects = async (key: string) =>
    (await db.query("SELECT count(*)::int AS n FROM effects WHERE key = $1", [key])).rows[0].n;

  it("handles a key once: in one process, in the next one, and in two agents at the same time", async () => {
    const [first, second] = [await handler(insert), await handler(insert)];
    await Promise.all([first, second, first, second].map((each) => each.send(message("k1"), never)));
    await (await handler(insert)).send(message("k1"), never);
    expect(await effects("k1")).toBe(1);
    expect((await db.query("SELECT consumer, idempotency_key FROM handled WHERE idempotency_key = 'k1'")).rows).toEqual(
      [{ consumer: "book", idempotency_key: "k1" }],
    );
  });

  it("handles each message without a key once, over restarts, without a queue, whatever older versions remember", async () => {
    await (await handler(insert)).send(message("k0"), never);
    await db.query("INSERT INTO handled (consumer, idempotency_key) VALUES ('book', '') ON CONFLICT DO NOTHING");
    const losing = new ModelBroker(() => true, false);
    const event_handled = { ...postgres.keys, table: "handled" };
    const plugins = [losing.receiver(), defineHandler({ type: "book", handle: insert })];
    const yaml = JSON.stringify({
      receivers: { model: {} },
      exporters: { book: { event_handled, sending_queue: { enabled: false } } },
      service: { pipelines: { logs: { receivers: ["model"], exporters: ["book"] } } },
    });
    for (let n = 0; n < 4; n++) losing.publish({ serial: String(n), body: "{}", key: n === 3 ? "" : undefined });
    for (let starts = 0; starts < 2; starts++) {
      const pipeline = await runPipeline(yaml, { plugins });
      await until(() => expect(losing.isIdle).toBe(true));
      await pipeline.stop();
    }
    const { rows } = await db.query("SELECT key FROM effects WHERE key <> 'k0'");
    expect(new Set(rows.map(({ key }) => key)).size).toBe(4);
    expect(rows).toHaveLength(4);
  });

  it("writes neither the key nor the effect when the handler fails, and handles the message again", async () => {
    let fails = true;
    const book = await handler(async (each, context) => {
      await insert(each, context);
      if (fails) throw new Error("not yet");
    });
    await expect(book.send(message("k2"), never)).rejects.toThrow("not yet");
    expect(await effects("k2")).toBe(0);
    fails = false;
    await book.send(message("k2"), never);
    expect(await effects("k2")).toBe(1);
  });

  it("lets a second copy handle the message if the first one failed", async () => {
    let fail = () => {};
    const slow = await handler(async (each, context) => {
      await insert(each, context);
      await new Promise<void>((_resolve, reject) => (fail = () => reject(new Error("gone"))));
    });
    const other = await handler(insert);
    const first = slow.send(message("k3"), never).catch((error: Error) => error.message);
    await until(() => expect(fail.toString()).toContain("reject"));
    const second = other.send(message("k3"), never);
    await until(async () =>
      expect((await db.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'")).rowCount).toBe(1),
    );
    fail();
    expect(await first).toBe("gone");
    await second;
    expect(await effects("k3")).toBe(1);
  });

  it("commits nothing after its abort, though the handler goes on", async () => {
    let proceed = () => {};
    const ended: string[] = [];
    const slow = await handler(async (each, context) => {
      await insert(each, context);
      await new Promise<void>((resolve) => (proceed = resolve));
      ended.push("handled");
    });
    const abort = new AbortController();
    const sent = slow.send(message("k4"), abort.signal).catch((error: Error) => error.message);
    await until(() => expect(proceed.toString()).toContain("native code"));
    abort.abort(new Error("late"));
    await sent;
    proceed();
    await until(() => expect(ended).toEqual(["handled"]));
    await (await handler(insert)).send(message("k4"), never);
    expect(await effects("k4")).toBe(1);
  });

  it("makes data that the server can never take a permanent failure, and others transient", async () => {
    const book = await handler(insert);
    await expect(book.send(message("k5", { n: 100 }), never)).rejects.toMatchObject({
      kind: "permanent",
      status: "23514",
      category: "business",
    });
    const swallowing = await handler(async (_each, { client }) => {
      await client!.query("SELECT * FROM nothing").catch(() => {});
    });
    await expect(swallowing.send(message("k6"), never)).rejects.toThrow("nothing was committed");
    await postgres.server.kill();
    await expect(book.send(message("k7"), never)).rejects.toMatchObject({ kind: "transient", blame: "backend" });
    await postgres.server.start();
    db = await postgres.connect();
    await book.send(message("k7"), never);
    expect(await effects("k7")).toBe(1);
  });
});
