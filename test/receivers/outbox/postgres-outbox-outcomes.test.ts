import { join } from "node:path";
import type { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { defineHandler, type HandlerMessage, Refusal } from "../../../src/plugin.js";
import { cleanUp, type FedAgent, startFed } from "../../support/fed-agent.js";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { newName, newOutbox } from "./outbox-fixture.js";

type Handle = (message: HandlerMessage, attempt: number) => Promise<unknown>;

/** A handler whose behaviour the test sets, and what it was called with. */
function testHandler() {
  const handler = { handle: (async () => {}) as Handle, handled: [] as unknown[] };
  const attempts = new Map<string, number>();
  const factory = defineHandler({
    type: "test_handler",
    async handle(message) {
      const attempt = (attempts.get(message.idempotencyKey) ?? 0) + 1;
      attempts.set(message.idempotencyKey, attempt);
      await handler.handle(message, attempt);
      handler.handled.push(message.json());
    },
  });
  return { handler, factory };
}

describe.skipIf(postgresProgram === undefined)("the status of an outbox row", () => {
  let postgres: Postgres;
  let db: Client;

  beforeAll(async () => {
    postgres = await startPostgres();
    db = await postgres.connect();
  });
  afterEach(cleanUp);
  afterAll(() => postgres?.close());

  /** An outbox, and a function that starts an agent whose handler reads it. */
  async function outboxAgent(keys: object = {}, exporter: object = {}) {
    const folder = temporaryFolder();
    const outbox = await newOutbox(() => db, postgres.keys, { directory: join(folder, "outbox"), ...keys });
    const test = testHandler();
    const start = (more: { directory?: string } = {}): Promise<FedAgent> =>
      startFed(
        (directory) => `
extensions: { reliability: { directory: ${directory} } }
exporters:
  test_handler: ${JSON.stringify({ retry_on_failure: { initial_interval: "10ms", max_retries: 2 }, ...exporter })}
service: { extensions: [reliability], pipelines: { logs: { receivers: [outbox, hand], exporters: [test_handler] } } }`,
        { components: [test.factory], receivers: { outbox: outbox.config }, ...more },
      );
    const row = async () => (await db.query(`SELECT * FROM ${outbox.table} ORDER BY id LIMIT 1`)).rows[0];
    return { ...outbox, ...test.handler, handler: test.handler, start, row };
  }

  it("stays in_flight while the handler works, and is delivered when it is done", async () => {
    const { add, statuses, handler, start, row } = await outboxAgent();
    let finish = () => {};
    handler.handle = () => new Promise<void>((resolve) => (finish = resolve));
    await add({ n: 1 });
    const { metrics } = await start();
    await until(() => expect(metrics.value("otelcol_receiver_accepted_log_records")).toBe(1));
    expect(await statuses()).toEqual(["in_flight"]);
    finish();
    await expect.poll(statuses).toEqual(["delivered"]);
    expect(await row()).toMatchObject({ attempts: 1, last_error: null, first_failed_at: null });
  });

  it("is failed with error, attempts and time once its only entry is a dead letter", async () => {
    for (const exporter of [{}, { sending_queue: { wait_for_result: true } }]) {
      const { add, statuses, handler, start, row } = await outboxAgent({}, exporter);
      handler.handle = async () => {
        throw new Error("no room in the warehouse");
      };
      await add({ n: 1 });
      const { agent } = await start();
      await expect.poll(statuses).toEqual(["failed"]);
      const { attempts, last_error, first_failed_at, generation } = await row();
      expect({ attempts, last_error, generation }).toEqual({
        attempts: 3,
        last_error: "no room in the warehouse",
        generation: "0",
      });
      expect(Math.abs(first_failed_at.getTime() - Date.now())).toBeLessThan(60_000);
      expect((await agent.admin!.listDeadLetters({})).entries).toHaveLength(1);
      await cleanUp();
    }
  });

  it("follows a replay from the command line, and one from SQL, which are the same act", async () => {
    const { table, add, statuses, handler, start, row } = await outboxAgent();
    handler.handle = async () => {
      throw new Refusal("permanent", "unknown product");
    };
    const id = await add({ n: 1 }, { idempotency_key: "order-1" });
    const { agent } = await start();
    await expect.poll(statuses).toEqual(["failed"]);
    const letters = async () => (await agent.admin!.listDeadLetters({})).entries;
    const [letter] = await letters();
    // From the command line, with the same refusal: it fails again.
    const report = await agent.admin!.replay({ ids: [letter!.id] }, { by: "ann" });
    expect(report).toMatchObject({ replayed: 1 });
    await expect.poll(async () => (await row()).generation).toBe("1");
    await expect.poll(statuses).toEqual(["failed"]);
    expect((await row()).failure_history).toMatchObject([
      { attempts: 1, last_error: "unknown product", replayed_by: "ann", generation: 0 },
    ]);
    // From SQL, with a generation of its own and a mended payload. The dead letter goes back, and is delivered.
    handler.handle = async () => {};
    await db.query(`UPDATE ${table} SET payload = '{"n": 2}' WHERE id = $1`, [id]);
    expect((await db.query(`SELECT ${table}_replay($1, 'bob', 7) AS ok`, [id])).rows).toEqual([{ ok: true }]);
    await expect.poll(statuses).toEqual(["delivered"]);
    expect(handler.handled).toEqual([{ n: 2 }]);
    expect(await letters()).toEqual([]);
    const { generation, failure_history } = await row();
    expect(generation).toBe("7");
    expect(failure_history).toMatchObject([{ replayed_by: "ann" }, { replayed_by: "bob", generation: 1 }]);
    expect((await db.query(`SELECT ${table}_replay($1, 'bob') AS ok`, [id])).rows).toEqual([{ ok: false }]);
  });

  it("keeps a dead letter whose row says that it has not failed, unless the replay is approved", async () => {
    const { table, add, statuses, handler, start } = await outboxAgent();
    handler.handle = async () => {
      throw new Refusal("permanent", "never");
    };
    await add({ n: 1 });
    const { agent } = await start();
    await expect.poll(statuses).toEqual(["failed"]);
    await db.query(`UPDATE ${table} SET status = 'delivered'`);
    const [letter] = (await agent.admin!.listDeadLetters({})).entries;
    const selection = { ids: [letter!.id] };
    expect(await agent.admin!.replay(selection, { by: "ann" })).toMatchObject({ skipped: { skip_source: 1 } });
    handler.handle = async () => {};
    expect(await agent.admin!.replay(selection, { by: "ann", approved: true })).toMatchObject({ replayed: 1 });
    await until(() => expect(handler.handled).toHaveLength(1));
  });

  it("follows what the queue does after a restart, and the row is handled once", async () => {
    const { add, statuses, handler, start } = await outboxAgent({ claim_after: "1h" });
    let isDown = true;
    handler.handle = async () => {
      if (isDown) throw new Refusal("transient", "down", { blame: "backend" });
    };
    for (let n = 0; n < 20; n++) await add({ n });
    const first = await start();
    await until(() => expect(first.metrics.value("otelcol_receiver_accepted_log_records")).toBe(20));
    await first.agent.stop();
    expect(new Set(await statuses())).toEqual(new Set(["in_flight"]));
    isDown = false;
    await start({ directory: first.directory });
    await expect.poll(async () => new Set(await statuses())).toEqual(new Set(["delivered"]));
    expect(handler.handled).toHaveLength(20);
  });

  it("is delivered if the queue has the row, however often agents have ended over it", async () => {
    const { table, add, statuses, handler, start } = await outboxAgent({ claim_after: "1h", max_attempts: 3 });
    let isDown = true;
    handler.handle = async () => {
      if (isDown) throw new Refusal("transient", "down", { blame: "backend" });
    };
    await add({ n: 1 });
    const first = await start();
    await until(() => expect(first.metrics.value("otelcol_receiver_accepted_log_records")).toBe(1));
    await first.agent.stop();
    await db.query(`UPDATE ${table} SET claims = 10`);
    const second = await start({ directory: first.directory });
    await until(async () => expect((await db.query(`SELECT claims FROM ${table}`)).rows).toEqual([{ claims: 1 }]));
    expect(await statuses()).toEqual(["in_flight"]);
    isDown = false;
    await expect.poll(statuses).toEqual(["delivered"]);
    expect([handler.handled.length, (await second.agent.admin!.listDeadLetters({})).entries]).toEqual([1, []]);
  });

  it("is untouched in a row that is deleted: it is neither sent nor replayed", async () => {
    const { table, add, statuses, start, handled } = await outboxAgent();
    await add({ n: 1 }, { deleted_at: "2026-01-01", aggregate_key: "a" });
    const failed = await add({ n: 2 }, { deleted_at: "2026-01-01", status: "failed" });
    await add({ n: 3 }, { aggregate_key: "a" });
    await start();
    await expect.poll(statuses).toEqual(["pending", "failed", "delivered"]);
    expect((await db.query(`SELECT ${table}_replay($1, 'ann') AS ok`, [failed])).rows).toEqual([{ ok: false }]);
    expect(handled).toEqual([{ n: 3 }]);
  });

  it("says failed if one of several exporters has a dead letter", async () => {
    const { config, add, statuses } = await newOutbox(() => db, postgres.keys);
    const { handler, factory } = testHandler();
    handler.handle = async () => {
      throw new Refusal("permanent", "not mine");
    };
    await add({ n: 1 });
    const { agent } = await startFed(
      (directory) => `
extensions: { reliability: { directory: ${directory} } }
exporters: { test_handler: , nop: }
service:
  extensions: [reliability]
  pipelines: { logs: { receivers: [outbox, hand], exporters: [test_handler, nop] } }`,
      { components: [factory], receivers: { outbox: config } },
    );
    await expect.poll(statuses).toEqual(["failed"]);
    expect((await agent.admin!.listDeadLetters({})).entries).toHaveLength(1);
  });

  /** An outbox with two handlers behind it, which refuse everything until the test changes that. */
  async function twoHandlers(more = "") {
    const { config, add, statuses, table } = await newOutbox(() => db, postgres.keys);
    const { handler, factory } = testHandler();
    handler.handle = async () => {
      throw new Refusal("permanent", "not mine");
    };
    const { agent, metrics } = await startFed(
      (directory) => `
extensions: { reliability: { directory: ${directory} } }
exporters: { test_handler/a: , test_handler/b: , ${more} }
service:
  extensions: [reliability]
  pipelines: { logs: { receivers: [outbox, hand], exporters: [test_handler/a, test_handler/b] } }`,
      { components: [factory], receivers: { outbox: config } },
    );
    const letters = async (exporter: string) => (await agent.admin!.listDeadLetters({ exporter })).entries;
    const row = async () => (await db.query(`SELECT * FROM ${table}`)).rows[0];
    return { add, statuses, handler, agent, metrics, letters, row };
  }

  it("is failed again if only one of its two dead letters was replayed and delivered", async () => {
    const { add, statuses, handler, agent, letters, row } = await twoHandlers();
    await add({ n: 1 });
    await expect.poll(statuses).toEqual(["failed"]);
    handler.handle = async () => {};
    const replay = (exporter: string) => agent.admin!.replay({ query: { exporter } }, { by: "ann" });
    expect(await replay("test_handler/a")).toMatchObject({ replayed: 1 });
    await expect.poll(() => letters("test_handler/a")).toEqual([]);
    await expect.poll(row).toMatchObject({ status: "failed", last_error: "not mine", generation: "1" });
    expect(handler.handled).toHaveLength(1);
    expect(await replay("test_handler/b")).toMatchObject({ replayed: 1 });
    await expect.poll(statuses).toEqual(["delivered"]);
    expect(handler.handled).toHaveLength(2);
  });

  it("is delivered if all of its dead letters are replayed, one exporter after the other", async () => {
    const { add, statuses, handler, agent } = await twoHandlers();
    for (let n = 0; n < 60; n++) await add({ n });
    await expect.poll(async () => new Set(await statuses())).toEqual(new Set(["failed"]));
    handler.handle = async () => {};
    expect(await agent.admin!.replay({ query: {} }, { by: "ann" })).toMatchObject({ replayed: 120, skipped: {} });
    await expect.poll(async () => new Set(await statuses())).toEqual(new Set(["delivered"]));
    expect(handler.handled).toHaveLength(120);
  });

  it("is delivered if a dead letter was replayed and delivered while another exporter still had the row", async () => {
    const { add, statuses, handler, agent, letters } = await twoHandlers();
    let finish = () => {};
    let calls = 0;
    handler.handle = () => {
      calls += 1;
      if (calls === 1) throw new Refusal("permanent", "not mine");
      return new Promise<void>((resolve) => (finish = resolve));
    };
    await add({ n: 1 });
    await expect.poll(async () => calls + (await agent.admin!.listDeadLetters({})).entries.length).toBe(3);
    handler.handle = async () => {};
    expect(await agent.admin!.replay({ query: {} }, { by: "ann" })).toMatchObject({ replayed: 1 });
    await until(() => expect(handler.handled).toHaveLength(1));
    expect(await statuses()).toEqual(["in_flight"]);
    finish();
    await expect.poll(statuses).toEqual(["delivered"]);
    expect([...(await letters("test_handler/a")), ...(await letters("test_handler/b"))]).toEqual([]);
  });

  it("is failed if the row was rejected and the filter of dead letters does not keep it", async () => {
    const { config, add, statuses, table } = await newOutbox(
      () => db,
      postgres.keys,
      {},
      "ALTER payload DROP NOT NULL",
    );
    const { factory } = testHandler();
    const { agent } = await startFed(
      (directory) => `
extensions: { reliability: { directory: ${directory} } }
processors: { rate_limit: { global: { limit: 1, window: 1h }, on_excess: drop } }
exporters: { test_handler: { dead_letter: { filter: { never_save: ["*"] } } } }
service:
  extensions: [reliability]
  pipelines: { logs: { receivers: [outbox, hand], processors: [rate_limit], exporters: [test_handler] } }`,
      { components: [factory], receivers: { outbox: config } },
    );
    for (let n = 0; n < 3; n++) await add({ n });
    await expect.poll(async () => (await statuses()).sort()).toEqual(["delivered", "failed", "failed"]);
    expect((await agent.admin!.listDeadLetters({})).entries).toEqual([]);
    const { rows } = await db.query(`SELECT DISTINCT last_error FROM ${table} WHERE status = 'failed'`);
    expect(rows).toEqual([{ last_error: expect.stringMatching(/limit/) }]);
  });

  it("is one that a table of an earlier version gets with the migration", async () => {
    const table = newName("old");
    await db.query(`CREATE TABLE ${table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, aggregate_key text,
      event_type text, payload jsonb NOT NULL, headers jsonb, idempotency_key text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text,
      created_at timestamptz NOT NULL DEFAULT now(), status text NOT NULL DEFAULT 'pending', attempts integer NOT NULL DEFAULT 0,
      last_error text, claimed_by text, claimed_until timestamptz, finished_at timestamptz, failure_history jsonb NOT NULL DEFAULT '[]');
      CREATE FUNCTION ${table}_replay(row_id text, replayed_by text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
      INSERT INTO ${table} (payload, status) VALUES ('{"n": 1}', 'pending'), ('{"n": 2}', 'failed')`);
    const { config } = await newOutbox(() => db, postgres.keys, { table });
    const { handler, factory } = testHandler();
    await startFed(
      (directory) => `
extensions: { reliability: { directory: ${directory} } }
exporters: { test_handler: }
service: { extensions: [reliability], pipelines: { logs: { receivers: [outbox, hand], exporters: [test_handler] } } }`,
      { components: [factory], receivers: { outbox: config } },
    );
    await until(() => expect(handler.handled).toEqual([{ n: 1 }]));
    await db.query(`SELECT ${table}_replay('2', 'ann')`);
    await until(() => expect(handler.handled).toEqual([{ n: 1 }, { n: 2 }]));
  });
});
