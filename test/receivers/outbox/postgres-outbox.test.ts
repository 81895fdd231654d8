import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Batch, Refusal } from "../../../src/plugin.js";
import { outboxReceiver } from "../../../src/receivers/outbox/component.js";
import { outboxKeys } from "../../../src/receivers/outbox/config.js";
import { outboxMigration } from "../../../src/receivers/outbox/migration.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import { plainRecords } from "../../../src/testing.js";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { until } from "../../support/until.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";
import { heldIntake, newName, newOutbox } from "./outbox-fixture.js";

const REFUSED = { ok: false, refusal: new Refusal("permanent", "never") } as const;

describe.skipIf(postgresProgram === undefined)("the outbox receiver", () => {
  let postgres: Postgres;
  let db: Client;
  const receivers: Receiver[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    db = await postgres.connect();
  });

  afterAll(async () => {
    for (const receiver of receivers) await receiver.stop();
    await postgres?.close();
  });

  async function start(config: object, intake: SetbackIntake, logger?: Logger): Promise<Receiver> {
    const receiver = await startReceiver(outboxReceiver, config, intake, logger);
    receivers.push(receiver);
    return receiver;
  }

  it("marks a row as delivered when its data is safe, and not before", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys);
    const fields = { aggregate_key: "o-1", event_type: "order.paid", idempotency_key: "k1", headers: '{"tenant":"a"}' };
    const id = await add({ amount: 5 }, fields);
    const { intake, accepts } = heldIntake();
    await start(config, intake);
    await until(() => expect(accepts).toHaveLength(1));
    expect(await statuses()).toEqual(["in_flight"]);
    accepts[0]!();
    await expect.poll(statuses).toEqual(["delivered"]);
    expect(plainRecords(intake.batches[0]!)[0]).toMatchObject({
      body: { amount: 5 },
      attributes: {
        "messaging.system": "postgresql",
        "messaging.destination.name": table,
        "messaging.message.id": id,
        "outbox.key": "o-1",
        "event.name": "order.paid",
        "messaging.header.tenant": "a",
        "messaging.header.x-idempotency-key": "k1",
      },
    });
  });

  it("hears of new rows at once, and deletes those that are delivered if told", async () => {
    const { config, add, statuses } = await newOutbox(() => db, postgres.keys, {
      poll_interval: "1h",
      on_delivered: "delete",
    });
    const intake = new SetbackIntake();
    await start(config, intake);
    await add({ n: 1 });
    await until(() => expect(intake.batches).toHaveLength(1));
    await expect.poll(statuses).toEqual([]);
  });

  it("hands in rows of one key one after the other, and others meanwhile", async () => {
    const { config, add, statuses } = await newOutbox(() => db, postgres.keys);
    for (const key of ["a", "a", "b"]) await add({ key }, { aggregate_key: key });
    const { intake, accepts } = heldIntake();
    await start(config, intake);
    await until(() => expect(accepts).toHaveLength(2));
    expect(keysOf(intake.batches)).toEqual(["a", "b"]);
    accepts[0]!();
    await until(() => expect(accepts).toHaveLength(3));
    for (const accept of accepts) accept();
    await expect.poll(statuses).toEqual(["delivered", "delivered", "delivered"]);
  });

  it("keeps the order of each key among several agents, and hands in each row once", async () => {
    const { table, config, statuses } = await newOutbox(() => db, postgres.keys, {
      batch_size: 7,
      poll_interval: "10ms",
    });
    const handed: { key: string; n: number }[] = [];
    const agents = [0, 1, 2].map(() => {
      const intake = new SetbackIntake();
      intake.answer = async (batch: Batch) => {
        handed.push(plainRecords(batch)[0]!.body as { key: string; n: number });
        await new Promise((resolve) => setTimeout(resolve, 1));
        return ACCEPTED;
      };
      return intake;
    });
    for (const intake of agents) await start(config, intake);
    for (let n = 0; n < 300; n += 30) {
      await db.query(`INSERT INTO ${table} (payload, aggregate_key)
        SELECT json_build_object('key', 'k' || n % 5, 'n', n), 'k' || n % 5 FROM generate_series(${n}, ${n + 29}) n`);
    }
    await expect.poll(async () => new Set(await statuses())).toEqual(new Set(["delivered"]));
    expect(handed).toHaveLength(300);
    for (let key = 0; key < 5; key++) {
      const order = handed.filter((row) => row.key === `k${key}`).map(({ n }) => n);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }
    expect(agents.every(({ batches }) => batches.length > 0)).toBe(true);
  });

  it("takes over what a dead agent has left, and not what a slow one still works on", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys, { claim_after: "300ms" });
    await add({ n: 1 });
    await db.query(
      `UPDATE ${table} SET status = 'in_flight', claimed_by = 'dead', claimed_until = now() + interval '200ms'`,
    );
    const slow = heldIntake();
    await start(config, slow.intake);
    await until(() => expect(slow.accepts).toHaveLength(1));
    const other = new SetbackIntake();
    await start(config, other);
    const begin = Date.now();
    await expect.poll(() => Date.now() - begin > 900).toBe(true);
    expect([...slow.intake.batches, ...other.batches]).toHaveLength(1);
    slow.accepts[0]!();
    await expect.poll(statuses).toEqual(["delivered"]);
  });

  it("keeps what it cannot read as a dead letter, marks the row with the error, and goes on", async () => {
    const { config, add, states } = await newOutbox(
      () => db,
      postgres.keys,
      {},
      "ALTER payload TYPE text, ALTER payload DROP NOT NULL",
    );
    await add("{no json", { headers: '{"tenant":"acme"}' });
    await add({ n: 1 }, { payload: null });
    await add({ n: 2 }, { headers: "[1]" });
    await add({ n: 3 });
    const intake = new SetbackIntake();
    await start(config, intake);
    await expect
      .poll(async () => (await states()).map(({ status }) => status).join())
      .toBe("failed,failed,failed,delivered");
    expect((await states()).map(({ last_error }) => last_error)).toEqual([
      expect.stringContaining("is not logs in json"),
      "the row has no payload",
      "the headers of the row are not a JSON object",
      null,
    ]);
    expect(intake.setbacks.map(({ setback }) => setback.code)).toEqual(Array(3).fill("SLUICE_MESSAGE_UNREADABLE"));
    expect(plainRecords(intake.setbacks.find(({ setback }) => /json/.test(setback.message))!.batch)[0]).toMatchObject({
      body: new Uint8Array(Buffer.from("{no json")),
      attributes: { "messaging.header.tenant": "acme" },
    });
  });

  it("marks permanently refused rows as failed with their error, and takes them again when they are replayed", async () => {
    const { table, config, add, states, statuses } = await newOutbox(() => db, postgres.keys);
    const intake = new SetbackIntake();
    intake.answer = () => REFUSED;
    const id = await add({ n: 1 });
    await start(config, intake);
    await expect.poll(statuses).toEqual(["failed"]);
    expect(await states()).toEqual([{ status: "failed", last_error: "never", attempts: 0, claims: 1 }]);
    intake.answer = () => ACCEPTED;
    await db.query(`SELECT ${table}_replay($1, 'ann')`, [id]);
    await expect.poll(statuses).toEqual(["delivered"]);
    const { rows } = await db.query(`SELECT failure_history FROM ${table}`);
    expect(rows[0].failure_history).toMatchObject([{ attempts: 0, last_error: "never", replayed_by: "ann" }]);
  });

  it("does not hand in what was handled under the same key before", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys, {
      handled_table: "handled",
      consumer: "shop",
    });
    await add({ n: 1 }, { idempotency_key: "k" });
    const intake = new SetbackIntake();
    await start(config, intake);
    await expect.poll(statuses).toEqual(["delivered"]);
    await db.query(`UPDATE ${table} SET status = 'pending'`);
    await expect.poll(statuses).toEqual(["delivered"]);
    expect(intake.batches).toHaveLength(1);
    expect((await db.query("SELECT consumer, idempotency_key FROM handled")).rows).toEqual([
      { consumer: "shop", idempotency_key: "k" },
    ]);
  });

  it("keeps a row that crashes agents as a dead letter, and leaves a row that is too large in the table", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys, {
      max_attempts: 3,
      max_message_size: "1KiB",
    });
    await add({ n: 1 }, { claims: 3 });
    // A payload that compresses well is small on disk.
    await db.query(`INSERT INTO ${table} (payload)
      SELECT json_build_array(string_agg(md5(random()::text), '')) FROM generate_series(1, 1000)`);
    const intake = new SetbackIntake();
    await start(config, intake);
    await expect.poll(statuses).toEqual(["failed", "failed"]);
    expect(intake.setbacks.map(({ setback }) => setback.reason)).toEqual(["poison"]);
    expect(intake.batches).toHaveLength(1);
  });

  it("does not wait for locked rows, and keeps the rows of the same key behind them", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys);
    for (const key of ["a", "a", "b"]) await add({ key }, { aggregate_key: key });
    const operator = await postgres.connect();
    await operator.query("BEGIN");
    await operator.query(`SELECT 1 FROM ${table} WHERE aggregate_key = 'a' ORDER BY id LIMIT 1 FOR UPDATE`);
    const intake = new SetbackIntake();
    await start(config, intake);
    await expect.poll(statuses).toEqual(["pending", "pending", "delivered"]);
    await operator.query("COMMIT");
    await expect.poll(statuses).toEqual(["delivered", "delivered", "delivered"]);
    expect(keysOf(intake.batches)).toEqual(["b", "a", "a"]);
  });

  it("settles other rows while a finished one is locked", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys, { claim_after: "300ms" });
    const { intake, accepts } = heldIntake();
    await add({ n: 1 });
    await add({ n: 2 });
    await start(config, intake);
    await until(() => expect(accepts).toHaveLength(2));
    const operator = await postgres.connect();
    await operator.query("BEGIN");
    await operator.query(`SELECT 1 FROM ${table} ORDER BY id LIMIT 1 FOR UPDATE`);
    for (const accept of accepts) accept();
    await expect.poll(statuses).toEqual(["in_flight", "delivered"]);
    await operator.query("COMMIT");
    await expect.poll(statuses).toEqual(["delivered", "delivered"]);
    expect(intake.batches).toHaveLength(2);
  });

  it("gives back what has no outcome when it is stopped, and settles what has one", async () => {
    const { config, add, states } = await newOutbox(() => db, postgres.keys);
    await add({ n: 1 }, { aggregate_key: "a" });
    await add({ n: 2 }, { aggregate_key: "a" });
    const { intake, accepts } = heldIntake();
    const receiver = await start(config, intake);
    await until(() => expect(accepts).toHaveLength(1));
    const stopped = receiver.stop();
    accepts[0]!();
    await stopped;
    expect(await states()).toMatchObject([
      { status: "delivered", claims: 1 },
      { status: "pending", claims: 0 },
    ]);
  });

  it("reports a missing column, and continues when it is back", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys);
    const { logger, said } = listening();
    const { intake, accepts } = heldIntake();
    await add({ n: 1 });
    await start(config, intake, logger);
    await until(() => expect(accepts).toHaveLength(1));
    await db.query(`ALTER TABLE ${table} RENAME finished_at TO ended_at`);
    accepts[0]!();
    await until(() => expect(said()).toMatch(/column "finished_at".*does not exist.*sluice outbox migration/));
    intake.answer = () => ACCEPTED;
    await add({ n: 2 });
    await db.query(`ALTER TABLE ${table} RENAME ended_at TO finished_at`);
    await expect.poll(statuses).toEqual(["delivered", "delivered"]);
    expect(intake.batches).toHaveLength(2);
  });

  it("starts without a table or access, reports it, and continues when both are there", async () => {
    await db.query("CREATE ROLE ann LOGIN PASSWORD 'secret'");
    const locked = listening();
    await start(
      { ...postgres.keys, username: "ann", password: "wrong", directory: "" },
      new SetbackIntake(),
      locked.logger,
    );
    await until(() => expect(locked.said()).toContain('password authentication failed for user "ann"'));
    const table = newName("outbox");
    const missing = listening();
    const intake = new SetbackIntake();
    const config = { ...postgres.keys, table, poll_interval: "50ms", directory: "" };
    await start(config, intake, missing.logger);
    await until(() => expect(missing.said()).toMatch(`relation "${table}" does not exist`));
    await db.query(outboxMigration(outboxKeys.parse(config)));
    await db.query(`INSERT INTO ${table} (payload) VALUES ('{}')`);
    await until(() => expect(intake.batches).toHaveLength(1));
  });

  it("works with a table of others' making, after the migration, which changes nothing when it is run again", async () => {
    const table = newName("shop.events");
    await db.query(`CREATE SCHEMA IF NOT EXISTS shop;
      CREATE TABLE ${table} (event_id uuid PRIMARY KEY, "at" timestamptz NOT NULL DEFAULT now(), "Data" bytea NOT NULL)`);
    const columns = { id: "event_id", position: "at", payload: "Data", key: "", type: "", headers: "" };
    const absent = { idempotency_key: "", created_at: "" };
    const config = { ...postgres.keys, table, encoding: "raw", directory: "", columns: { ...columns, ...absent } };
    for (let i = 0; i < 2; i++) await db.query(outboxMigration(outboxKeys.parse(config)));
    await db.query(`INSERT INTO ${table} (event_id, "Data") VALUES (gen_random_uuid(), '\\x00ff80')`);
    const intake = new SetbackIntake();
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    expect(plainRecords(intake.batches[0]!)[0]!.body).toEqual(new Uint8Array([0, 255, 128]));
    await expect
      .poll(async () => (await db.query(`SELECT status FROM ${table}`)).rows)
      .toEqual([{ status: "delivered" }]);
  });

  it("is replayed by the id of the event, its new generation and who replays it, if the ids are uuids", async () => {
    const table = newName("core.outbox");
    await db.query(`CREATE SCHEMA IF NOT EXISTS core; CREATE TABLE ${table} (id uuid PRIMARY KEY, payload jsonb NOT NULL,
      position bigint GENERATED ALWAYS AS IDENTITY, created_at timestamptz NOT NULL DEFAULT now(), aggregate_key text,
      event_type text, headers jsonb, idempotency_key text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text)`);
    const config = { ...postgres.keys, table, columns: { position: "position" } };
    for (let i = 0; i < 2; i++) await db.query(outboxMigration(outboxKeys.parse(config)));
    const id = "8f14e45f-ceea-467f-a0e6-31a1c6e0a0b1";
    const fail = () => db.query(`UPDATE ${table} SET status = 'failed'`);
    const replayed = async (call: string, values: readonly unknown[] = []) =>
      (await db.query(`SELECT ${table}_replay(${call}) AS ok`, [...values])).rows[0].ok;
    await db.query(`INSERT INTO ${table} (id, payload) VALUES ('${id}', '{}')`);
    for (const [generation, call, values] of [
      ["7", "$1::uuid, $2::bigint, $3::text", [id, 7, "sql-direct"]],
      ["8", `'${id}', 8, 'sql-direct'`, []],
      ["9", `event_id => '${id}', p_new_generation => 9, p_replayed_by => 'sql-direct'`, []],
      ["10", `'${id}', 'sql-direct'`, []],
      ["11", `'${id}', 'sql-direct', 11`, []],
    ] as const) {
      await fail();
      expect([call, await replayed(call, values)]).toEqual([call, true]);
      const [row] = (await db.query(`SELECT status, generation, failure_history->-1 AS cycle FROM ${table}`)).rows;
      expect(row).toMatchObject({ status: "pending", generation, cycle: { replayed_by: "sql-direct" } });
    }
    expect(await replayed(`'${id}', 12, 'sql-direct'`), "it has not failed").toBe(false);
  });

  it("hands in each row whose key is empty, whatever the table of handled keys has", async () => {
    const handled = newName("handled");
    const keys = { handled_table: handled, consumer: "shop" };
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys, keys);
    await db.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_idempotency_key_key`);
    await db.query(`INSERT INTO ${handled} (consumer, idempotency_key) VALUES ('shop', '')`);
    for (let n = 0; n < 3; n++) await add({ n }, { idempotency_key: "" });
    const intake = new SetbackIntake();
    await start(config, intake);
    await expect.poll(statuses).toEqual(["delivered", "delivered", "delivered"]);
    expect(intake.batches).toHaveLength(3);
    const sent = intake.batches.map(
      (batch) => plainRecords(batch)[0]!.attributes["messaging.header.x-idempotency-key"],
    );
    expect(new Set(sent).size).toBe(3);
  });

  it("settles what it has once the server is back, and hands in nothing twice", async () => {
    const { table, config, add, statuses } = await newOutbox(() => db, postgres.keys, { query_timeout: "500ms" });
    await add({ n: 1 });
    const { intake, accepts } = heldIntake();
    await start(config, intake);
    await until(() => expect(accepts).toHaveLength(1));
    await postgres.server.kill();
    accepts[0]!();
    intake.answer = () => ACCEPTED;
    await postgres.server.start();
    db = await postgres.connect();
    await add({ n: 2 });
    await expect.poll(statuses).toEqual(["delivered", "delivered"]);
    postgres.server.pause();
    const begin = Date.now();
    await expect.poll(() => Date.now() - begin > 800).toBe(true);
    postgres.server.resume();
    await db.query(`INSERT INTO ${table} (payload) VALUES ('{"n":3}')`);
    await expect.poll(statuses).toEqual(["delivered", "delivered", "delivered"]);
    expect(intake.batches).toHaveLength(3);
  });
});

function keysOf(batches: readonly Batch[]): unknown[] {
  return batches.map((batch) => plainRecords(batch)[0]!.attributes["outbox.key"]);
}

function listening() {
  const lines: string[] = [];
  const say = (fields: { reason?: string }) => void lines.push(fields.reason ?? "");
  return { logger: { ...silentLogger, error: say, warn: say } as Logger, said: () => lines.join("\n") };
}
