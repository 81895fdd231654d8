import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redisStreamExporter } from "../../../src/exporters/redis-stream/component.js";
import { Batch } from "../../../src/plugin.js";
import type { Exporter } from "../../../src/runtime/contract/exporter.js";
import { exporterConformance, type TestBackend } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../../support/limits.js";
import { type RedisServer, redisProgram, startRedis } from "../../support/servers/redis.js";
import { logs } from "../../support/telemetry/batches.js";
import { never, refusalOf, startExporter } from "../harness.js";

describe.skipIf(redisProgram === undefined)("the redis_stream exporter", () => {
  let server: RedisServer;
  let redis: Redis;
  let names = 0;
  const started: Exporter[] = [];

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis({ port: server.port, retryStrategy: () => 20 });
    redis.on("error", () => {});
  });

  afterAll(async () => {
    for (const exporter of started) await exporter.stop?.();
    redis?.disconnect();
    await server?.close();
  });

  async function start(more: object = {}) {
    const stream = `s${names++}`;
    const exporter = await startExporter(redisStreamExporter, { endpoint: server.endpoint, logs: { stream }, ...more });
    started.push(exporter);
    return { stream, exporter };
  }

  const stored = async (stream: string) =>
    (await redis.xrangeBuffer(stream, "-", "+")).map(([, fields]) => fields.map((field) => Buffer.from(field)));

  it("adds a batch with its headers, and once when it is sent twice within the window", async () => {
    const { stream, exporter } = await start();
    const batch = logs("a", "b");
    for (let i = 0; i < 2; i++) {
      await exporter.send(batch, never, { idempotencyKey: "q-1", replayed: { id: "d-7", attempt: 2 } });
    }
    const [[name, body, ...headers], ...more] = (await stored(stream)) as [[Buffer, Buffer, ...Buffer[]]];
    expect(more).toEqual([]);
    expect([name.toString(), body.equals(batch.bytes)]).toEqual(["body", true]);
    expect(headers.map(String)).toEqual([
      "x-idempotency-key",
      "q-1",
      "x-replayed",
      "true",
      "x-original-id",
      "d-7",
      "x-replay-attempt",
      "2",
    ]);
  });

  it("adds an entry for each record in text, json and raw, and again without a window", async () => {
    const { exporter, stream } = await start({ logs: { stream: "texts", encoding: "text" }, dedup_window: "0s" });
    for (let i = 0; i < 2; i++) await exporter.send(logs("one", "two"), never, { idempotencyKey: "q-2" });
    expect(stream).toBeDefined();
    expect((await stored("texts")).map((fields) => String(fields[1]))).toEqual(["one", "two", "one", "two"]);
  });

  it("refuses for now what the server rejects, with its error word", async () => {
    await redis.set("taken", "text");
    const { exporter } = await start({ logs: { stream: "taken" } });
    expect(await refusalOf(exporter.send(logs("a"), never))).toMatchObject({ kind: "transient", status: "WRONGTYPE" });
    await redis.config("SET", "maxmemory", "1");
    expect(await refusalOf(exporter.send(logs("a"), never, { idempotencyKey: "k" }))).toMatchObject({
      kind: "transient",
      status: "OOM",
    });
    await redis.config("SET", "maxmemory", "0");
  });

  it("refuses for now while the server is down or silent, and delivers when it is back", async () => {
    const { exporter, stream } = await start();
    server.server.pause();
    const abort = new AbortController();
    const refused = refusalOf(exporter.send(logs("a"), abort.signal));
    abort.abort();
    expect(await refused).toMatchObject({ kind: "transient", code: "SLUICE_ABORTED" });
    await server.server.kill();
    await expect
      .poll(async () => (await refusalOf(exporter.send(logs("b"), never))).message)
      .toContain("not connected");
    await expect(exporter.check!(never)).rejects.toThrow("not connected");
    await server.server.start();
    await expect
      .poll(() =>
        exporter.send(logs("c"), never).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    // It is unknown whether the server received the requests that it did not answer.
    await expect
      .poll(() =>
        stored(stream).then(
          (entries) => Buffer.from(logs("c").bytes).equals(entries.at(-1)![1]!),
          () => false,
        ),
      )
      .toBe(true);
  });

  describe("fulfils the contract", () => {
    const backend = async (): Promise<TestBackend> => {
      const stream = `s${names++}`;
      return {
        config: { endpoint: server.endpoint, logs: { stream } },
        taken: async () => (await stored(stream)).map((fields) => Batch.admit("logs", fields[1]!)),
      };
    };
    const options = { backend, signals: ["logs"], patienceMs: CONDITION_LIMIT_MS } as const;
    for (const { name, run } of exporterConformance(redisStreamExporter, options)) it(name, run);
  });
});
