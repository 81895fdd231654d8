import { beforeAll, describe, expect, it } from "vitest";
import { TLS_FILES } from "../../runtime/net/tls/files.js";
import { type MariaDb, mariadbProgram, startMariaDb } from "../../support/servers/mariadb.js";
import { pointsOf, reasons, resourceAttributes, startMysqlReceiver } from "./mysql-points.js";

const on = { enabled: true };

describe.skipIf(mariadbProgram === undefined)("the mysql receiver with a real MariaDB", () => {
  let server: MariaDb;
  beforeAll(async () => {
    const options = ["--performance-schema=ON", "--ssl-cert=../server.crt", "--ssl-key=../server.key"];
    const files = { "server.crt": TLS_FILES.serverCert, "server.key": TLS_FILES.serverKey };
    server = await startMariaDb(options, files);
    await server.run(
      "CREATE DATABASE shop",
      "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50), KEY by_name (name)) ENGINE=InnoDB",
      "USE shop",
      "INSERT INTO orders (name) VALUES ('a'), ('b'), ('c')",
      "ANALYZE TABLE shop.orders",
      "CREATE USER watcher@127.0.0.1 IDENTIFIED BY 's3cret'",
      "GRANT PROCESS, SLAVE MONITOR ON *.* TO watcher@127.0.0.1",
      "GRANT SELECT ON *.* TO watcher@127.0.0.1",
    );
    return () => server.close();
  });
  const keys = () => ({ endpoint: server.endpoint, username: "watcher", password: "s3cret" });

  it("gives the numbers of the server, its tables, indexes and statements", async () => {
    const metrics = Object.fromEntries(
      [
        "table.rows",
        "table.size",
        "query.count",
        "statement_event.count",
        "table.lock_wait.write.count",
        "page_size",
      ].map((name) => [`mysql.${name}`, on]),
    );
    const resource_attributes = { "db.system.name": on, "db.system.version": on };
    const intake = await startMysqlReceiver({ ...keys(), metrics, resource_attributes });
    const orders = { table: "orders", schema: "shop" };
    await expect.poll(() => pointsOf(intake, "mysql.table.rows")).toContainEqual([3, orders]);
    expect(pointsOf(intake, "mysql.table.io.wait.count")).toContainEqual([3, { ...orders, operation: "insert" }]);
    expect(pointsOf(intake, "mysql.index.io.wait.count")).toContainEqual([
      ...[0, { ...orders, index: "by_name", operation: "delete" }],
    ]);
    const insert = pointsOf(intake, "mysql.statement_event.count").find(
      ([, { digest_text, kind }]) => digest_text?.startsWith("INSERT INTO `orders`") && kind === "rows_affected",
    );
    expect(insert?.[0]).toBe(3);
    expect(pointsOf(intake, "mysql.buffer_pool.limit")).toEqual([[8 * 1024 * 1024, {}]]);
    expect(pointsOf(intake, "mysql.page_size")).toEqual([[16_384, {}]]);
    expect(pointsOf(intake, "mysql.threads").length).toBe(4);
    expect(pointsOf(intake, "mysql.handlers").length).toBeGreaterThanOrEqual(17);
    await expect.poll(() => pointsOf(intake, "mysql.uptime")[0]![0]).toBeGreaterThan(0);
    expect(resourceAttributes(intake)).toEqual({
      "mysql.instance.endpoint": server.endpoint,
      "service.instance.id": expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      "db.system.name": "mariadb",
      "db.system.version": expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });

  it("connects over TLS and over a socket", async () => {
    await server.run("CREATE USER secure@127.0.0.1 IDENTIFIED BY 's3cret' REQUIRE SSL");
    const user = { ...keys(), username: "secure" };
    const plain = reasons();
    await startMysqlReceiver(user, plain.logger);
    await expect.poll(() => plain.seen.join()).toContain("Access denied");
    const tls = { ca_file: TLS_FILES.ca, server_name_override: "localhost" };
    const secure = await startMysqlReceiver({ ...user, tls });
    await expect.poll(() => secure.batches.length).toBeGreaterThan(0);
    const socket = await startMysqlReceiver({ endpoint: server.socket, transport: "unix" });
    await expect.poll(() => socket.batches.length).toBeGreaterThan(0);
  });

  it("reports a wrong password, and goes on trying", async () => {
    const { logger, seen } = reasons();
    const intake = await startMysqlReceiver({ ...keys(), password: "wrong" }, logger);
    await expect.poll(() => seen.join()).toMatch(/Access denied for user 'watcher'.*\(1045, 28000\)/);
    expect(intake.batches).toEqual([]);
  });

  it("tells of replicas, and leaves out what the user may not see", async () => {
    await server.run("CREATE USER IF NOT EXISTS poor@127.0.0.1 IDENTIFIED BY 's3cret'");
    const { logger, seen } = reasons();
    const metrics = { "mysql.replica.sql_delay": on };
    const poor = await startMysqlReceiver({ ...keys(), username: "poor", metrics }, logger);
    await expect.poll(() => seen.join("\n")).toMatch(/SELECT command denied/);
    await expect.poll(() => pointsOf(poor, "mysql.handlers").length).toBeGreaterThan(0);
    expect(pointsOf(poor, "mysql.table.io.wait.count")).toEqual([]);
    await server.run("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x', MASTER_DELAY=5");
    const replica = { "mysql.replica.sql_delay": on, "mysql.replica.thread.running": on };
    const intake = await startMysqlReceiver({ ...keys(), metrics: replica });
    await expect.poll(() => pointsOf(intake, "mysql.replica.sql_delay")).toEqual([[5, {}]]);
    expect(pointsOf(intake, "mysql.replica.thread.running")).toEqual(
      ["io", "sql"].map((type) => [0, { "mysql.replica.thread.type": type, "mysql.replica.channel.name": "" }]),
    );
  });

  it("measures again after the server was away", async () => {
    const intake = await startMysqlReceiver(keys());
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    await server.server.kill();
    const before = intake.batches.length;
    await server.server.start();
    await expect.poll(() => intake.batches.length).toBeGreaterThan(before + 1);
  });
});
