import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { natsExporter } from "../../../src/exporters/nats/component.js";
import { Batch } from "../../../src/plugin.js";
import type { Exporter } from "../../../src/runtime/contract/exporter.js";
import { exporterConformance, type TestBackend } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../../support/limits.js";
import { type Nats, natsProgram, startNats } from "../../support/servers/nats.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { logsOf } from "../../support/telemetry/ottl.js";
import { never, refusalOf, startExporter } from "../harness.js";

describe.skipIf(natsProgram === undefined)("the nats exporter", () => {
  let nats: Nats;
  let connection: NatsConnection;
  let manager: JetStreamManager;
  let names = 0;
  const started: Exporter[] = [];

  beforeAll(async () => {
    nats = await startNats();
    connection = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    manager = await jetstreamManager(connection);
  });

  afterAll(async () => {
    for (const exporter of started) await exporter.stop?.();
    await connection?.close();
    await nats?.close();
  });

  async function newStream(more: object = {}) {
    const stream = `S${names++}`;
    const subject = `${stream}.logs`;
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`], ...more });
    return { stream, config: { servers: nats.url, stream, logs: { subject } } };
  }

  async function start(config: object): Promise<Exporter> {
    const exporter = await startExporter(natsExporter, config);
    started.push(exporter);
    return exporter;
  }

  async function stored(stream: string) {
    const { state } = await manager.streams.info(stream);
    const sequences = Array.from({ length: state.messages }, (_, i) => state.first_seq + i);
    return Promise.all(sequences.map(async (seq) => (await manager.streams.getMessage(stream, { seq }))!));
  }

  it("publishes a batch with its idempotency key, and the stream keeps one copy of what is sent twice", async () => {
    const { stream, config } = await newStream();
    const exporter = await start(config);
    const batch = logs("a", "b");
    for (let i = 0; i < 2; i++) {
      await exporter.send(batch, never, { idempotencyKey: "q-1", replayed: { id: "d-7", attempt: 2 } });
    }
    const [message, ...more] = await stored(stream);
    expect(more).toEqual([]);
    expect(message!.data).toEqual(new Uint8Array(batch.bytes));
    const { header } = message!;
    expect(
      ["Nats-Msg-Id", "x-idempotency-key", "x-replayed", "x-original-id", "x-replay-attempt"].map((name) =>
        header.get(name),
      ),
    ) //
      .toEqual(["q-1", "q-1", "true", "d-7", "2"]);
  });

  it("makes a message of each record in text, json and raw", async () => {
    const { stream, config } = await newStream();
    const exporter = await start({ ...config, logs: { ...config.logs, encoding: "text" } });
    for (let i = 0; i < 2; i++) await exporter.send(logs("one", "two"), never, { idempotencyKey: "q-2" });
    expect((await stored(stream)).map(({ data }) => Buffer.from(data).toString())).toEqual(["one", "two"]);
  });

  it("takes over no header by which the sender told another stream what to do", async () => {
    const { stream, config } = await newStream();
    const exporter = await start({ ...config, logs: { ...config.logs, encoding: "text" } });
    const headers = { "Nats-Expected-Stream": "OTHER", "Nats-Msg-Id": "m-1", tenant: "acme" };
    const attributes = Object.entries(headers).map(([name, stringValue]) => ({
      key: `messaging.header.${name}`,
      value: { stringValue },
    }));
    await exporter.send(logsOf({ body: { stringValue: "copy" }, attributes }), never, { idempotencyKey: "q-3" });
    const [{ header }] = (await stored(stream)) as [Awaited<ReturnType<typeof stored>>[0]];
    expect([...header.keys()].sort()).toEqual(["Nats-Expected-Stream", "Nats-Msg-Id", "tenant", "x-idempotency-key"]);
    expect([header.get("Nats-Expected-Stream"), header.get("Nats-Msg-Id")]).toEqual([stream, "q-3"]);
  });

  it("publishes messages whose keys differ only in what a header cannot hold, each once", async () => {
    const { stream, config } = await newStream();
    const exporter = await start({ ...config, logs: { ...config.logs, encoding: "text" } });
    const keys = ["a b", "a\nb", "a\r\nb", " a b", "\u00fc"];
    const keyed = keys.map((stringValue) => ({
      body: { stringValue: "text" },
      attributes: [{ key: "messaging.header.x-idempotency-key", value: { stringValue } }],
    }));
    for (let i = 0; i < 2; i++) await exporter.send(logsOf(...keyed), never, { idempotencyKey: "q-4" });
    const found = (await stored(stream)).map(({ header }) => header.get("x-idempotency-key"));
    expect(new Set(found).size).toBe(keys.length);
    expect(found).toHaveLength(keys.length);
    expect(found).toEqual(expect.arrayContaining(["a b", "\u00fc"]));
  });

  it("creates the stream if configured", async () => {
    const exporter = await start({ servers: nats.url, stream: "MADE", create_stream: true });
    await exporter.send(logs("a"), never);
    const { config } = await manager.streams.info("MADE");
    expect(config.subjects).toEqual(
      ["otlp.traces", "otlp.metrics", "otlp.logs"].sort(
        (a, b) => config.subjects.indexOf(a) - config.subjects.indexOf(b),
      ),
    );
    expect(await stored("MADE")).toHaveLength(1);
  });

  it("permanently refuses messages larger than the server or stream allows, and for now those without a stream", async () => {
    const { stream, config } = await newStream({ max_msg_size: 5000 });
    const exporter = await start(config);
    const large = await refusalOf(exporter.send(logs("x".repeat(2_000_000)), never));
    expect(large).toMatchObject({ kind: "permanent", code: "SLUICE_TOO_LARGE" });
    expect(await refusalOf(exporter.send(logs("x".repeat(6000)), never))).toMatchObject({
      kind: "permanent",
      code: "SLUICE_TOO_LARGE",
    });
    expect(await stored(stream)).toEqual([]);
    const nowhere = await start({ servers: nats.url, logs: { subject: "nobody.has.it" } });
    const refusal = await refusalOf(nowhere.send(logs("a"), never));
    expect(refusal).toMatchObject({ kind: "transient" });
    expect(refusal.message).toContain(
      "nobody.has.it: JetStream is not enabled at the server, or no stream has the subject",
    );
  });

  it("refuses for now while the server is down, and delivers when it is back", async () => {
    const { stream, config } = await newStream();
    const exporter = await start(config);
    await nats.server.kill();
    await expect
      .poll(async () => (await refusalOf(exporter.send(logs("a"), never))).message)
      .toMatch(/lost|not connected|ECONNREFUSED/);
    await expect(exporter.check!(never)).rejects.toThrow();
    await nats.server.start();
    await expect
      .poll(() =>
        exporter.send(logs("b"), never, { idempotencyKey: "b" }).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await expect
      .poll(() =>
        manager.streams.info(stream).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect((await stored(stream)).map(({ data }) => bodies(Batch.admit("logs", data)))).toContainEqual(["b"]);
  });

  it("stops when it is aborted while the server is silent", async () => {
    const { config } = await newStream();
    const exporter = await start(config);
    nats.server.pause();
    const abort = new AbortController();
    const refused = refusalOf(exporter.send(logs("a"), abort.signal));
    abort.abort();
    expect(await refused).toMatchObject({ kind: "transient", code: "SLUICE_ABORTED" });
    nats.server.resume();
  });

  describe("fulfils the contract", () => {
    const backend = async (): Promise<TestBackend> => {
      const { stream, config } = await newStream();
      return { config, taken: async () => (await stored(stream)).map(({ data }) => Batch.admit("logs", data)) };
    };
    const options = { backend, signals: ["logs"], patienceMs: CONDITION_LIMIT_MS } as const;
    for (const { name, run } of exporterConformance(natsExporter, options)) it(name, run);
  });
});
