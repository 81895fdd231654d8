import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { awsSqsExporter } from "../../../src/exporters/aws-sqs/component.js";
import { Batch } from "../../../src/plugin.js";
import type { Exporter } from "../../../src/runtime/contract/exporter.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { exporterConformance, logs as testLogs } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../../support/limits.js";
import { SQS_SERVERS, type SqsServer, SqsTester, sqsEnvironment } from "../../support/servers/sqs.js";
import { logs } from "../../support/telemetry/batches.js";
import { never, refusalOf, startExporter } from "../harness.js";

// biome-ignore lint/suspicious/noExplicitAny: messages are JSON of many shapes
const value = (message: Record<string, any>, name: string) => message["MessageAttributes"]?.[name]?.StringValue;

describe.each(SQS_SERVERS)("the exporter aws_sqs with %s", (_name, startServer) => {
  let server: SqsServer;
  let sqs: SqsTester;
  let names = 0;
  const started: Exporter[] = [];

  beforeAll(async () => {
    useEnvironment(sqsEnvironment);
    server = await startServer();
    sqs = new SqsTester(server.endpoint);
  });

  afterAll(async () => {
    for (const exporter of started) await exporter.stop?.();
    await server?.close();
    useEnvironment({});
  });

  async function newQueue(suffix = "", attributes: object = {}) {
    const name = `x${process.pid}-${names++}${suffix}`;
    const url = await sqs.createQueue(name, attributes);
    return { name, url, config: { endpoint: server.endpoint, queue_name: name }, drain: () => sqs.drain(url) };
  }

  async function start(config: object): Promise<Exporter> {
    const exporter = await startExporter(awsSqsExporter, config);
    started.push(exporter);
    return exporter;
  }

  it("sends a batch as base64 with its idempotency key and the headers of a replay", async () => {
    const { config, drain } = await newQueue();
    const exporter = await start(config);
    const batch = logs("a", "b");
    await exporter.send(batch, never, { idempotencyKey: "q-1", replayed: { id: "d-7", attempt: 2 } });
    const [message, ...more] = await drain();
    expect(more).toEqual([]);
    expect(Buffer.from(message!["Body"], "base64")).toEqual(Buffer.from(batch.bytes));
    const sent = ["content-transfer-encoding", "x-idempotency-key", "x-replayed", "x-original-id", "x-replay-attempt"];
    expect(sent.map((name) => value(message!, name))).toEqual(["base64", "q-1", "true", "d-7", "2"]);
  });

  it("sends more than ten records in several requests, each record as a message", async () => {
    const { config, drain } = await newQueue();
    const exporter = await start({ ...config, encoding: "text" });
    const bodies = Array.from({ length: 25 }, (_, i) => `m${i}`);
    await exporter.send(logs(...bodies), never, { idempotencyKey: "q-2" });
    const sent = await drain();
    expect(sent.map((message) => message["Body"]).sort()).toEqual(bodies.sort());
    expect(new Set(sent.map((message) => value(message, "x-idempotency-key"))).size).toBe(25);
  });

  it("lets a FIFO queue keep one copy of what is sent twice, and the order of a group", async () => {
    const { config, drain } = await newQueue(".fifo");
    const exporter = await start({ ...config, encoding: "text", group_id_from: "order" });
    const records = ["a1", "b1", "a2", "b2", "a3"].map((body) => ({ body, attributes: { order: body[0]! } }));
    for (let i = 0; i < 2; i++) await exporter.send(testLogs(...records), never, { idempotencyKey: "k" });
    const sent = await drain();
    const bodies = sent.map((message) => message["Body"] as string);
    expect(bodies.filter((body) => body.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
    expect(bodies.filter((body) => body.startsWith("b"))).toEqual(["b1", "b2"]);
    for (const { Body, Attributes } of sent) expect(Attributes.MessageGroupId).toBe(Body[0]);
  });

  it("derives ids that SQS takes from keys that it does not take, always the same", async () => {
    const { config, drain } = await newQueue(".fifo");
    const exporter = await start({ ...config, encoding: "text" });
    for (let i = 0; i < 2; i++) await exporter.send(logs("a"), never, { idempotencyKey: `${"long ".repeat(100)}ü` });
    const [message, ...more] = await drain();
    expect(more).toEqual([]);
    expect(message!["Attributes"].MessageDeduplicationId).toMatch(/^[0-9a-f]{64}$/);
    expect(message!["Attributes"].MessageGroupId).toBe("logs");
  });

  it("permanently refuses a message over the limit, and sends nothing of it", async () => {
    const { config, drain } = await newQueue();
    const exporter = await start({ ...config, max_message_size: "256KiB" });
    const refusal = await refusalOf(exporter.send(logs("x".repeat(300_000)), never));
    expect(refusal).toMatchObject({ kind: "permanent", code: "SLUICE_TOO_LARGE" });
    expect(refusal.message).toMatch(/a message of 4\d{5} bytes .* is larger than max_message_size, 262144/);
    expect(await drain()).toEqual([]);
  });

  it("refuses for now when the queue is missing or the server is away", async () => {
    const missing = await start({ endpoint: server.endpoint, queue_name: "missing" });
    const refusal = await refusalOf(missing.send(logs("a"), never));
    expect(refusal).toMatchObject({ kind: "transient", blame: "backend" });
    expect(refusal.message).toMatch(/QueueDoesNotExist|NonExistentQueue/);
    const away = await start({ endpoint: "http://127.0.0.1:1", queue_name: "q" });
    expect(await refusalOf(away.send(logs("a"), never))).toMatchObject({ kind: "transient", status: "ECONNREFUSED" });
    await expect(away.check!(never)).rejects.toThrow("ECONNREFUSED");
  });

  it("sends a dead letter back to the queue that it came from", async () => {
    const [own, former] = [await newQueue(), await newQueue()];
    const exporter = await start({ ...own.config, encoding: "text", back_to_queue: true });
    const attributes = { "messaging.header.x-sluice-source": former.name, "messaging.header.x-sluice-error": "bad" };
    const batch = testLogs({ body: "dead", attributes }, { body: "other" });
    await exporter.send(batch, never, { idempotencyKey: "r", replayed: { id: "d-1", attempt: 1 } });
    const [message] = await former.drain();
    expect(message!["Body"]).toBe("dead");
    expect(value(message!, "x-sluice-error")).toBeUndefined();
    expect((await own.drain()).map(({ Body }) => Body)).toEqual(["other"]);
  });

  describe("fulfils the contract", () => {
    const backend = async () => {
      const { config, url } = await newQueue();
      const taken: Batch[] = [];
      return {
        config,
        taken: async () => {
          for (const { Body } of await sqs.drain(url)) taken.push(Batch.admit("logs", Buffer.from(Body, "base64")));
          return taken;
        },
      };
    };
    const options = { backend, signals: ["logs"], patienceMs: CONDITION_LIMIT_MS } as const;
    for (const { name, run } of exporterConformance(awsSqsExporter, options)) it(name, run);
  });
});
