import type { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresExporter } from "../../../src/exporters/postgres/component.js";
import { type Batch, batchFromJson } from "../../../src/plugin.js";
import type { Exporter } from "../../../src/runtime/contract/exporter.js";
import { exporterConformance, type TestBackend } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../../support/limits.js";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { logs } from "../../support/telemetry/batches.js";
import { never, refusalOf, startExporter } from "../harness.js";

describe.skipIf(postgresProgram === undefined)("the postgres exporter", () => {
  let postgres: Postgres;
  let db: Client;
  let names = 0;
  const started: Exporter[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    db = await postgres.connect();
  });

  afterAll(async () => {
    for (const exporter of started) await exporter.stop?.();
    await postgres?.close();
  });

  function newConfig(more: object = {}) {
    const table = `t${names++}`;
    const tables = { logs: { table }, traces: { table: `${table}_spans` }, metrics: { table: `${table}_points` } };
    return { table, config: { ...postgres.keys, ...tables, handled_table: `${table}_handled`, ...more } };
  }

  async function start(config: object): Promise<Exporter> {
    const exporter = await startExporter(postgresExporter, config);
    started.push(exporter);
    return exporter;
  }

  const all = async (table: string) => (await db.query(`SELECT * FROM ${table}`)).rows;
  const storedBodies = async (table: string) => (await all(table)).map(({ body }) => body);

  it("stores log records with all their fields, in tables that it creates", async () => {
    const { table, config } = newConfig();
    const exporter = await start(config);
    const record = {
      timeUnixNano: "1700000000123456789",
      observedTimeUnixNano: "1700000001000000000",
      traceId: "0102030405060708090a0b0c0d0e0f10",
      spanId: "0102030405060708",
      severityNumber: 17,
      severityText: "ERROR",
      eventName: "order.paid",
      body: { stringValue: "a\ttab, a \\ and a\nline\r" },
      attributes: [
        { key: "n", value: { intValue: "9007199254740993" } },
        { key: "d", value: { doubleValue: "NaN" } },
        { key: "b", value: { bytesValue: "AP8=" } },
        { key: "list", value: { arrayValue: { values: [{ boolValue: true }, { stringValue: "ü" }] } } },
      ],
    };
    const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
    const scopeLogs = [{ scope: { name: "lib", version: "2" }, logRecords: [record, { body: { kvlistValue: {} } }] }];
    await exporter.send(batchFromJson("logs", JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] })), never);
    const [row, second] = await all(table);
    expect(row).toMatchObject({
      time: new Date("2023-11-14T22:13:20.123Z"),
      time_unix_nano: "1700000000123456789",
      trace_id: record.traceId,
      span_id: record.spanId,
      severity_number: 17,
      severity_text: "ERROR",
      event_name: "order.paid",
      body: record.body.stringValue,
      attributes: { n: "9007199254740993", d: "NaN", b: "AP8=", list: [true, "ü"] },
      resource: { "service.name": "shop" },
      scope_name: "lib",
      scope_version: "2",
      service_name: "shop",
    });
    expect(second).toMatchObject({ time: null, body: "{}", attributes: {}, service_name: "shop" });
  });

  it("stores spans, and data points of every kind", async () => {
    const { table, config } = newConfig();
    const exporter = await start(config);
    const span = {
      traceId: "0102030405060708090a0b0c0d0e0f10",
      spanId: "0102030405060708",
      name: "GET /",
      kind: 2,
      startTimeUnixNano: "1700000000000000000",
      endTimeUnixNano: "1700000000000001500",
      status: { code: 2, message: "no" },
      events: [{ name: "e", timeUnixNano: "1700000000000000001", attributes: [{ key: "a", value: { intValue: 1 } }] }],
      links: [{ traceId: "0102030405060708090a0b0c0d0e0f10", spanId: "0102030405060708" }],
    };
    await exporter.send(
      batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })),
      never,
    );
    expect(await all(`${table}_spans`)).toMatchObject([
      {
        duration_nano: "1500",
        name: "GET /",
        kind: "server",
        status_code: "error",
        status_message: "no",
        events: [{ name: "e", timeUnixNano: "1700000000000000001", attributes: { a: 1 } }],
        links: [{ traceId: span.traceId, spanId: span.spanId }],
      },
    ]);
    const at = { timeUnixNano: "1700000000000000000" };
    const metrics = [
      {
        name: "g",
        unit: "s",
        gauge: {
          dataPoints: [
            { ...at, asDouble: 1.5 },
            { ...at, asDouble: "NaN" },
          ],
        },
      },
      {
        name: "s",
        sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ ...at, asInt: "9007199254740993" }] },
      },
      {
        name: "h",
        histogram: {
          aggregationTemporality: 1,
          dataPoints: [{ ...at, count: 3, sum: 6, bucketCounts: [1, 2], explicitBounds: [5] }],
        },
      },
    ];
    await exporter.send(
      batchFromJson("metrics", JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] })),
      never,
    );
    expect(await all(`${table}_points`)).toMatchObject([
      { name: "g", unit: "s", kind: "gauge", value: 1.5, int_value: null, data: null },
      { name: "g", value: Number.NaN },
      { name: "s", kind: "sum", temporality: "cumulative", is_monotonic: true, int_value: "9007199254740993" },
      {
        name: "h",
        kind: "histogram",
        temporality: "delta",
        value: null,
        data: { count: "3", sum: 6, explicitBounds: [5] },
      },
    ]);
  });

  it("stores repeated records once, however they are grouped, also when both sends are under way", async () => {
    const { table, config } = newConfig();
    const [exporter, other] = [await start(config), await start(config)];
    await Promise.all([1, 2, 3].map(() => exporter.send(logs("a"), never, { idempotencyKey: "q-1" })));
    const both = logs("a", "b");
    await other.send(both, never, { idempotencyKey: "entries;q-1+1:1" });
    await other.send(logs("b"), never, { idempotencyKey: "q-2" });
    expect(await storedBodies(table)).toEqual(["a", "b"]);
  });

  it("recognises records made of messages by their sender's key", async () => {
    const { table, config } = newConfig();
    const exporter = await start(config);
    const message = (body: string, key: string) => {
      const attributes = [{ key: "messaging.header.x-idempotency-key", value: { stringValue: key } }];
      return { body: { stringValue: body }, attributes };
    };
    const batch = (...logRecords: object[]) =>
      batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    await exporter.send(batch(message("a", "k1"), message("a", "k1"), message("b", "it's")), never, {
      idempotencyKey: "q-1",
    });
    await exporter.send(batch(message("b", "it's"), message("c", "k\\3"), { body: { stringValue: "d" } }), never, {
      idempotencyKey: "q-9",
    });
    expect(await storedBodies(table)).toEqual(["a", "b", "c", "d"]);
    await exporter.send(batch(message("e", "x".repeat(10_000)), message("e", "x".repeat(10_000))), never, {});
    expect(await storedBodies(table)).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("permanently refuses what the server cannot hold, stores nothing of it, and continues", async () => {
    const { table, config } = newConfig();
    const exporter = await start(config);
    const refusal = await refusalOf(exporter.send(logs("good", "b\0d"), never, { idempotencyKey: "q-1" }));
    expect(refusal).toMatchObject({ kind: "permanent", category: "schema", status: "22021" });
    await exporter.send(logs("good"), never, { idempotencyKey: "q-1" });
    await db.query(`ALTER TABLE ${table} ADD CHECK (body <> 'forbidden')`);
    expect(await refusalOf(exporter.send(logs("forbidden"), never))).toMatchObject({
      kind: "permanent",
      category: "business",
      status: "23514",
    });
    expect(await storedBodies(table)).toEqual(["good"]);
  });

  it("refuses for now while the table has other columns, says which, and stores when they are right", async () => {
    const { table, config } = newConfig();
    const exporter = await start(config);
    await exporter.send(logs("a"), never);
    const refused = async () => await refusalOf(exporter.send(logs("b"), never));
    await db.query(`ALTER TABLE ${table} ALTER attributes TYPE integer USING 1`);
    expect(await refused()).toMatchObject({
      kind: "transient",
      message: expect.stringContaining(`the table ${table} has integer in the column attributes, expected jsonb`),
    });
    await db.query(`ALTER TABLE ${table} DROP attributes`);
    expect(await refused()).toMatchObject({
      kind: "transient",
      message: expect.stringContaining("has no column attributes"),
    });
    await db.query(`ALTER TABLE ${table} ADD attributes jsonb, ADD tenant text`);
    await db.query(`UPDATE ${table} SET tenant = 'x'`);
    await db.query(`ALTER TABLE ${table} ALTER tenant SET NOT NULL`);
    expect(await refused()).toMatchObject({ kind: "transient", status: "23502" });
    await db.query(`DROP TABLE ${table}`);
    await exporter.send(logs("c"), never);
    expect(await storedBodies(table)).toEqual(["c"]);
  });

  it("waits for a missing partition", async () => {
    const { table, config } = newConfig({ create_tables: false, handled_table: "" });
    const exporter = await start(config);
    expect(await refusalOf(exporter.send(logs("a"), never))).toMatchObject({ kind: "transient", status: "42P01" });
    const { config: like } = newConfig();
    await (await start(like)).send(logs("x"), never);
    await db.query(`CREATE TABLE ${table} (LIKE ${like.logs.table}) PARTITION BY LIST (body)`);
    expect(await refusalOf(exporter.send(logs("a"), never))).toMatchObject({ kind: "transient", status: "23514" });
    await db.query(`CREATE TABLE ${table}_a PARTITION OF ${table} FOR VALUES IN ('a')`);
    await exporter.send(logs("a"), never);
    expect(await storedBodies(table)).toEqual(["a"]);
  });

  it("refuses for now with the reason: no permission, no server, no answer", async () => {
    await db.query("CREATE ROLE ann LOGIN PASSWORD 'secret'");
    const locked = await start({ ...postgres.keys, username: "ann", password: "wrong" });
    expect(await refusalOf(locked.send(logs("a"), never))).toMatchObject({ kind: "transient", status: "28P01" });
    const nobody = await start({ ...postgres.keys, endpoint: "127.0.0.1:1" });
    expect(await refusalOf(nobody.send(logs("a"), never))).toMatchObject({
      kind: "transient",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("stores batches with an unknown outcome once: aborted, killed, sent again", async () => {
    const { table, config } = newConfig({ max_connections: 1 });
    const exporter = await start(config);
    await exporter.send(logs("first"), never, { idempotencyKey: "q-1" });
    postgres.server.pause();
    const abort = new AbortController();
    const sending = refusalOf(exporter.send(logs("a"), abort.signal, { idempotencyKey: "q-2" }));
    setTimeout(() => abort.abort(), 50);
    expect(await sending).toMatchObject({ kind: "transient", code: "SLUICE_ABORTED" });
    postgres.server.resume();
    await exporter.send(logs("a"), never, { idempotencyKey: "q-2" });
    await postgres.server.kill();
    expect(await refusalOf(exporter.send(logs("b"), never, { idempotencyKey: "q-3" }))).toMatchObject({
      kind: "transient",
    });
    await expect(exporter.check!(never)).rejects.toThrow();
    await postgres.server.start();
    db = await postgres.connect();
    await exporter.check!(never);
    await exporter.send(logs("b"), never, { idempotencyKey: "q-3" });
    expect(await storedBodies(table)).toEqual(["first", "a", "b"]);
  });

  describe("fulfils the contract", () => {
    const backend = async (): Promise<TestBackend> => {
      const { table, config } = newConfig();
      return { config, taken: async () => [await storedBatch(table)] };
    };
    const options = { backend, signals: ["logs"], patienceMs: CONDITION_LIMIT_MS } as const;
    for (const { name, run } of exporterConformance(postgresExporter, options)) it(name, run);
  });

  /** Returns the rows of a table as a batch. */
  async function storedBatch(table: string): Promise<Batch> {
    const rows = await all(table).catch(() => []);
    const logRecords = rows.map(({ body, attributes }) => ({
      body: { stringValue: body },
      attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: String(value) } })),
    }));
    return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
  }
});
