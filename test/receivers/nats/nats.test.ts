import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { natsReceiver } from "../../../src/receivers/nats/component.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import { plainRecords } from "../../../src/testing.js";
import { type Nats, natsProgram, startNats } from "../../support/servers/nats.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";

const REFUSED = { ok: false, refusal: new Refusal("permanent", "never") } as const;

describe.skipIf(natsProgram === undefined)("the nats receiver", () => {
  let nats: Nats;
  let connection: NatsConnection;
  let client: JetStreamClient;
  let manager: JetStreamManager;
  let names = 0;
  const receivers: Receiver[] = [];

  beforeAll(async () => {
    nats = await startNats();
    connection = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    client = jetstream(connection);
    manager = await jetstreamManager(connection);
  });

  afterAll(async () => {
    for (const receiver of receivers) await receiver.stop();
    await connection?.close();
    await nats?.close();
  });

  /** A stream of the test's own, and the config of a receiver for it. */
  async function newStream(more: object = {}) {
    const stream = `S${names++}`;
    const subject = `${stream}.logs`;
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
    const config = { servers: nats.url, stream, logs: { subject }, ...more };
    const state = async () => (await manager.consumers.info(stream, "sluice-logs")).num_ack_pending;
    const unread = async () => (await manager.consumers.info(stream, "sluice-logs")).num_pending;
    return { stream, subject, config, state, unread };
  }

  async function start(config: object, intake: SetbackIntake, logger?: Logger): Promise<Receiver> {
    const receiver = await startReceiver(natsReceiver, config, intake, logger);
    receivers.push(receiver);
    return receiver;
  }

  it("acknowledges a message when its data is safe, and not before", async () => {
    const { subject, config, state } = await newStream();
    await client.publish(subject, logs("one").bytes);
    const intake = new SetbackIntake();
    let accept = () => {};
    intake.answer = () => new Promise((resolve) => (accept = () => resolve({ ok: true, rejected: 0, message: "" })));
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    expect(await state()).toBe(1);
    accept();
    await expect.poll(state).toBe(0);
    expect(bodies(intake.batches[0]!)).toEqual(["one"]);
  });

  it("holds a message that is refused for now, and tells the server that it works on it", async () => {
    const { subject, config, state } = await newStream({ ack_wait: "1s" });
    const intake = new SetbackIntake();
    const begin = Date.now();
    intake.answer = () =>
      Date.now() - begin > 2500
        ? { ok: true, rejected: 0, message: "" }
        : { ok: false, refusal: new Refusal("transient", "not now") };
    await client.publish(subject, logs("late").bytes);
    await start(config, intake);
    await until(() => expect(intake.batches.length).toBeGreaterThan(3));
    await expect.poll(state).toBe(0);
    const { delivered } = await manager.consumers.info(config.stream, "sluice-logs");
    expect(delivered).toMatchObject({ consumer_seq: 1, stream_seq: 1 });
  });

  it("keeps what it cannot read as a dead letter, with bytes and headers as they came, and goes on", async () => {
    const { subject, config, state } = await newStream();
    const intake = new SetbackIntake();
    const tenant = headers();
    tenant.set("tenant", "acme");
    await client.publish(subject, "no OTLP", { headers: tenant, msgID: "m-1" });
    await client.publish(subject, logs("good").bytes);
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(2));
    const [{ batch, setback }] = intake.setbacks as [(typeof intake.setbacks)[0]];
    expect(setback).toMatchObject({ code: "SLUICE_MESSAGE_UNREADABLE", reason: "rejected" });
    expect(plainRecords(batch)[0]).toMatchObject({
      body: new Uint8Array(Buffer.from("no OTLP")),
      attributes: { "messaging.header.tenant": "acme", "messaging.message.id": "m-1", "messaging.system": "nats" },
    });
    await expect.poll(state).toBe(0);
  });

  it("publishes permanently refused messages to the dead-letter subject before it acknowledges them", async () => {
    const { stream, subject, config, state } = await newStream();
    const intake = new SetbackIntake();
    intake.answer = () => REFUSED;
    await client.publish(subject, logs("poison").bytes);
    await start({ ...config, dead_letter_subject: `${stream}.dead` }, intake);
    await expect.poll(async () => (await manager.streams.info(stream)).state.messages).toBe(2);
    await expect.poll(state).toBe(0);
    const dead = await manager.streams.getMessage(stream, { seq: 2 });
    expect(dead?.subject).toBe(`${stream}.dead`);
    expect(dead?.header.get("x-sluice-error")).toContain("never");
    expect(dead?.header.get("x-sluice-source")).toBe(subject);
    expect(dead?.data).toEqual(new Uint8Array(logs("poison").bytes));
  });

  it("keeps each of several permanently refused messages, although the stream knows their ids", async () => {
    const { stream, subject, config, state } = await newStream();
    const intake = new SetbackIntake();
    intake.answer = () => REFUSED;
    const expecting = headers();
    expecting.set("Nats-Expected-Stream", stream);
    expecting.set("Nats-Expected-Last-Sequence", "1");
    await client.publish(subject, logs("poison").bytes, { msgID: "m-1" });
    await client.publish(subject, logs("more poison").bytes, { msgID: "m-2", headers: expecting });
    await start({ ...config, dead_letter_subject: `${stream}.dead` }, intake);
    await expect.poll(async () => (await manager.streams.info(stream)).state.messages).toBe(4);
    await expect.poll(state).toBe(0);
    const dead = await manager.streams.getMessage(stream, { seq: 3 });
    expect(dead?.data).toEqual(new Uint8Array(logs("poison").bytes));
  });

  it("leaves permanently refused messages in the stream if there is no such subject", async () => {
    const { subject, config, state } = await newStream();
    const intake = new SetbackIntake();
    intake.answer = () => REFUSED;
    await client.publish(subject, logs("poison").bytes);
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(2));
    expect(await state()).toBe(1);
  });

  it("waits for its answers when it is stopped, and gives the rest back at once", async () => {
    const { subject, config, state, unread } = await newStream();
    const first = new SetbackIntake();
    const accepts: (() => void)[] = [];
    first.answer = () => new Promise((resolve) => accepts.push(() => resolve({ ok: true, rejected: 0, message: "" })));
    for (let i = 0; i < 5; i++) await client.publish(subject, logs(`m${i}`).bytes);
    const receiver = await start({ ...config, max_ack_pending: 3 }, first);
    await until(() => expect(accepts).toHaveLength(3));
    const stopped = receiver.stop();
    for (const accept of accepts) accept();
    await stopped;
    expect([await state(), await unread()]).toEqual([0, 2]);
    const second = new SetbackIntake();
    await start(config, second);
    await until(() => expect(second.batches.flatMap(bodies)).toEqual(["m3", "m4"]));
  });

  it("creates the stream if configured, and continues after stream and consumer were deleted", async () => {
    const config = { servers: nats.url, stream: "MADE", create_stream: true, logs: { subject: "made.logs" } };
    const intake = new SetbackIntake();
    await start(config, intake);
    await expect
      .poll(() =>
        manager.streams.info("MADE").then(
          ({ state }) => state.messages,
          () => -1,
        ),
      )
      .toBe(0);
    await client.publish("made.logs", logs("before").bytes);
    await until(() => expect(intake.batches).toHaveLength(1));
    await manager.streams.delete("MADE");
    await expect
      .poll(() =>
        manager.streams.info("MADE").then(
          ({ state }) => state.messages,
          () => -1,
        ),
      )
      .toBe(0);
    await client.publish("made.logs", logs("after").bytes);
    await until(() => expect(intake.batches.flatMap(bodies)).toEqual(["before", "after"]));
  });

  it("says what is wrong and goes on trying when the stream is missing", async () => {
    const said: unknown[] = [];
    const logger = { ...silentLogger, error: (fields: unknown) => void said.push(fields) } as Logger;
    const intake = new SetbackIntake();
    await start({ servers: nats.url, stream: "LATER", logs: { subject: "later" } }, intake, logger);
    await until(() => expect(said[0]).toMatchObject({ stream: "LATER", reason: "stream not found" }));
    await manager.streams.add({ name: "LATER", subjects: ["later"] });
    await client.publish("later", logs("at last").bytes);
    await until(() => expect(intake.batches).toHaveLength(1));
  });

  it("takes messages up again after the server was killed", async () => {
    const { subject, config, state } = await newStream({ ack_wait: "1s" });
    const intake = new SetbackIntake();
    await start(config, intake);
    await client.publish(subject, logs("before").bytes);
    await until(() => expect(intake.batches).toHaveLength(1));
    await expect.poll(state).toBe(0);
    await nats.server.kill();
    await nats.server.start();
    await expect
      .poll(() =>
        client.publish(subject, logs("after").bytes, { msgID: "after" }).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    // The server may have forgotten the acknowledgement, and hand the first one out again.
    await expect.poll(state).toBe(0);
    await until(() => expect(intake.batches.flatMap(bodies)).toEqual(["before", "after"]));
  });
});

describe.skipIf(natsProgram === undefined)("the nats receiver, before a server that", () => {
  it.each([
    ["wants other credentials", ["-js", "--user", "agent", "--pass", "secret"], /authorization violation/i],
    ["has no JetStream", [], /JetStream is not enabled/],
  ])("%s starts, and reports it", async (_what, args, words) => {
    const nats = await startNats(args);
    const said: string[] = [];
    const say = (fields: { reason?: string }) => void said.push(fields.reason ?? "");
    const logger = { ...silentLogger, error: say, warn: say } as Logger;
    const config = {
      servers: nats.url,
      stream: "S",
      auth: args.length > 0 ? { user: "agent", password: "x" } : undefined,
    };
    const receiver = await startReceiver(natsReceiver, config, new SetbackIntake(), logger);
    await until(() => expect(said.join()).toMatch(words));
    await receiver.stop();
    await nats.close();
  });
});
