import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory, type Signal } from "../../../src/plugin.js";
import { sqlQueryReceiver } from "../../../src/receivers/sql-query/component.js";
import { TestIntake } from "../../../src/testing.js";
import { type MariaDb, mariadbProgram, startMariaDb } from "../../support/servers/mariadb.js";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { reasons } from "../mysql/mysql-points.js";
import { startReceiver } from "../started-receiver.js";

async function start(config: object, signal: Signal = "logs", log = reasons()) {
  const intake = new TestIntake();
  const keys = { collection_interval: "20ms", initial_delay: 0, ...config };
  const receiver = await startReceiver(sqlQueryReceiver as ReceiverFactory, keys, intake, log.logger, signal);
  onTestFinished(() => receiver.stop());
  return { intake, receiver, seen: log.seen };
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "sluice-sql-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

// biome-ignore lint/suspicious/noExplicitAny: trees are as deep as OTLP
type Tree = any;

/** Bodies and attributes of the records. */
function recordsOf(intake: TestIntake): [string, Record<string, string>][] {
  return intake.batches.flatMap((batch) =>
    ((decodeTree(batch) as Tree).resourceLogs ?? []).flatMap((each: Tree) =>
      each.scopeLogs[0].logRecords.map(({ body, attributes = [] }: Tree) => [
        body?.stringValue,
        Object.fromEntries(attributes.map(({ key, value }: Tree) => [key, value.stringValue])),
      ]),
    ),
  );
}

const bodies = (intake: TestIntake) => recordsOf(intake).map(([body]) => body);

describe.skipIf(mariadbProgram === undefined)("the sql_query receiver with a real MariaDB", () => {
  let server: MariaDb;
  beforeAll(async () => {
    server = await startMariaDb();
    await server.run(
      "CREATE DATABASE shop CHARACTER SET latin1",
      "USE shop",
      "CREATE TABLE audit (id BIGINT UNSIGNED PRIMARY KEY, body TEXT, z INT(5) ZEROFILL, d DOUBLE, t DATETIME(6), b VARBINARY(9))",
      "INSERT INTO audit VALUES (1, 'één', 42, 1e6, '2024-01-02 03:04:05.5', x'ff'), (18446744073709551615, 'b', NULL, NULL, NULL, NULL)",
      "CREATE USER watcher@127.0.0.1 IDENTIFIED BY 's3cret'",
      "GRANT ALL ON *.* TO watcher@127.0.0.1",
    );
    return () => server.close();
  });
  const source = (more = "") => ({ driver: "mysql", datasource: `watcher:s3cret@tcp(${server.endpoint})/shop${more}` });
  const query = {
    sql: "SELECT * FROM audit WHERE id > ? ORDER BY id",
    tracking_column: "id",
    tracking_start_value: "0",
  };

  it("gives values of all types as the Collector does, and follows the tracking column", async () => {
    const logs = [{ body_column: "body", attribute_columns: ["id", "z", "d", "t", "b"] }];
    const keys = { ...source(), offsets_directory: folder(), queries: [{ ...query, logs, ignore_null_values: true }] };
    const { intake } = await start(keys);
    await expect
      .poll(() => recordsOf(intake))
      .toEqual([
        ["één", { id: "1", z: "42", d: "1e+06", t: "2024-01-02 03:04:05.500000", b: "\ufffd" }],
        ["b", { id: "18446744073709551615" }],
      ]);
  });

  it("reads new rows only, also after a restart and while the server was away", async () => {
    await server.run("CREATE TABLE shop.lines (id INT PRIMARY KEY AUTO_INCREMENT, body TEXT)");
    const insert = (body: string) => server.run(`INSERT INTO shop.lines (body) VALUES ('${body}')`);
    await insert("a");
    const sql = "SELECT * FROM lines WHERE id > ? ORDER BY id";
    const queries = [{ ...query, sql: sql.replace("lines", "`lines`"), logs: [{ body_column: "body" }] }];
    const keys = { ...source("?parseTime=true&sql_mode=ANSI"), offsets_directory: folder(), queries };
    const first = await start(keys);
    await expect.poll(() => bodies(first.intake)).toEqual(["a"]);
    await server.server.kill();
    await server.server.start();
    await insert("b");
    await expect.poll(() => bodies(first.intake)).toEqual(["a", "b"]);
    await first.receiver.stop();
    await insert("c");
    const second = await start(keys);
    await expect.poll(() => bodies(second.intake)).toEqual(["c"]);
  });

  it("reports a statement that the server refuses", async () => {
    const queries = [{ sql: "SELECT nonsense", logs: [{ body_column: "a" }] }];
    const { seen } = await start({ ...source(), offsets_directory: folder(), queries });
    await expect.poll(() => seen.join()).toContain("Unknown column 'nonsense'");
  });
});

describe.skipIf(postgresProgram === undefined)("the sql_query receiver with a real PostgreSQL", () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
    const client = await server.connect();
    await client.query(
      "CREATE TABLE audit (id bigint PRIMARY KEY, body text, f bool, d float8, t timestamptz, b bytea, n numeric)",
    );
    await client.query("SET timezone = 'UTC'");
    await client.query(
      "INSERT INTO audit VALUES (1, 'one', true, 1e6, '2024-01-02 03:04:05.5+00', '\\x6162', 1.50), (2, 'two', NULL, 'NaN', 'infinity', NULL, NULL)",
    );
    return () => server.close();
  });
  const source = () => ({
    driver: "postgres",
    datasource: `host=127.0.0.1 port=${server.port} user=sluice dbname=postgres sslmode=disable TimeZone=UTC`,
  });
  const sql = "SELECT * FROM audit WHERE id > $1 ORDER BY id";
  const query = { sql, tracking_column: "id", tracking_start_value: "0", ignore_null_values: true };

  it("gives values of all types as the Collector does, and follows the tracking column", async () => {
    const logs = [{ body_column: "body", attribute_columns: ["id", "f", "d", "t", "b", "n"] }];
    const { intake, receiver } = await start({
      ...source(),
      offsets_directory: folder(),
      queries: [{ ...query, logs }],
    });
    await expect
      .poll(() => recordsOf(intake))
      .toEqual([
        ["one", { id: "1", f: "true", d: "1e+06", t: "2024-01-02T03:04:05.5Z", b: "ab", n: "1.50" }],
        ["two", { id: "2", d: "NaN", t: "infinity" }],
      ]);
    await receiver.stop();
  });

  it("makes metrics, and goes on after the server was away", async () => {
    const metrics = [{ metric_name: "rows", value_column: "count" }];
    const { host, port, database, username } = {
      host: "127.0.0.1",
      port: server.port,
      database: "postgres",
      username: "sluice",
    };
    const keys = { driver: "postgres", host, port, database, username, additional_params: { sslmode: "disable" } };
    const { intake } = await start({ ...keys, queries: [{ sql: "SELECT count(*) FROM audit", metrics }] }, "metrics");
    await expect.poll(() => intake.batches.length).toBeGreaterThan(1);
    await server.server.kill();
    const before = intake.batches.length;
    await server.server.start();
    await expect.poll(() => intake.batches.length).toBeGreaterThan(before + 1);
  });

  it("gives up a statement that takes too long, and refuses a result that is too large", async () => {
    const logs = [{ body_column: "body" }];
    const slow = await start({
      ...source(),
      timeout: "100ms",
      offsets_directory: folder(),
      queries: [{ sql: "SELECT pg_sleep(100), 'x' AS body", logs }],
    });
    await expect.poll(() => slow.seen.join()).toContain("not finished within 100 ms");
    const sql = "SELECT repeat('x', 1000000) AS body FROM generate_series(1, 100)";
    const large = await start({
      ...source(),
      offsets_directory: folder(),
      collection_interval: "1h",
      queries: [{ sql, logs }],
    });
    await expect.poll(() => large.seen.join()).toContain("limit it, as with LIMIT");
    expect(large.intake.batches).toEqual([]);
  });
});
