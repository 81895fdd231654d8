import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory, type Signal } from "../../../src/plugin.js";
import { sqlQueryReceiver } from "../../../src/receivers/sql-query/component.js";
import { dataSourceOf } from "../../../src/receivers/sql-query/data-source.js";
import { doubleText, integerText, timeText } from "../../../src/receivers/sql-query/value-text.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { type StatementAnswer, startProtocolServer } from "../../support/servers/mysql-protocol.js";
import { reasons } from "../mysql/mysql-points.js";
import { startReceiver } from "../started-receiver.js";

const quick = { collection_interval: "20ms", initial_delay: 0 };

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "sluice-sql-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A server with these answers, and a receiver of it that has one query. */
async function start(
  answer: (statement: string) => StatementAnswer,
  query: object,
  signal: Signal,
  more: object = {},
  log = reasons(),
) {
  const server = await startProtocolServer({ answer });
  onTestFinished(() => server.close());
  const intake = new TestIntake();
  const keys = {
    ...quick,
    driver: "mysql",
    datasource: `ann:@tcp(127.0.0.1:${server.port})/shop`,
    queries: [{ sql: "SELECT * FROM rows", ...query }],
    offsets_directory: folder(),
    ...more,
  };
  const receiver = await startReceiver(sqlQueryReceiver as ReceiverFactory, keys, intake, log.logger, signal);
  onTestFinished(() => receiver.stop());
  return { server, intake, receiver, seen: log.seen };
}

// biome-ignore lint/suspicious/noExplicitAny: trees are as deep as OTLP
type Tree = any;

function recordsOf(intake: TestIntake): Tree[] {
  return intake.batches.flatMap((batch) =>
    ((decodeTree(batch) as Tree).resourceLogs ?? []).flatMap((each: Tree) => each.scopeLogs[0].logRecords),
  );
}

function metricsOf(intake: TestIntake): Tree[] {
  const batch = intake.batches[0];
  return batch === undefined ? [] : (decodeTree(batch) as Tree).resourceMetrics[0].scopeMetrics[0].metrics;
}

const textsOf = (attributes: Tree[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }: Tree) => [key, value.stringValue]));

describe("the sql_query receiver with metrics", () => {
  const columns = [{ name: "n", type: 8 }, { name: "x", type: 5 }, "genre", "t"];
  const rows = [
    ["9223372036854775807", "1000000", "sci-fi", "1700000000000000001"],
    ["-2", "0.00001", "action", "1700000000000000002"],
  ];

  it("makes one metric of each row, with exact integers", async () => {
    const metric = { metric_name: "films", value_column: "n", attribute_columns: ["genre", "x"], unit: "{film}" };
    const query = { metrics: [{ ...metric, static_attributes: { db: "a" }, ts_column: "t" }] };
    const { intake } = await start(() => ({ columns, rows }), query, "metrics");
    await expect.poll(() => metricsOf(intake).length).toBe(2);
    const points = metricsOf(intake).map(({ gauge }) => gauge.dataPoints[0]);
    expect(points.map(({ asInt }) => BigInt(asInt))).toEqual([9223372036854775807n, -2n]);
    expect(points.map(({ timeUnixNano }) => BigInt(timeUnixNano))).toEqual([
      1700000000000000001n,
      1700000000000000002n,
    ]);
    expect(points.map(({ attributes }) => textsOf(attributes))).toEqual([
      { db: "a", genre: "sci-fi", x: "1e+06" },
      { db: "a", genre: "action", x: "1e-05" },
    ]);
  });

  it("makes sums, and chooses rows by their condition", async () => {
    const metric = { metric_name: "x", value_column: "x", value_type: "double", data_type: "sum", monotonic: true };
    const row_condition = { column: "genre", value: "action" };
    const query = { metrics: [{ ...metric, aggregation: "delta", row_condition, ts_column: "t" }] };
    const { intake } = await start(() => ({ columns, rows }), query, "metrics", { collection_interval: "1s" });
    await expect.poll(() => metricsOf(intake).length).toBe(1);
    const [{ sum }] = metricsOf(intake);
    expect(sum).toMatchObject({ isMonotonic: true, aggregationTemporality: 1 });
    expect(sum.dataPoints[0].asDouble).toBe(0.00001);
    expect(BigInt(sum.dataPoints[0].startTimeUnixNano)).toBe(1700000000000000002n - 1_000_000_000n);
  });

  it.each([
    ["the column n is NULL", [[null, "1", "a", "1"]]],
    ['the column n has "12.5", which is not of the type int', [["12.5", "1", "a", "1"]]],
    ['the column n has "9223372036854775808", which is not of the type int', [["9223372036854775808", "1", "a", "1"]]],
    ['the column n has "", which is not of the type int', [["", "1", "a", "1"]]],
    ['the column t has "2024-01-01", which is not a time in nanoseconds', [["1", "1", "a", "2024-01-01"]]],
  ])("leaves out a point without a usable value: %s", async (reason, bad) => {
    const good = ["7", "1", "b", "1"];
    const query = { metrics: [{ metric_name: "n", value_column: "n", ts_column: "t" }] };
    const text = ["n", "x", "genre", "t"];
    const { intake, seen } = await start(() => ({ columns: text, rows: [...bad, good] }), query, "metrics");
    await expect.poll(() => seen.join()).toContain(reason);
    await expect.poll(() => metricsOf(intake).length).toBe(1);
  });
});

describe("the sql_query receiver with logs", () => {
  const query = { logs: [{ body_column: "body", attribute_columns: ["id", "who"] }] };

  it("makes a record of each row, and leaves out what is NULL", async () => {
    const rows = [
      ["1", "hello", "ann"],
      ["2", null, Buffer.of(0x61, 0xff)],
    ];
    const answer = { columns: ["id", "body", "who"], rows };
    const { intake, seen } = await start(() => answer, query, "logs", { collection_interval: "1h" });
    await expect.poll(() => recordsOf(intake).length).toBe(2);
    const [first, second] = recordsOf(intake);
    expect([first.body.stringValue, textsOf(first.attributes)]).toEqual(["hello", { id: "1", who: "ann" }]);
    expect([second.body?.stringValue, textsOf(second.attributes)]).toEqual([undefined, { id: "2", who: "a\ufffd" }]);
    expect(seen.join()).toContain("the column body is NULL");
  });

  /** Rows with a greater id than the parameter, as the receiver sets it. */
  function table(last: () => number) {
    let parameter = "";
    return (statement: string): StatementAnswer => {
      const [, hex] = /@sluice_value = CONVERT\(x'(\w*)'/.exec(statement) ?? [];
      if (hex !== undefined) parameter = Buffer.from(hex, "hex").toString();
      if (!statement.startsWith("EXECUTE")) return { columns: ["v"], rows: [] };
      const ids = Array.from({ length: last() }, (_, i) => i + 1).filter((id) => id > Number(parameter));
      return { columns: ["id", "body", "who"], rows: ids.map((id) => [id, `body ${id}`, "ann"]) };
    };
  }
  const tracking = { ...query, sql: "SELECT * FROM t WHERE id > ?", tracking_column: "id", tracking_start_value: "2" };

  it("reads each row once, and goes on where it was after a restart", async () => {
    let last = 4;
    const offsets_directory = folder();
    const answer = table(() => last);
    const first = await start(answer, tracking, "logs", { offsets_directory });
    await expect.poll(() => recordsOf(first.intake).map(({ body }) => body.stringValue)).toEqual(["body 3", "body 4"]);
    last = 5;
    await expect.poll(() => recordsOf(first.intake).length).toBe(3);
    await first.receiver.stop();
    last = 6;
    const second = await start(answer, tracking, "logs", { offsets_directory });
    await expect.poll(() => recordsOf(second.intake).map(({ body }) => body.stringValue)).toEqual(["body 6"]);
  });

  it("reads rows again after a restart that nobody had accepted", async () => {
    const offsets_directory = folder();
    const answer = table(() => 5);
    const log = reasons();
    const server = await startProtocolServer({ answer });
    onTestFinished(() => server.close());
    const keys = { ...quick, driver: "mysql", datasource: `a@tcp(127.0.0.1:${server.port})/x`, offsets_directory };
    const config = { ...keys, queries: [tracking] };
    const refusing = { accept: async () => new Promise<never>(() => {}), reserve: () => true, release() {} };
    const hanging = await startReceiver(sqlQueryReceiver as ReceiverFactory, config, refusing as never, log.logger);
    await expect.poll(() => server.statements.length).toBeGreaterThan(3);
    void hanging.stop();
    const { intake } = await start(answer, tracking, "logs", { offsets_directory });
    await expect.poll(() => recordsOf(intake).length).toBe(3);
  });

  it("keeps the last value that is not NULL", async () => {
    const answer = (statement: string): StatementAnswer =>
      statement.startsWith("EXECUTE")
        ? {
            columns: ["id", "body", "who"],
            rows: [
              ["7", "a", "b"],
              [null, "c", "d"],
            ],
          }
        : { columns: ["v"], rows: [] };
    const { server } = await start(answer, tracking, "logs");
    await expect
      .poll(() => server.statements.filter((text) => text.includes(`x'${Buffer.from("7").toString("hex")}'`)).length)
      .toBeGreaterThan(1);
  });
});

describe("the sql_query receiver with a hostile server", () => {
  const query = { logs: [{ body_column: "body" }] };

  it.each<[string, StatementAnswer]>([
    ["there is no column body", { columns: ["other"], rows: [["x"]] }],
    ["malformed packet", { payloads: [Buffer.of(0xfe)] }],
    ["asked for a local file", { payloads: [Buffer.from("\xfb/etc/passwd", "latin1")] }],
    ["doesn't exist (1146, 42S02)", { code: 1146, state: "42S02", error: "Table 'rows' doesn't exist" }],
  ])("reports %s and goes on", async (reason, answer) => {
    let isBad = true;
    const give = () => (isBad ? answer : { columns: ["body"], rows: [["fine"]] });
    const { intake, seen } = await start(give, query, "logs");
    await expect.poll(() => seen.join()).toContain(reason);
    isBad = false;
    await expect.poll(() => recordsOf(intake).some(({ body }) => body?.stringValue === "fine")).toBe(true);
  });

  it("gives up a statement that takes too long, and goes on", async () => {
    let isSlow = true;
    const give = () => (isSlow ? undefined : { columns: ["body"], rows: [["fine"]] });
    const { intake, seen } = await start(give, query, "logs", { timeout: "50ms" });
    await expect.poll(() => seen.join()).toContain("not finished within 50 ms");
    isSlow = false;
    await expect.poll(() => recordsOf(intake).length).toBeGreaterThan(0);
  });

  it("uses no more connections than it may", async () => {
    const queries = [1, 2, 3].map((id) => ({ sql: `SELECT ${id}`, ...query }));
    const answer = () => ({ columns: ["body"], rows: [["fine"]] });
    const { server, intake } = await start(answer, query, "logs", { queries, max_open_conn: 1 });
    await expect.poll(() => recordsOf(intake).length).toBeGreaterThan(6);
    expect(server.connections).toBe(1);
  });
});

describe("the config of sql_query", () => {
  const parse = (keys: object) => () => {
    const queries = [{ sql: "SELECT 1", logs: [{ body_column: "a" }] }];
    return sqlQueryReceiver.schema.parse({ driver: "mysql", datasource: "u@tcp(h:1)/d", queries, ...keys });
  };

  it("refuses what the Collector refuses, and other drivers with advice", () => {
    expect(parse({})).not.toThrow();
    expect(parse({ driver: "oracle" })).toThrow("expected mysql or postgres; scrape an exporter");
    expect(parse({ host: "h" })).toThrow("beside datasource");
    expect(parse({ datasource: "" })).toThrow("or datasource instead");
    expect(parse({ queries: [] })).toThrow("at least one query");
    expect(parse({ queries: [{ sql: "SELECT 1" }] })).toThrow("metrics or logs");
    expect(parse({ datasource: "nonsense" })).toThrow("user:password@tcp(host:port)/database");
    expect(parse({ datasource: "u@tcp(h:1)/d?tls=mine" })).toThrow("skip-verify");
    const gauge = { metric_name: "a", value_column: "b", data_type: "gauge", aggregation: "delta" };
    expect(parse({ queries: [{ sql: "SELECT 1", metrics: [gauge] }] })).toThrow("a gauge is not aggregated");
  });

  const keys = { host: "", port: 0, database: "", username: "", additional_params: {} };
  it.each<[string, string, object]>([
    [
      "mysql",
      "ann:p@ss:w/rd@tcp(db:3307)/shop?parseTime=true",
      { host: "db", port: 3307, password: "p@ss:w/rd", database: "shop" },
    ],
    ["mysql", "/", { host: "127.0.0.1", port: 3306, username: "", database: "" }],
    ["mysql", "ann@unix(/run/mysql.sock)/shop", { host: "/run/mysql.sock", username: "ann", password: "" }],
    ["mysql", "ann@tcp([::1]:3306)/shop", { host: "::1", port: 3306 }],
    ["postgres", "host=db port=5433 user=ann password='it''s' dbname=shop", "expected host="],
    [
      "postgres",
      "host=db user=ann password='a \\' b' dbname=shop sslmode=disable",
      { host: "db", port: 5432, password: "a ' b" },
    ],
    [
      "postgres",
      "postgres://ann:p%40ss@db:5433/shop?sslmode=verify-full",
      { host: "db", port: 5433, password: "p@ss", database: "shop" },
    ],
    ["postgres", "postgresql:///shop?host=/run/postgresql", { host: "/run/postgresql", database: "shop" }],
  ] as never)("reads the address %s %s", (driver, datasource, expected) => {
    const read = () => dataSourceOf({ ...keys, driver, datasource });
    if (typeof expected === "string") expect(read).toThrow(expected);
    else expect(read()).toMatchObject(expected);
  });
});

describe("values as the Collector writes them", () => {
  it.each([
    ["1000000", "1e+06"],
    ["123456789", "1.23456789e+08"],
    ["100000", "100000"],
    ["0.0001", "0.0001"],
    ["0.00001", "1e-05"],
    ["1e20", "1e+20"],
    ["1e400", "+Inf"],
    ["-0.5", "-0.5"],
    ["none", "none"],
  ])("prints the double %s as %s", (text, printed) => expect(doubleText(text)).toBe(printed));

  it.each([
    ["2024-01-02 03:04:05", "2024-01-02T03:04:05Z"],
    ["2024-01-02 03:04:05.120000", "2024-01-02T03:04:05.12Z"],
    ["2024-01-02 03:04:05+00", "2024-01-02T03:04:05Z"],
    ["2024-01-02 03:04:05.5+05:30", "2024-01-02T03:04:05.5+05:30"],
    ["2024-01-02 03:04:05-08", "2024-01-02T03:04:05-08:00"],
    ["2024-01-02", "2024-01-02T00:00:00Z"],
    ["03:04:05", "0000-01-01T03:04:05Z"],
    ["0000-00-00 00:00:00", "0001-01-01T00:00:00Z"],
    ["infinity", "infinity"],
    ["", ""],
  ])("prints the time %s as %s", (text, printed) => expect(timeText(text)).toBe(printed));

  it("prints integers without leading zeros", () => {
    expect(["00042", "0", "-7", "x"].map(integerText)).toEqual(["42", "0", "-7", "x"]);
  });
});

describe("the sql_query receiver as a receiver", () => {
  let port = 0;
  const path = mkdtempSync(join(tmpdir(), "sluice-sql-"));
  beforeAll(async () => {
    const server = await startProtocolServer({ answer: () => ({ columns: ["n", "body"], rows: [["1", "hello"]] }) });
    port = server.port;
    return () => {
      server.close();
      rmSync(path, { recursive: true, force: true });
    };
  });
  const config = () => ({
    ...quick,
    driver: "mysql",
    datasource: `ann@tcp(127.0.0.1:${port})/shop`,
    offsets_directory: path,
    queries: [{ sql: "SELECT 1", metrics: [{ metric_name: "n", value_column: "n" }], logs: [{ body_column: "body" }] }],
  });
  for (const { name, run } of receiverConformance(sqlQueryReceiver as ReceiverFactory, { config, patienceMs }))
    it(name, run);
});
