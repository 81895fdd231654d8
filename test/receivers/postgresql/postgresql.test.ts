import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresqlReceiver } from "../../../src/receivers/postgresql/component.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { until } from "../../support/until.js";
import { type Point, pointsOf } from "../prometheus/harness.js";
import { startReceiver } from "../started-receiver.js";

describe.skipIf(postgresProgram === undefined)("the postgresql receiver", () => {
  let postgres: Postgres;
  let db: Client;
  let config: object;
  const receivers: Receiver[] = [];

  beforeAll(async () => {
    postgres = await startPostgres({ options: { track_functions: "all" } });
    db = await postgres.connect();
    await run(
      "CREATE TABLE orders (id int PRIMARY KEY, name text); CREATE SCHEMA core; CREATE TABLE core.parts (id int)",
    );
    await run("INSERT INTO orders SELECT n, 'x' FROM generate_series(1, 100) n; DELETE FROM orders WHERE id > 90");
    await run("CREATE DATABASE shop");
    const { endpoint, username } = postgres.keys;
    config = {
      endpoint,
      username,
      password: "x",
      tls: { insecure: true },
      collection_interval: "50ms",
      initial_delay: 0,
    };
  });

  afterAll(async () => {
    for (const receiver of receivers) await receiver.stop();
    await postgres?.close();
  });

  /** By a session that ends: what it did is in the statistics then, and not some time later. */
  async function run(text: string): Promise<void> {
    const session = await postgres.connect();
    await session.query(text);
    await session.end();
  }

  async function start(more: object, logger: Logger = silentLogger) {
    const intake = new TestIntake();
    const receiver = await startReceiver(postgresqlReceiver, { ...config, ...more }, intake, logger, "metrics");
    receivers.push(receiver);
    /** The points of the newest collection: `name{resource and attributes}` and value. */
    const values = () => Object.fromEntries(pointsOf(intake.batches.at(-1)!).map(lineOf));
    return { receiver, intake, values };
  }

  function lineOf({ name, resource, labels, data }: Point): [string, number] {
    const { "service.instance.id": _, ...known } = resource as Record<string, string>;
    const all = Object.entries({ ...known, ...labels }).map(
      ([key, value]) => `${key.replace("postgresql.", "")}=${value}`,
    );
    return [`${name}{${all.join(",")}}`, Number(data["asInt"] ?? data["asDouble"])];
  }

  it("tells what the server knows of databases, tables, indexes and itself", async () => {
    const { values } = await start({});
    const orders = "database.name=postgres,table.name=public.orders";
    await until(() =>
      expect(values()).toMatchObject({
        "postgresql.database.count{}": 2,
        "postgresql.table.count{database.name=postgres}": 2,
        "postgresql.table.count{database.name=shop}": 0,
        [`postgresql.operations{${orders},operation=ins}`]: 100,
        [`postgresql.operations{${orders},operation=del}`]: 10,
        [`postgresql.rows{${orders},state=live}`]: 90,
        [`postgresql.rows{${orders},state=dead}`]: 10,
        "postgresql.operations{database.name=postgres,table.name=core.parts,operation=ins}": 0,
      }),
    );
    const found = values();
    const facts = async (text: string) => Number((await db.query(`SELECT ${text} AS value`)).rows[0].value);
    expect(found["postgresql.connection.max{}"]).toBe(await facts("current_setting('max_connections')"));
    expect(found["postgresql.db_size{database.name=postgres}"]).toBeGreaterThan(1_000_000);
    expect(found[`postgresql.table.size{${orders}}`]).toBe(await facts("pg_relation_size('orders')"));
    const index = "database.name=postgres,table.name=orders,index.name=orders_pkey";
    expect(found[`postgresql.index.size{${index}}`]).toBe(await facts("pg_relation_size('orders_pkey')"));
    expect(found["postgresql.backends{database.name=postgres}"]).toBeGreaterThan(0);
    expect(found["postgresql.bgwriter.checkpoint.count{type=requested}"]).toBeGreaterThanOrEqual(0);
    expect(found[`postgresql.blocks_read{${orders},source=heap_hit}`]).toBeGreaterThan(0);
    expect(Object.keys(found).filter((name) => /deadlocks|tup_|database\.locks|wal/.test(name))).toEqual([]);
  });

  it("measures what is asked for beside that, of the databases that are named, and says what it cannot", async () => {
    await run(
      "CREATE FUNCTION double(x int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 2 * x; END'; SELECT double(2)",
    );
    const names = [
      "deadlocks",
      "tup_inserted",
      "database.locks",
      "function.calls",
      "query.conflicts",
      "query.execution.time",
    ];
    const metrics = Object.fromEntries(names.map((name) => [`postgresql.${name}`, { enabled: true }]));
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(JSON.stringify(fields)) };
    const { values } = await start({ metrics, databases: ["postgres", "shop"], exclude_databases: ["shop"] }, logger);
    await until(() =>
      expect(values()).toMatchObject({
        "postgresql.database.count{}": 1,
        "postgresql.deadlocks{database.name=postgres}": 0,
        "postgresql.function.calls{database.name=postgres,function=double}": 1,
        "postgresql.query.conflicts{database.name=postgres,conflict.type=lock}": 0,
      }),
    );
    expect(values()["postgresql.tup_inserted{database.name=postgres}"]).toBeGreaterThan(100);
    expect(Object.keys(values()).some((name) => name.startsWith("postgresql.database.locks{"))).toBe(true);
    expect(warnings.filter((line) => !line.includes("pg_stat_statements"))).toEqual([]);
    expect(warnings.length).toBeGreaterThan(0);
  });

  it("has one point of indexes and functions that share their names in several schemas", async () => {
    const tenant = (name: string) => `CREATE SCHEMA ${name}; CREATE TABLE ${name}.users (id int PRIMARY KEY);
      CREATE FUNCTION ${name}.hello(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; SELECT ${name}.hello(2)`;
    await run("CREATE DATABASE tenants");
    const session = await postgres.connect("tenants");
    await session.query(`${tenant("one")}; ${tenant("two")}; SELECT two.hello(3); INSERT INTO one.users VALUES (1)`);
    const { rows } = await session.query("SELECT pg_relation_size('one.users_pkey') AS one");
    await session.query("INSERT INTO two.users VALUES (1)");
    await session.end();
    const metrics = { "postgresql.function.calls": { enabled: true } };
    const { values, intake } = await start({ metrics, databases: ["tenants"] });
    const index = "database.name=tenants,table.name=users,index.name=users_pkey";
    await until(() =>
      expect(values()).toMatchObject({
        [`postgresql.index.size{${index}}`]: 2 * Number(rows[0].one),
        "postgresql.function.calls{database.name=tenants,function=hello}": 3,
      }),
    );
    const names = pointsOf(intake.batches.at(-1)!).map((point) => lineOf(point)[0]);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    await run("DROP DATABASE tenants WITH (FORCE)");
  });

  it("leaves a table that somebody has for himself out, and measures the others meanwhile", async () => {
    const other = await postgres.connect();
    await other.query("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE");
    const { values, intake } = await start({});
    await until(() => expect(values()["postgresql.table.count{database.name=postgres}"]).toBe(1));
    expect(values()["postgresql.operations{database.name=postgres,table.name=core.parts,operation=ins}"]).toBe(0);
    await other.query("ROLLBACK");
    await until(() => expect(values()["postgresql.table.count{database.name=postgres}"]).toBe(2));
    expect(intake.batches.length).toBeGreaterThan(1);
  });

  it("starts while no server answers, reports it, measures once one does, and leaves no connection open", async () => {
    const own = await startPostgres();
    await own.server.kill();
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(JSON.stringify(fields)) };
    const { values, receiver, intake } = await start({ endpoint: own.endpoint }, logger);
    await until(() => expect(warnings[0]).toContain("ECONNREFUSED"));
    expect(intake.batches).toEqual([]);
    await own.server.start();
    await until(() => expect(values()["postgresql.database.count{}"]).toBe(1));
    await receiver.stop();
    const watching = await own.connect();
    const text = "SELECT count(*) AS count FROM pg_stat_activity WHERE application_name LIKE 'sluice%'";
    await until(async () => expect((await watching.query(text)).rows[0].count).toBe("0"));
    await own.close();
  });

  it("stops at once while a server that never answers is connected to", async () => {
    const { createServer } = await import("node:net");
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const reached = new Promise((resolve) => silent.once("connection", resolve));
    const { receiver, intake } = await start({ endpoint: `127.0.0.1:${port}` });
    await reached;
    await receiver.stop();
    expect(intake.batches).toEqual([]);
    silent.close();
  });

  it.each([
    [{ username: "" }, "username"],
    [{ endpoint: "nowhere" }, "endpoint"],
    [{ transport: "pigeon" }, "transport"],
    [{ no_such_key: 1 }, "no_such_key"],
  ])("refuses %o", (wrong, key) => {
    const { error } = postgresqlReceiver.schema.safeParse({ username: "ann", ...wrong });
    expect(JSON.stringify(error?.issues)).toContain(key);
  });

  for (const { name, run } of receiverConformance(postgresqlReceiver, { config: () => config, patienceMs }))
    it(name, run);
});
