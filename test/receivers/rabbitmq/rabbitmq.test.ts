import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ConfirmedChannel } from "../../../src/exporters/rabbitmq/confirmed-channel.js";
import { reliability } from "../../../src/extensions/reliability/component.js";
import { type Batch, type ComponentFactory, defineExporter, Refusal } from "../../../src/plugin.js";
import { RabbitClient, rabbitConnection } from "../../../src/runtime/brokers/rabbitmq/connection.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import type { Agent } from "../../../src/runtime/host/agent.js";
import { agentOf, resolve } from "../../support/agent.js";
import { type RabbitMq, rabbitmqProgram, startRabbitMq } from "../../support/servers/rabbitmq.js";
import { RabbitSession } from "../../support/servers/rabbitmq-session.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";

let rabbit: RabbitMq;
let session: RabbitSession;
const agents: Agent[] = [];
const folders: string[] = [];

interface Settings {
  readonly receiver?: string;
  readonly exporter?: string;
  readonly components?: readonly ComponentFactory[];
  readonly durable?: boolean;
  readonly logger?: Logger;
}

/** An agent that reads from RabbitMQ, and whatever is to be behind it. */
async function start({
  receiver = "",
  exporter = "nop: {}",
  components = [],
  durable = true,
  logger = silentLogger,
}: Settings): Promise<Agent> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-queue-"));
  folders.push(directory);
  const [id] = exporter.split(":");
  const queues = durable ? `reliability: {directory: "${directory}"}, ` : "";
  const yaml = `
receivers: {rabbitmq: {connection: {endpoint: "${rabbit.url}"}, ${receiver}}}
exporters: {${exporter}}
extensions: {${queues}health_check: {endpoint: "127.0.0.1:0"}}
service:
  extensions: [${durable ? "reliability, " : ""}health_check]
  pipelines: {logs: {receivers: [rabbitmq], exporters: [${id}]}}
`;
  const agent = agentOf(yaml, { logger, components: [...(durable ? [reliability] : []), ...components] });
  agents.push(agent);
  await agent.start();
  return agent;
}

const to = (queue: string, more = "") =>
  `rabbitmq: {connection: {endpoint: "${rabbit.url}"}, routing: {routing_key: ${queue}}, ${more}}`;

/** An exporter without a queue of its own, that does as the test says. */
function judge(decide: (batch: Batch) => void | Promise<void>): ComponentFactory {
  const off = { sending_queue: { enabled: false }, retry_on_failure: { enabled: false } };
  const send = async (batch: Batch) => {
    await decide(batch);
    return undefined;
  };
  return defineExporter({ type: "judge", defaults: off, create: () => ({ send }) });
}

describe.skipIf(rabbitmqProgram === undefined)("the rabbitmq receiver and exporter", () => {
  beforeAll(async () => {
    rabbit = await startRabbitMq();
    session = await RabbitSession.open(rabbit.url);
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) await agent.stop(0);
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  afterAll(async () => {
    await session?.close();
    await rabbit?.close();
  });

  it("carry OTLP from one queue to another as the same bytes", async () => {
    for (const queue of ["otlp.in", "otlp.out"]) await session.queue(queue);
    await start({ receiver: "queue: otlp.in", exporter: to("otlp.out") });
    const batch = logs("one", "two");
    session.publish("otlp.in", batch.bytes);
    const { content, properties } = await session.take("otlp.out");
    expect(content).toEqual(Buffer.from(batch.bytes));
    expect(properties).toMatchObject({ contentType: "application/x-protobuf", deliveryMode: 2 });
    expect(properties.headers).toMatchObject({ "x-idempotency-key": expect.any(String) });
    await until(async () => expect(await session.waiting("otlp.in")).toBe(0));
  });

  it("carry any message with its headers and properties", async () => {
    for (const queue of ["raw.in", "raw.out"]) await session.queue(queue);
    await start({ receiver: "queue: raw.in, encoding: raw", exporter: to("raw.out", "encoding: raw") });
    const options = {
      headers: { tenant: "acme", n: 7 },
      messageId: "m1",
      correlationId: "c1",
      contentType: "image/png",
    };
    session.publish("raw.in", Uint8Array.of(0xff, 0xd8, 0), options);
    const { content, properties } = await session.take("raw.out");
    expect(content).toEqual(Buffer.of(0xff, 0xd8, 0));
    expect(properties).toMatchObject({ messageId: "m1", correlationId: "c1", contentType: "image/png" });
    expect(properties.headers).toMatchObject({ tenant: "acme", n: 7 });
  });

  it("carry a message whose names are longer than those of RabbitMQ may be", async () => {
    for (const queue of ["long.in", "long.out"]) await session.queue(queue);
    await start({ receiver: "queue: long.in, encoding: raw", exporter: to("long.out", "encoding: raw") });
    const headers = { "x-idempotency-key": "entries;".padEnd(3000, "t-1+0:1,") };
    session.publish("long.in", "a", { headers });
    const { properties } = await session.take("long.out");
    expect(properties.headers).toMatchObject(headers);
    expect(properties.messageId).toMatch(/^[0-9a-f]{64}$/);
  });

  it("take what comes again once where dedup is on, also after a restart", async () => {
    await session.queue("once.in");
    const directory = mkdtempSync(join(tmpdir(), "sluice-dedup-"));
    folders.push(directory);
    const taken: string[] = [];
    const components = [judge((batch) => void taken.push(...bodies(batch)))];
    const receiver = `queue: once.in, dedup: {directory: "${directory}"}`;
    const settings = { receiver, exporter: "judge: {}", components, durable: false };
    const first = await start(settings);
    for (const body of ["a", "b", "a"]) session.publish("once.in", logs(body).bytes, { messageId: `m-${body}` });
    await until(() => expect(taken).toEqual(["a", "b"]));
    await first.stop(1000);
    await start(settings);
    for (const body of ["b", "c"]) session.publish("once.in", logs(body).bytes, { messageId: `m-${body}` });
    await until(() => expect(taken).toEqual(["a", "b", "c"]));
    await until(async () => expect(await session.waiting("once.in")).toBe(0));
  });

  it("say how the receiver is: its lag, its last message, and a RabbitMQ that is gone", async () => {
    await session.queue("healthy");
    let open = () => {};
    const closed = new Promise<void>((resolve) => {
      open = resolve;
    });
    const component = judge(() => closed);
    for (let i = 0; i < 5; i++) session.publish("healthy", "a");
    await until(async () => expect(await session.waiting("healthy")).toBe(5));
    const receiver = "queue: healthy, encoding: text, prefetch: 1, max_lag: 2";
    const agent = await start({ receiver, exporter: "judge: {}", components: [component], durable: false });
    const status = () => agent.receivers()[0]!;
    await until(() => expect(status().lag).toBeGreaterThan(3));
    expect(status().state).toBe("DEGRADED");
    expect(Date.now() - status().lastMessageAt!).toBeLessThan(60_000);
    await rabbit.server.kill();
    await until(() => expect(status()).toMatchObject({ state: "DOWN", down: ["healthy"] }));
    expect(status().lastError).toMatchObject({ source: "healthy", message: expect.stringMatching(/\w/) });
    open();
    await rabbit.server.start();
    session = await RabbitSession.open(rabbit.url);
    await until(() => expect(status()).toMatchObject({ state: expect.not.stringMatching("DOWN"), reconnects: 1 }));
  });

  it("recognise a message by what its publisher sent, in spite of headers that a quorum queue adds", async () => {
    const taken: string[] = [];
    let refuse = true;
    const component = judge((batch) => {
      if (refuse) throw new Refusal("transient", "not now");
      taken.push(...bodies(batch));
    });
    const receiver = "queue: quorum.once, encoding: text, declare: {}, dedup: {directory: ''}";
    const first = await start({ receiver, exporter: "judge: {}", components: [component], durable: false });
    for (const id of ["m1", "m2"]) session.publish("quorum.once", id, { messageId: id });
    // The agent that has them is stopped. RabbitMQ delivers them again, and counts that in x-delivery-count.
    await until(async () => expect(await session.waiting("quorum.once")).toBe(0));
    await first.stop(0);
    refuse = false;
    await start({ receiver, exporter: "judge: {}", components: [component], durable: false });
    await until(() => expect(taken.toSorted()).toEqual(["m1", "m2"]));
    session.publish("quorum.once", "m1", { messageId: "m1" });
    session.publish("quorum.once", "other", { messageId: "m3" });
    await until(() => expect(taken).toContain("other"));
    expect(taken).toHaveLength(3);
  });

  it("recognise a message that was in a retry queue by its message_id", async () => {
    const taken: string[] = [];
    let tries = 0;
    const component = judge((batch) => {
      if (tries++ === 0) throw new Refusal("transient", "not now");
      taken.push(...bodies(batch));
    });
    const receiver = "queue: again, encoding: text, declare: {retry_delays: [10ms]}, dedup: {directory: ''}";
    await start({ receiver, exporter: "judge: {}", components: [component], durable: false });
    session.publish("again", "a", { messageId: "m1" });
    await until(() => expect(taken).toEqual(["a"]));
    session.publish("again", "a", { messageId: "m1" });
    session.publish("again", "b", { messageId: "m2" });
    await until(() => expect(taken).toContain("b"));
    expect(taken).toEqual(["a", "b"]);
  });

  it("declare a queue with its limits, and publish what is rejected with the reason to an exchange of one's own", async () => {
    await session.channel.assertExchange("graveyard", "topic", { durable: true });
    await session.queue("buried");
    await session.channel.bindQueue("buried", "graveyard", "limited.#");
    const component = judge(() => {
      throw new Refusal("permanent", "never\nagain", { code: "ORDER_UNKNOWN" });
    });
    const declare =
      "{type: classic, message_ttl: 1h, max_length: 1000, max_length_bytes: 1MiB, overflow: reject-publish, dead_letter_exchange: graveyard, dead_letter_routing_key: limited.orders}";
    const receiver = `queue: limited, encoding: raw, declare: ${declare}`;
    await start({ receiver, exporter: "judge: {}", components: [component], durable: false });
    // RabbitMQ takes a second declaration only if it has the same arguments.
    const limits = {
      "x-message-ttl": 3_600_000,
      "x-max-length": 1000,
      "x-max-length-bytes": 1024 * 1024,
      "x-overflow": "reject-publish",
      "x-dead-letter-exchange": "graveyard",
      "x-dead-letter-routing-key": "limited.orders",
      "x-queue-type": "classic",
    };
    await session.channel.assertQueue("limited", { durable: true, arguments: limits });
    const earlier = { "x-sluice-dead-letter-id": "old-1", "x-sluice-first-failed-at": "2020-01-01T00:00:00.000Z" };
    const headers = { tenant: "acme", traceparent: "00-ab-cd-01", ...earlier };
    session.publish("limited", "order 7", { messageId: "m7", headers });
    const { content, properties } = await session.take("buried");
    expect(content.toString()).toBe("order 7");
    expect(properties.messageId).toBe("m7");
    expect(properties.headers).toMatchObject({
      tenant: "acme",
      traceparent: "00-ab-cd-01",
      "x-sluice-error": expect.stringContaining("never again"),
      "x-sluice-error-class": "ORDER_UNKNOWN",
      "x-sluice-attempts": "1",
      "x-sluice-source": "limited",
      "x-sluice-failed-at": expect.stringMatching(/^\d{4}-.*Z$/),
      "x-sluice-first-failed-at": properties.headers!["x-sluice-failed-at"],
    });
    expect(properties.headers, "the story of an earlier failure").not.toHaveProperty("x-sluice-dead-letter-id");
    expect(() => resolve(configOf("type: classic, delivery_limit: 3"))).toThrow("only queues of type quorum");
    expect(() => resolve(configOf("overflow: reject-publish-dlx"))).toThrow("reject-publish-dlx");
  });

  it("forward a dead letter with its story, which finds its way back", async () => {
    for (const queue of ["story.in/1/2", "story.dead"]) await session.queue(queue);
    const forwarding = `rabbitmq: {connection: {endpoint: "${rabbit.url}"}, encoding: raw, routing: {routing_key: story.gone}, on_unroutable: dead_letter, dead_letter: {forward_to: rabbitmq/dead}}, rabbitmq/dead: {connection: {endpoint: "${rabbit.url}"}, encoding: raw, routing: {routing_key: story.dead}}`;
    const agent = await start({ receiver: "queue: story.in/1/2, encoding: raw", exporter: forwarding });
    session.publish("story.in/1/2", "order 8", { messageId: "m8", headers: { tenant: "acme" } });
    const { content, properties } = await session.take("story.dead");
    const [letter] = (await agent.admin!.listDeadLetters({})).entries;
    expect(content.toString()).toBe("order 8");
    expect(properties.headers).toMatchObject({
      tenant: "acme",
      "x-sluice-error": expect.stringContaining("story.gone"),
      "x-sluice-error-class": letter!.failure!.error.class,
      "x-sluice-reason": "permanent",
      "x-sluice-attempts": "1",
      "x-sluice-source": "story.in/1/2",
      "x-sluice-exporter": "rabbitmq",
      "x-sluice-dead-letter-id": letter!.id,
      "x-sluice-failed-at": new Date(letter!.failure!.at).toISOString(),
    });
    await agent.stop(0);
    session.publish("story.dead", content, { headers: properties.headers });
    const mending = await start({
      receiver: "queue: story.dead, encoding: raw, as_dead_letters: true",
      exporter: to("elsewhere", "encoding: raw").replace("routing: {", "routing: {back_to_queue: true, "),
    });
    await until(async () => expect((await mending.admin!.listDeadLetters({})).entries.length).toBe(1));
    const [imported] = (await mending.admin!.listDeadLetters({})).entries;
    expect(imported!.failure!.error.message).toContain("dead letter of story.in/1/2");
    await mending.admin!.replay({ ids: [imported!.id] }, { by: "ann" });
    const back = await session.take("story.in/1/2");
    expect(back.content.toString()).toBe("order 8");
    expect(Object.keys(back.properties.headers!).filter((name) => name.startsWith("x-sluice-"))).toEqual([]);
  });

  it("acknowledge a message only when it is settled, and take no more than the prefetch", async () => {
    await session.queue("held");
    const held: (() => void)[] = [];
    const component = judge(() => new Promise((settle) => held.push(settle)));
    await start({
      receiver: "queue: held, encoding: text, prefetch: 2",
      exporter: "judge: {}",
      components: [component],
      durable: false,
    });
    for (const body of ["a", "b", "c"]) session.publish("held", body);
    await until(() => expect(held.length).toBe(2));
    expect(await session.waiting("held")).toBe(1);
    held.shift()!();
    await until(() => expect(held.length).toBe(2));
    await agents[0]!.stop(0);
    await until(async () => expect(await session.waiting("held")).toBe(2));
  });

  it("keep what cannot be read as a dead letter with its bytes and headers", async () => {
    await session.queue("poison");
    const agent = await start({ receiver: "queue: poison", exporter: to("anywhere") });
    session.publish("poison", "this is no OTLP", { headers: { tenant: "acme" } });
    await until(async () => {
      const { entries } = await agent.admin!.listDeadLetters({});
      expect(entries.map(({ failure }) => failure?.error.code)).toEqual(["SLUICE_MESSAGE_UNREADABLE"]);
    });
    const { entries } = await agent.admin!.listDeadLetters({});
    const payload = await agent.admin!.payload(entries[0]!.id);
    expect(payload).toContain(Buffer.from("this is no OTLP").toString("base64"));
    expect(payload).toContain("acme");
    expect(await session.waiting("poison")).toBe(0);
  });

  it("send messages that no exporter can take or keep through the retry queues to the dead-letter queue", async () => {
    let tries = 0;
    const component = judge(() => {
      tries++;
      throw new Refusal("transient", "not now");
    });
    await start({
      receiver: "queue: orders, encoding: text, declare: {retry_delays: [10ms, 20ms]}",
      exporter: "judge: {}",
      components: [component],
      durable: false,
    });
    session.publish("orders", "order 1", { headers: { tenant: "acme" } });
    await until(async () => expect(await session.waiting("orders.dlq")).toBe(1));
    expect(tries, "once, and once after each delay").toBe(3);
    expect(await session.waiting("orders")).toBe(0);

    // A message of the dead-letter queue becomes a dead letter of ours with its history, and goes back to its queue.
    await agents[0]!.stop(0);
    const agent = await start({
      receiver: "queue: orders.dlq, encoding: raw, as_dead_letters: true",
      exporter: to("elsewhere", "encoding: raw").replace("routing: {", "routing: {back_to_queue: true, "),
    });
    await until(async () => expect((await agent.admin!.listDeadLetters({})).entries.length).toBe(1));
    const { entries } = await agent.admin!.listDeadLetters({});
    expect(entries[0]!.failure?.error.message).toContain(
      "dead letter of orders: SLUICE_TRANSIENT: not now (3 attempts",
    );
    await agent.admin!.replay({ ids: [entries[0]!.id] }, { by: "ann" });
    const { content, properties } = await session.take("orders");
    expect(content.toString()).toBe("order 1");
    expect(properties.headers).toMatchObject({ tenant: "acme", "x-replayed": "true", "x-original-id": entries[0]!.id });
    expect(properties.headers).not.toHaveProperty("x-death");
    expect(properties.headers, "it has all retries again").not.toHaveProperty("x-retry-count");
  });

  it("lose nothing when a retry queue was deleted, and create it again", async () => {
    const seen: string[] = [];
    let refused = 0;
    const component = judge((batch) => {
      // Each message goes to a retry queue after its first try.
      if (refused++ < 2) throw new Refusal("transient", "not now");
      seen.push(...bodies(batch));
    });
    await start({
      receiver: "queue: patient, encoding: text, declare: {type: classic, retry_delays: [300ms, 300ms, 1h]}",
      exporter: "judge: {}",
      components: [component],
      durable: false,
    });
    await session.channel.deleteQueue("patient.retry.300");
    // RabbitMQ would send the copies for others again, each time.
    await session.queue("copies");
    session.publish("patient", "a", { headers: { CC: ["copies"] }, timestamp: Date.now() });
    session.publish("patient", "b", { headers: { CC: ["copies"] } });
    await until(() => expect(seen.sort()).toEqual(["a", "b"]));
    await until(async () => expect(await session.waiting("patient")).toBe(0));
    expect(await session.waiting("copies")).toBe(2);
  });

  it("say what holds up a queue when the client library cannot read a message's headers", async () => {
    await session.queue("deep");
    session.publishNested("deep", 9000);
    await until(async () => expect(await session.waiting("deep")).toBe(1));
    const said: unknown[] = [];
    const warn: Logger["warn"] = (fields) => void said.push(fields);
    const logger: Logger = { ...silentLogger, warn, child: () => logger };
    await start({ receiver: "queue: deep, encoding: text", logger });
    await until(() => expect(JSON.stringify(said)).toContain("nested thousands of levels deep"));
    // Nothing is lost: other readers can still get it.
    await agents[0]!.stop(0);
    await until(async () => expect(await session.waiting("deep")).toBe(1));
  });

  it("leave a message in a queue without a dead-letter exchange when no exporter can keep it", async () => {
    await session.queue("stuck");
    let tries = 0;
    const component = judge(() => {
      tries++;
      throw new Refusal("permanent", "never");
    });
    await start({
      receiver: "queue: stuck, encoding: text",
      exporter: "judge: {}",
      components: [component],
      durable: false,
    });
    session.publish("stuck", "a");
    await until(() => expect(tries).toBeGreaterThan(0));
    await agents[0]!.stop(0);
    await until(async () => expect(await session.waiting("stuck")).toBe(1));
  });

  it("wait for a queue that is missing or was deleted", async () => {
    const seen: string[] = [];
    const component = judge((batch) => void seen.push(...bodies(batch)));
    await start({
      receiver: "queue: later, encoding: text",
      exporter: "judge: {}",
      components: [component],
      durable: false,
    });
    await session.queue("later");
    session.publish("later", "a");
    await until(() => expect(seen).toEqual(["a"]));
    await until(async () => expect(await session.waiting("later")).toBe(0));
    await session.channel.deleteQueue("later");
    await session.queue("later");
    session.publish("later", "b");
    await until(() => expect(seen).toEqual(["a", "b"]));
  });

  it("hold unroutable messages until a queue is bound, or dead-letter them at once if configured", async () => {
    await session.queue("unrouted.in");
    await start({
      receiver: "queue: unrouted.in, encoding: text",
      exporter: to("unrouted.out", "encoding: text, retry_on_failure: {initial_interval: 20ms, max_interval: 50ms}"),
    });
    session.publish("unrouted.in", "a");
    await until(async () => expect(await session.waiting("unrouted.in")).toBe(0));
    await session.queue("unrouted.out");
    expect((await session.take("unrouted.out")).content.toString()).toBe("a");
    await agents[0]!.stop(0);

    const agent = await start({
      receiver: "queue: unrouted.in, encoding: text",
      exporter: to("nowhere", "encoding: text, on_unroutable: dead_letter"),
    });
    session.publish("unrouted.in", "b");
    await until(async () => {
      const { entries } = await agent.admin!.listDeadLetters({});
      expect(entries[0]?.failure?.error.message).toContain('there is no queue "nowhere"');
    });
  });

  it("notice every unroutable message, even if several have the same id", async () => {
    const config = rabbitConnection().parse({ endpoint: rabbit.url });
    const channel = new ConfirmedChannel(await RabbitClient.create(config, "test"), "permanent");
    await channel.open();
    await session.queue("somewhere");
    const publish = (routingKey: string) =>
      channel.publish({
        exchange: "",
        routingKey,
        body: Buffer.from("m"),
        options: { messageId: "1", mandatory: true },
      });
    const sent = Array.from({ length: 400 }, (_, i) => publish(i % 2 === 0 ? "nowhere" : "somewhere"));
    const results = await Promise.allSettled(sent);
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_, i) => (i % 2 === 0 ? "rejected" : "fulfilled")),
    );
    expect(await session.waiting("somewhere")).toBe(200);
    await channel.close();
  });

  it("say what is wrong with a config", () => {
    const of = (receiver: string) => () =>
      resolve(
        `{receivers: {rabbitmq: {${receiver}}}, exporters: {nop: }, service: {pipelines: {logs: {receivers: [rabbitmq], exporters: [nop]}}}}`,
      );
    expect(of("")).toThrow("say which queue to read");
    expect(of("queue: a, connection: {endpoint: 'localhost:5672'}")).toThrow(
      "expected a URL such as amqp://localhost:5672",
    );
    expect(of("traces: {queue: a, encoding: text}")).toThrow("traces need otlp_proto or otlp_json");
  });

  it("go on where they were when RabbitMQ was killed and comes back", async () => {
    for (const queue of ["killed.in", "killed.out"]) await session.queue(queue);
    await start({
      receiver: "queue: killed.in, encoding: text",
      exporter: to("killed.out", "encoding: text, retry_on_failure: {initial_interval: 20ms, max_interval: 100ms}"),
    });
    session.publish("killed.in", "a");
    expect((await session.take("killed.out")).content.toString()).toBe("a");
    await rabbit.server.kill();
    await rabbit.server.start();
    session = await RabbitSession.open(rabbit.url);
    session.publish("killed.in", "b");
    const seen = [(await session.take("killed.out")).content.toString()];
    while (!seen.includes("b")) seen.push((await session.take("killed.out")).content.toString());
    expect(new Set(seen).has("b")).toBe(true);
  });
});

function configOf(declare: string): string {
  return `
receivers: {rabbitmq: {queue: q, declare: {${declare}}}}
exporters: {nop: }
service: {pipelines: {logs: {receivers: [rabbitmq], exporters: [nop]}}}`;
}
