import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { awsSqsReceiver } from "../../../src/receivers/aws-sqs/component.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { plainRecords } from "../../../src/testing.js";
import { SQS_SERVERS, type SqsServer, SqsTester, sqsEnvironment } from "../../support/servers/sqs.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";

const ACCEPTED = { ok: true, rejected: 0, message: "" } as const;
const REFUSED = { ok: false, refusal: new Refusal("permanent", "never") } as const;
const NOT_NOW = { ok: false, refusal: new Refusal("transient", "not now") } as const;
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const text = (value: string) => ({ DataType: "String", StringValue: value });

describe.each(SQS_SERVERS)("the receiver aws_sqs with %s", (_name, startServer) => {
  let server: SqsServer;
  let sqs: SqsTester;
  let names = 0;
  const receivers: Receiver[] = [];

  beforeAll(async () => {
    useEnvironment(sqsEnvironment);
    server = await startServer();
    sqs = new SqsTester(server.endpoint);
  });

  afterAll(async () => {
    await Promise.all(receivers.map((receiver) => receiver.stop()));
    await server?.close();
    useEnvironment({});
  });

  /** A queue of the test's own, and the config of a receiver for it. */
  async function newQueue({
    suffix = "",
    attributes = {},
    ...more
  }: {
    suffix?: string;
    attributes?: object;
    [key: string]: unknown;
  } = {}) {
    const name = `q${process.pid}-${names++}${suffix}`;
    const url = await sqs.createQueue(name, attributes);
    const config = { endpoint: server.endpoint, queue_name: name, wait_time: "1s", ...more };
    return { name, url, config, counts: () => sqs.counts(url) };
  }

  async function start(config: object, intake: SetbackIntake): Promise<Receiver> {
    const receiver = await startReceiver(awsSqsReceiver, config, intake);
    receivers.push(receiver);
    return receiver;
  }

  it("deletes a message when its data is safe, and not before", async () => {
    const { url, config, counts } = await newQueue();
    await sqs.send(url, base64(logs("one").bytes));
    const intake = new SetbackIntake();
    let accept = () => {};
    intake.answer = () => new Promise((resolve) => (accept = () => resolve(ACCEPTED)));
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    expect(await counts()).toEqual([0, 1]);
    accept();
    await expect.poll(counts).toEqual([0, 0]);
    expect(bodies(intake.batches[0]!)).toEqual(["one"]);
  });

  it("reads a queue by its URL", async () => {
    const { url, config } = await newQueue({ queue_name: undefined, encoding: "text" });
    const intake = new SetbackIntake();
    await start({ ...config, queue_url: url }, intake);
    await sqs.send(url, "hello");
    await until(() => expect(intake.batches.flatMap(bodies)).toEqual(["hello"]));
  });

  it("hides a message for as long as it is refused for now", async () => {
    const { url, config, counts } = await newQueue({ visibility_timeout: "3s", encoding: "text" });
    const intake = new SetbackIntake();
    const begin = Date.now();
    intake.answer = () => (Date.now() - begin > 5000 ? ACCEPTED : NOT_NOW);
    await sqs.send(url, "late");
    await start(config, intake);
    await until(() => expect(intake.batches.length).toBeGreaterThan(3));
    await expect.poll(counts).toEqual([0, 0]);
    const [record] = plainRecords(intake.batches.at(-1)!);
    expect(record!.attributes).toMatchObject({ "messaging.message.receive_count": 1 });
  });

  it("tells the record what SQS knows of the message, and keeps its attributes as headers", async () => {
    const { url, name, config } = await newQueue({ encoding: "json" });
    const attributes = {
      "event-type": text("order.placed"),
      count: { DataType: "Number", StringValue: "7" },
      bytes: { DataType: "Binary", BinaryValue: base64(Buffer.from([0, 1, 255])) },
    };
    const { MessageId } = await sqs.send(url, '{"id":1}', { MessageAttributes: attributes });
    const intake = new SetbackIntake();
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    const [record] = plainRecords(intake.batches[0]!);
    expect(record).toMatchObject({
      body: { id: 1 },
      attributes: {
        "messaging.system": "aws_sqs",
        "messaging.destination.name": name,
        "messaging.message.id": MessageId,
        "messaging.header.event-type": "order.placed",
        "messaging.header.count": 7,
        "messaging.header.bytes": new Uint8Array([0, 1, 255]),
      },
    });
  });

  it("keeps what it cannot read as a dead letter, with its bytes and attributes as they came", async () => {
    const { url, config, counts } = await newQueue();
    const intake = new SetbackIntake();
    await sqs.send(url, "no OTLP!", { MessageAttributes: { tenant: text("acme") } });
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    const [{ batch, setback }] = intake.setbacks as [(typeof intake.setbacks)[0]];
    expect(setback).toMatchObject({ code: "SLUICE_MESSAGE_UNREADABLE", reason: "rejected" });
    expect(plainRecords(batch)[0]).toMatchObject({
      body: new Uint8Array(Buffer.from("no OTLP!")),
      attributes: { "messaging.header.tenant": "acme" },
    });
    await expect.poll(counts).toEqual([0, 0]);
  });

  it("sends what is refused for good to the dead-letter queue with its story, within ten attributes", async () => {
    const dead = await newQueue();
    const { url, name, config, counts } = await newQueue({ dead_letter_queue: dead.name, encoding: "text" });
    const own = Object.fromEntries(["a", "b", "c", "d", "e"].map((each) => [each, text(each)]));
    await sqs.send(url, "poison", { MessageAttributes: own });
    const intake = new SetbackIntake();
    intake.answer = () => REFUSED;
    await start(config, intake);
    await until(async () => expect(await dead.counts()).toEqual([1, 0]));
    await expect.poll(counts).toEqual([0, 0]);
    const reader = new SetbackIntake();
    await start({ ...dead.config, encoding: "text", as_dead_letters: true }, reader);
    await until(() => expect(reader.setbacks).toHaveLength(1));
    const [{ batch, setback }] = reader.setbacks as [(typeof reader.setbacks)[0]];
    expect(setback).toMatchObject({ reason: "imported", code: "SLUICE_BROKER_DEAD_LETTER" });
    expect(setback.message).toContain(`dead letter of ${name}: SLUICE_PERMANENT: never (1 attempts)`);
    expect(plainRecords(batch)[0]!.attributes).toMatchObject({
      "messaging.header.a": "a",
      "messaging.header.e": "e",
      "messaging.header.x-sluice-error": "never",
      "messaging.header.x-sluice-source": name,
      "messaging.header.x-sluice-failed-at": expect.stringMatching(/^\d{4}-/),
    });
  });

  it("gives back what is refused for now if there are retry delays, and counts the deliveries", async () => {
    const { url, config, counts } = await newQueue({ retry_delays: ["1s"], encoding: "text" });
    const intake = new SetbackIntake();
    intake.answer = () => (intake.batches.length < 3 ? NOT_NOW : ACCEPTED);
    await sqs.send(url, "again");
    await start(config, intake);
    await until(() => expect(intake.batches).toHaveLength(3));
    await expect.poll(counts).toEqual([0, 0]);
    const counted = intake.batches.map((batch) => plainRecords(batch)[0]!.attributes);
    expect(counted.map((each) => each["messaging.message.receive_count"])).toEqual([1, 2, 3]);
    expect(counted[2]).toMatchObject({ "messaging.message.redelivered": true });
  });

  it("keeps the order of a message group, and a message that fails holds only its own group", async () => {
    const { url, config, counts } = await newQueue({ suffix: ".fifo", encoding: "text", retry_delays: ["1s"] });
    for (const [i, body] of ["a1", "b1", "a2", "b2", "a3", "b3"].entries())
      await sqs.send(url, body, { MessageGroupId: body[0], MessageDeduplicationId: String(i) });
    const intake = new SetbackIntake();
    const taken: string[] = [];
    let fails = 2;
    intake.answer = (batch) => {
      const [body] = bodies(batch) as [string];
      if (body === "a1" && fails-- > 0) return NOT_NOW;
      taken.push(body);
      return ACCEPTED;
    };
    await start(config, intake);
    await until(() => expect(taken).toHaveLength(6));
    await expect.poll(counts).toEqual([0, 0]);
    expect(taken.filter((body) => body.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
    expect(taken.filter((body) => body.startsWith("b"))).toEqual(["b1", "b2", "b3"]);
    expect(taken.indexOf("b3")).toBeLessThan(taken.indexOf("a1"));
  });

  it("hands in no more than max_in_flight messages, and the rest when there is room", async () => {
    const { url, config, counts } = await newQueue({ max_in_flight: 3, encoding: "text", num_pollers: 2 });
    for (let i = 0; i < 12; i++) await sqs.send(url, `m${i}`);
    const intake = new SetbackIntake();
    const accepts: (() => void)[] = [];
    intake.answer = () => new Promise((resolve) => accepts.push(() => resolve(ACCEPTED)));
    await start(config, intake);
    await until(() => expect(accepts.length).toBeGreaterThanOrEqual(3));
    expect(accepts.length).toBeLessThanOrEqual(6); // two requests may be under way
    await until(() => {
      for (const accept of accepts) accept();
      expect(accepts).toHaveLength(12);
    });
    await expect.poll(counts).toEqual([0, 0]);
  });

  it("waits for its answers when it is stopped, and gives the rest back at once", async () => {
    const { url, config, counts } = await newQueue({ encoding: "text" });
    for (let i = 0; i < 5; i++) await sqs.send(url, `m${i}`);
    const first = new SetbackIntake();
    const accepts: (() => void)[] = [];
    first.answer = (batch) =>
      bodies(batch)[0]! < "m3" ? new Promise((resolve) => accepts.push(() => resolve(ACCEPTED))) : NOT_NOW;
    const receiver = await start(config, first);
    await until(() => expect(accepts).toHaveLength(3));
    await until(() => expect(new Set(first.batches.flatMap(bodies)).size).toBe(5));
    const stopped = receiver.stop();
    for (const accept of accepts) accept();
    await stopped;
    expect(await counts()).toEqual([2, 0]);
    const second = new SetbackIntake();
    await start(config, second);
    await until(() => expect(second.batches.flatMap(bodies).sort()).toEqual(["m3", "m4"]));
  });

  it("takes messages up when the queue is made later", async () => {
    const name = `later${process.pid}-${names++}`;
    const intake = new SetbackIntake();
    await start({ endpoint: server.endpoint, queue_name: name, encoding: "text", wait_time: "1s" }, intake);
    const url = await sqs.createQueue(name);
    await sqs.send(url, "at last");
    await until(() => expect(intake.batches.flatMap(bodies)).toEqual(["at last"]));
  });
});
