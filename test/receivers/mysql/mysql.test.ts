import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { ReceiverFactory } from "../../../src/plugin.js";
import { mysqlReceiver } from "../../../src/receivers/mysql/component.js";
import { receiverConformance } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import {
  type ProtocolServer,
  type StatementAnswer,
  startProtocolServer,
} from "../../support/servers/mysql-protocol.js";
import { pointsOf, quick, reasons, resourceAttributes, resourceOf, startMysqlReceiver } from "./mysql-points.js";

const STATUS = {
  Uptime: "10",
  Handler_commit: "3",
  Innodb_buffer_pool_pages_dirty: "2",
  Innodb_buffer_pool_pages_data: "7",
};

function statusOf(variables: Readonly<Record<string, unknown>>): StatementAnswer {
  return { columns: ["Variable_name", "Value"], rows: Object.entries(variables) };
}

/** A server whose status has these variables, and that has nothing else. */
async function start(answer: (statement: string) => StatementAnswer, version?: string): Promise<ProtocolServer> {
  const settings = { answer, ...(version !== undefined && { version }) };
  const server = await startProtocolServer(settings);
  onTestFinished(() => server.close());
  return server;
}

const nothing: StatementAnswer = { columns: ["COUNT"], rows: [] };
const withStatus = (variables: Readonly<Record<string, unknown>>) => (statement: string) =>
  statement === "SHOW GLOBAL STATUS" ? statusOf(variables) : nothing;
const endpointOf = ({ port }: ProtocolServer) => `127.0.0.1:${port}`;

describe("the mysql receiver", () => {
  it("makes metrics of status variables, and begins counters with the server's start", async () => {
    const intake = await startMysqlReceiver({ endpoint: endpointOf(await start(withStatus(STATUS))) });
    await expect.poll(() => pointsOf(intake, "mysql.handlers")).toEqual([[3, { kind: "commit" }]]);
    expect(pointsOf(intake, "mysql.buffer_pool.data_pages")).toEqual([
      [2, { status: "dirty" }],
      [5, { status: "clean" }],
    ]);
    const [uptime] = resourceOf(intake)!.scopeMetrics[0]!.metrics.filter(({ name }) => name === "mysql.uptime");
    const [point] = (uptime!["sum"] as { dataPoints: { startTimeUnixNano: bigint; timeUnixNano: bigint }[] })
      .dataPoints;
    expect(BigInt(point!.timeUnixNano) - BigInt(point!.startTimeUnixNano)).toBe(10_000_000_000n);
  });

  it("leaves out values that are no numbers or do not fit", async () => {
    const variables = { ...STATUS, Handler_commit: "18446744073709551615", Handler_write: "ON", Handler_update: "" };
    const more = { Handler_delete: "-1e999", Handler_prepare: null, Handler_rollback: Buffer.of(0xff, 0xfe) };
    const answer = withStatus({ ...variables, ...more, Handler_savepoint: "9007199254740993" });
    const intake = await startMysqlReceiver({ endpoint: endpointOf(await start(answer)) });
    await expect
      .poll(() => pointsOf(intake, "mysql.handlers"))
      .toEqual([[Number("9007199254740993"), { kind: "savepoint" }]]);
  });

  it.each([
    ["8.4.2", "SHOW REPLICA STATUS", "mysql", "8.4.2"],
    ["8.0.21-log", "SHOW SLAVE STATUS", "mysql", "8.0.21"],
    ["5.5.5-10.6.14-MariaDB-1:10.6.14", "SHOW SLAVE STATUS", "mariadb", "10.6.14"],
  ])("knows the statement and the names of version %s", async (version, statement, system, number) => {
    const server = await start(withStatus(STATUS), version);
    const on = { enabled: true };
    const intake = await startMysqlReceiver({
      endpoint: endpointOf(server),
      metrics: { "mysql.replica.sql_delay": on },
      resource_attributes: {
        "db.system.name": on,
        "db.system.version": on,
        "service.name": { ...on, override_value: "db" },
      },
    });
    await expect.poll(() => server.statements).toContain(statement);
    await expect
      .poll(() => resourceAttributes(intake))
      .toMatchObject({
        "db.system.name": system,
        "db.system.version": number,
        "service.name": "db",
      });
  });

  it("asks only for what is wanted", async () => {
    const server = await start(withStatus(STATUS));
    const off = Object.fromEntries(
      [
        "table.io.wait.count",
        "table.io.wait.time",
        "index.io.wait.count",
        "index.io.wait.time",
        "buffer_pool.limit",
      ].map((name) => [`mysql.${name}`, { enabled: false }]),
    );
    const intake = await startMysqlReceiver({ endpoint: endpointOf(server), metrics: off });
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    expect([...new Set(server.statements)]).toEqual(["SHOW GLOBAL STATUS"]);
  });

  it.each<[string, StatementAnswer]>([
    ["malformed packet", { payloads: [Buffer.of(0xfe)] }],
    ["asked for a local file", { payloads: [Buffer.from("\xfb/etc/passwd", "latin1")] }],
    [
      "more than 67108864 bytes",
      {
        bytes: Buffer.concat(
          [1, 2, 3, 4, 5].map((n) => Buffer.concat([Buffer.of(0xff, 0xff, 0xff, n), Buffer.alloc(0xffffff)])),
        ),
      },
    ],
    ["reports no Uptime", statusOf({ Uptime: "never" })],
    ["malformed packet", { columns: [], rows: [] }],
    ["You need SUPER (1227, 42000)", { code: 1227, state: "42000", error: "You need SUPER" }],
  ])("survives a hostile server: %s", async (reason, answer) => {
    const { logger, seen } = reasons();
    const intake = await startMysqlReceiver({ endpoint: endpointOf(await start(() => answer)) }, logger);
    await expect.poll(() => seen.join()).toContain(reason);
    expect(intake.batches).toEqual([]);
  });

  it("hands in what was measured when the time is up", async () => {
    const server = await start((statement) => (statement.startsWith("SHOW") ? statusOf(STATUS) : undefined));
    const { logger, seen } = reasons();
    const intake = await startMysqlReceiver({ endpoint: endpointOf(server), timeout: "100ms" }, logger);
    await expect.poll(() => pointsOf(intake, "mysql.handlers")).toEqual([[3, { kind: "commit" }]]);
    await expect.poll(() => seen.join()).toContain("not finished within 100 ms");
  });

  it("keeps its connection between collections", async () => {
    const server = await start(withStatus(STATUS));
    const intake = await startMysqlReceiver({ endpoint: endpointOf(server) });
    await expect.poll(() => intake.batches.length).toBeGreaterThan(3);
    expect(server.connections).toBe(1);
  });

  it("refuses keys and addresses that make no sense", () => {
    const parse = (config: object) => () => mysqlReceiver.schema.parse(config);
    expect(parse({ endpoint: "localhost" })).toThrow("host:port");
    expect(parse({ endpoint: "localhost:3306", transport: "unix" })).toThrow("path of a socket");
    expect(parse({ passwort: "x" })).toThrow("passwort");
    expect(parse({ statement_events: { limit: -1 } })).toThrow("limit");
  });
});

describe("the mysql receiver as a receiver", () => {
  let server: ProtocolServer;
  beforeAll(async () => {
    server = await startProtocolServer({ answer: withStatus(STATUS) });
    return () => server.close();
  });
  const config = () => ({ endpoint: endpointOf(server), ...quick });
  for (const { name, run } of receiverConformance(mysqlReceiver as ReceiverFactory, { config, patienceMs }))
    it(name, run);
});
