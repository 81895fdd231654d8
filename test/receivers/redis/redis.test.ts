import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory } from "../../../src/plugin.js";
import { redisReceiver } from "../../../src/receivers/redis/component.js";
import type { Logger } from "../../../src/runtime/contract/observability.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { type RedisServer, redisProgram, startRedis } from "../../support/servers/redis.js";
import { startReceiver } from "../started-receiver.js";

const quick = { collection_interval: "20ms", initial_delay: 0 };

async function start(config: object, logger: Logger = silentLogger): Promise<TestIntake> {
  const intake = new TestIntake();
  const receiver = await startReceiver(
    redisReceiver as ReceiverFactory,
    { ...quick, ...config },
    intake,
    logger,
    "metrics",
  );
  onTestFinished(() => receiver.stop());
  return intake;
}

interface Resource {
  resource: { attributes: { key: string; value: { stringValue: string } }[] };
  scopeMetrics: { metrics: Record<string, unknown>[] }[];
}

function resourceOf(intake: TestIntake): Resource | undefined {
  const batch = intake.batches.at(-1);
  return batch && (decodeTree(batch) as unknown as { resourceMetrics: Resource[] }).resourceMetrics[0];
}

/** The points of a metric, as [value, attributes]. */
function pointsOf(intake: TestIntake, name: string): [number, Record<string, string>][] {
  const metric = resourceOf(intake)?.scopeMetrics[0]?.metrics.find((each) => each["name"] === name);
  const data = (metric?.["sum"] ?? metric?.["gauge"]) as { dataPoints: Record<string, unknown>[] } | undefined;
  return (data?.dataPoints ?? []).map((point) => {
    const attributes = (point["attributes"] ?? []) as { key: string; value: { stringValue: string } }[];
    return [
      Number(point["asInt"] ?? point["asDouble"]),
      Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
    ];
  });
}

/** A logger that keeps the reasons. */
function reasons(): { logger: Logger; seen: string[] } {
  const seen: string[] = [];
  const warn = (details: object) => void seen.push(String((details as { reason?: string }).reason));
  return { logger: { ...silentLogger, warn } as Logger, seen };
}

describe.skipIf(redisProgram === undefined)("the redis receiver with a real server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis(["--requirepass", "s3cret"]);
    return () => server.close();
  });

  it("gives the numbers of INFO, with databases, commands and the version", async () => {
    const { Redis } = await import("ioredis");
    const client = new Redis({ port: server.port, password: "s3cret" });
    onTestFinished(() => client.disconnect());
    await client.mset("a", "1", "b", "2");
    await client.expire("a", 1000);
    const on = { enabled: true };
    const intake = await start({
      endpoint: server.endpoint,
      password: "s3cret",
      metrics: { "redis.cmd.calls": on, "redis.role": on, "redis.mode": on, "redis.memory.lua": { enabled: false } },
      resource_attributes: { "server.port": on },
    });
    await expect.poll(() => pointsOf(intake, "redis.db.keys")).toEqual([[2, { db: "0" }]]);
    expect(pointsOf(intake, "redis.db.expires")).toEqual([[1, { db: "0" }]]);
    expect(pointsOf(intake, "redis.cpu.time").length).toBeGreaterThanOrEqual(4);
    expect(pointsOf(intake, "redis.cmd.calls").map(([, { cmd }]) => cmd)).toContain("mset");
    expect(pointsOf(intake, "redis.role")).toEqual([[1, { role: "primary" }]]);
    expect(pointsOf(intake, "redis.mode")).toEqual([[1, { mode: "standalone" }]]);
    expect(pointsOf(intake, "redis.memory.used")[0]![0]).toBeGreaterThan(100_000);
    expect(pointsOf(intake, "redis.memory.lua")).toEqual([]);
    const keys = resourceOf(intake)!.resource.attributes.map(({ key, value }) => [key, value.stringValue]);
    expect(Object.fromEntries(keys)).toEqual({
      "redis.version": expect.stringMatching(/^\d+\.\d+/),
      "server.port": String(server.port),
    });
  });

  it("says what the server says to a wrong password, and goes on trying", async () => {
    const { logger, seen } = reasons();
    const intake = await start({ endpoint: server.endpoint, password: "wrong" }, logger);
    await expect.poll(() => seen.join()).toMatch(/WRONGPASS|invalid password/);
    expect(seen.join()).not.toContain('wrong"');
    expect(intake.batches).toEqual([]);
  });

  it("measures again after the server was away", async () => {
    const intake = await start({ endpoint: server.endpoint, password: "s3cret" });
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    await server.server.kill();
    const before = intake.batches.length;
    await server.server.start();
    await expect.poll(() => intake.batches.length).toBeGreaterThan(before + 1);
  });
});

describe("the redis receiver", () => {
  let hostile: Server;
  let answer = "";
  beforeAll(async () => {
    hostile = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => socket.write(answer));
    });
    await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => void hostile.close());
  const endpoint = () => `127.0.0.1:${(hostile.address() as { port: number }).port}`;

  it.each([
    ["HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak Redis's protocol"],
    ["$99999999999\r\n", "the reply is not text"],
    [`+${"x".repeat(5_000_000)}`, "the reply is too long"],
    ["$3\r\nabc\r\n", "uptime_in_seconds"],
    ["-ERR no\r\n", "the server says: ERR no"],
  ])("survives a hostile server, $1", async (text, reason) => {
    answer = text;
    const { logger, seen } = reasons();
    const intake = await start({ endpoint: endpoint() }, logger);
    await expect.poll(() => seen.join()).toContain(reason);
    expect(intake.batches).toEqual([]);
  });

  it("ends a collection that takes too long", async () => {
    answer = "";
    const { logger, seen } = reasons();
    await start({ endpoint: endpoint(), timeout: "20ms" }, logger);
    await expect.poll(() => seen.join()).toContain("not finished within 20 ms");
  });

  it("refuses keys and addresses that make no sense", () => {
    const parse = (config: object) => () => redisReceiver.schema.parse(config);
    expect(parse({ endpoint: "localhost" })).toThrow("host:port");
    expect(parse({ endpoint: "localhost:6379", transport: "unix" })).toThrow("path of a socket");
    expect(parse({ passwort: "x" })).toThrow("passwort");
  });
});

describe("the redis receiver as a receiver", () => {
  const info = "uptime_in_seconds:10\r\nconnected_clients:2\r\n";
  const reply = `$${info.length}\r\n${info}\r\n`;
  let server: Server;
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => socket.write(reply));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => void server.close());
  const config = () => ({ endpoint: `127.0.0.1:${(server.address() as { port: number }).port}`, ...quick });
  for (const { name, run } of receiverConformance(redisReceiver as ReceiverFactory, { config, patienceMs }))
    it(name, run);
});
