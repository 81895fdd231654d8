import type { Client } from "pg";
import { afterAll, expect, onTestFinished } from "vitest";
import { produce } from "../receivers/kafka/harness.js";
import { logBatch } from "../support/sampled.js";
import { hasKafka, type Kafka, startKafka } from "../support/servers/kafka.js";
import { type Postgres, postgresProgram, startPostgres } from "../support/servers/postgres.js";
import { type RabbitMq, rabbitmqProgram, startRabbitMq } from "../support/servers/rabbitmq.js";
import { RabbitSession } from "../support/servers/rabbitmq-session.js";
import { redisProgram, startRedis } from "../support/servers/redis.js";
import { hasElasticMq, SqsTester, sqsEnvironment, startElasticMq } from "../support/servers/sqs.js";
import { bodies } from "../support/telemetry/batches.js";
import { row } from "./row.js";
import { newOutbox, PAYMENTS } from "./support/outbox.js";
import { startBackendSink } from "./support/parallel-pipelines.js";
import { recordsIn, type StartedAgent, startAgent } from "./support/started-agent.js";
import { startWarehouse } from "./support/warehouse.js";

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Each server once for all rows, because it takes seconds to start. */
const servers: { rabbit?: RabbitMq; postgres?: Postgres; kafka?: Kafka } = {};
afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())));

async function rabbitSession(): Promise<{ url: string; session: RabbitSession }> {
  servers.rabbit ??= await startRabbitMq();
  const session = await RabbitSession.open(servers.rabbit.url);
  onTestFinished(() => session.close());
  return { url: servers.rabbit.url, session };
}

async function postgresServer(): Promise<Postgres> {
  servers.postgres ??= await startPostgres();
  return servers.postgres;
}

interface DeadLetters {
  readonly entries: readonly {
    readonly id: string;
    readonly attempts: number;
    readonly failure: { readonly reason: string; readonly error: { readonly message: string } };
  }[];
}

const deadLettersOf = (agent: StartedAgent) => agent.api<DeadLetters>("/dead-letters");

row(
  "K1",
  "takes no more than the prefetch, acknowledges each message by its outcome, and retries through queues with a TTL",
  "Consumers: ack/nack per message, prefetch, retry topology with TTL queues and DLX",
  async () => {
    const { url, session } = await rabbitSession();
    const sink = await startBackendSink();
    const held: (() => void)[] = [];
    sink.respond((_, response) => void held.push(() => response.writeHead(200).end()));
    await startAgent(`
receivers:
  rabbitmq: {connection: {endpoint: "${url}"}, queue: orders, encoding: raw, prefetch: 3, declare: {retry_delays: [50ms, 100ms]}}
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {enabled: false}, retry_on_failure: {enabled: false}, timeout: 1m}}
service: {pipelines: {logs: {receivers: [rabbitmq], exporters: [otlp_http]}}}
`);
    await expect.poll(() => session.waiting("orders").catch(() => -1)).toBe(0);
    for (let i = 0; i < 10; i++) session.publish("orders", `order ${i}`);
    await expect.poll(() => held.length).toBe(3);
    await expect.poll(() => session.waiting("orders")).toBe(7);
    // One is settled: one more is handed out.
    held.shift()!();
    await expect.poll(() => session.waiting("orders")).toBe(6);
    sink.respond(undefined);
    for (const answer of held.splice(0)) answer();
    await expect.poll(() => sink.requests.length).toBe(10);
    await expect.poll(() => session.waiting("orders")).toBe(0);

    // Refused for now: once more after each delay, and then the dead-letter queue, with the story.
    sink.decide(() => 503);
    const before = sink.requests.length;
    session.publish("orders", "order 11", { headers: { tenant: "acme" } });
    const late = await session.take("orders.dlq");
    expect(sink.requests.length - before).toBe(3);
    expect(late.properties.headers).toMatchObject({
      tenant: "acme",
      "x-sluice-attempts": "3",
      "x-sluice-source": "orders",
      "x-sluice-error": expect.stringContaining("503"),
    });
    // Refused for good: at once.
    sink.decide(() => 400);
    session.publish("orders", "order 12");
    const bad = await session.take("orders.dlq");
    expect([bad.content.toString(), sink.requests.length - before]).toEqual(["order 12", 4]);
  },
  { needs: { RabbitMQ: rabbitmqProgram } },
);

row(
  "K1",
  "calls a function for each message, with retries, breaker, dead letters and replay around it",
  "handler wrapper with retry, breaker, DLQ [foodies, skill, story].",
  async () => {
    const { url, session } = await rabbitSession();
    const warehouse = await startWarehouse();
    const agent = await startAgent(`
plugins: ["${warehouse.plugin}"]
receivers: {rabbitmq: {connection: {endpoint: "${url}"}, queue: shipments, encoding: raw, declare: {}}}
exporters: {ship: {retry_on_failure: {initial_interval: 10ms, max_interval: 10ms, max_retries: 2}, circuit_breaker: {reset_timeout: 500ms}}}
service: {pipelines: {logs: {receivers: [rabbitmq], exporters: [ship]}}}
`);
    await expect.poll(() => session.waiting("shipments").catch(() => -1)).toBe(0);
    const callsOf = (id: number) => warehouse.calls.filter(({ body }) => body.id === id).length;
    warehouse.answer = ({ body }) => (body.id === 1 && callsOf(1) <= 2 ? 503 : body.id === 2 ? 500 : 200);
    session.publish("shipments", '{"id": 1}', { headers: { "x-idempotency-key": "order-1" } });
    await expect.poll(() => callsOf(1)).toBe(3);
    // The same message again is the same key: it is handled once.
    session.publish("shipments", '{"id": 1}', { headers: { "x-idempotency-key": "order-1" } });
    session.publish("shipments", "{}");
    session.publish("shipments", '{"id": 2}');
    await expect
      .poll(async () => (await deadLettersOf(agent)).entries.map(({ failure }) => failure.reason).sort())
      .toEqual(["permanent", "retry_exhausted"]);
    expect([callsOf(1), callsOf(2)]).toEqual([3, 3]);

    await warehouse.close();
    session.publish("shipments", '{"id": 3}');
    await expect.poll(() => agent.metric("sluice_breaker_state", { exporter: "ship" })).toBe(2);
    expect((await deadLettersOf(agent)).entries.length).toBe(2);
    await warehouse.open();
    await expect.poll(() => callsOf(3)).toBe(1);
    warehouse.answer = () => 200;
    const { entries } = await deadLettersOf(agent);
    await agent.sluice(
      "dlq",
      "replay",
      entries.find(({ failure }) => failure.reason === "retry_exhausted")!.id,
      "--by",
      "ann",
      "--wait",
    );
    expect(callsOf(2)).toBe(4);
    expect(await session.waiting("shipments")).toBe(0);
  },
  { needs: { RabbitMQ: rabbitmqProgram } },
);

row(
  "K2",
  "shares an outbox among agents, past locked rows, each row once and in the order of its key",
  "Outbox in Postgres: SKIP LOCKED, ordered per key [adr54].",
  async () => {
    const sink = await startBackendSink();
    const postgres = await postgresServer();
    const { db, receivers } = await newOutbox(postgres, { table: "orders_outbox" });
    const insert = (client: Client, key: string, n: number) =>
      client.query("INSERT INTO orders_outbox (aggregate_key, event_type, payload) VALUES ($1, 'order', $2)", [
        key,
        JSON.stringify({ key, n }),
      ]);
    for (let n = 0; n < 8; n++) for (const key of many(10, (k) => `order-${k}`)) await insert(db, key, n);
    const locker = await postgres.connect();
    onTestFinished(() => locker.end());
    await locker.query("BEGIN; SELECT * FROM orders_outbox WHERE aggregate_key = 'order-3' FOR UPDATE");
    const yaml = (agent: string) => `
receivers: ${receivers(agent)}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service: {pipelines: {logs: {receivers: [outbox], exporters: [otlp_http]}}}
`;
    await Promise.all([startAgent(yaml("a")), startAgent(yaml("b"))]);
    const seen = () =>
      recordsIn(sink, (record) =>
        record.signal === "logs" ? (record.body as { key: string; n: number }) : { key: "", n: -1 },
      );
    await expect.poll(() => seen().length).toBe(72);
    expect(seen().filter(({ key }) => key === "order-3")).toEqual([]);
    await locker.query("COMMIT");
    await expect.poll(() => seen().length).toBe(80);
    for (let k = 0; k < 10; k++) {
      expect(
        seen()
          .filter(({ key }) => key === `order-${k}`)
          .map(({ n }) => n),
        `order-${k}`,
      ).toEqual(many(8, (n) => n));
    }
    await expect
      .poll(async () => (await db.query("SELECT DISTINCT status FROM orders_outbox")).rows)
      .toEqual([{ status: "delivered" }]);
  },
  { needs: { PostgreSQL: postgresProgram } },
);

row(
  "K3",
  "keeps in Redis what agents share: one limit for all, the keys they have taken, and copies of dead letters",
  "Redis store and shared limits [e11y].",
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const sink = await startBackendSink();
    const shared = `shared: redis, redis: {endpoint: "${redis.endpoint}", timeout: 30s}`;
    const yaml = `
receivers: {otlp: {dedup: {${shared}}}}
processors: {rate_limit: {limit: 100, window: 1h, key: [], ${shared}}}
exporters:
  otlp_http: {endpoint: "${sink.url}", dead_letter: {forward_to: redis_stream}}
  redis_stream: {endpoint: "${redis.endpoint}", logs: {stream: dead, encoding: raw}}
service: {pipelines: {logs: {receivers: [otlp], processors: [rate_limit], exporters: [otlp_http]}}}
`;
    const agents = await Promise.all([startAgent(yaml), startAgent(yaml)]);
    for (const agent of agents) await expect.poll(() => agent.metric("sluice_shared_state_up")).toBeGreaterThan(0);
    // What the backend refuses is a dead letter here, and a copy of it is in Redis.
    sink.decide(() => 400);
    await agents[0]!.send(logBatch([{ body: "refused" }]));
    const { Redis } = await import("ioredis");
    const client = new Redis(redis.port, "127.0.0.1");
    onTestFinished(() => client.disconnect());
    await expect.poll(async () => (await client.xrange("dead", "-", "+")).join()).toContain("refused");
    sink.decide(() => 200);

    // The same request, told by its key, is taken by one of them; and there is room for so many records in both.
    const once = { headers: { "sluice-idempotency-key": "order-1" } };
    for (const agent of agents) expect((await agent.send(logBatch([{ body: "once" }]), once)).status).toBe(200);
    for (let i = 0; i < 30; i++) await agents[i % 2]!.send(logBatch(many(10, () => ({ body: "many" }))));
    const limited = await Promise.all(agents.map((agent) => agent.metric("sluice_rate_limit_limited_items_total")));
    const passed = 1 + 1 + 300 - limited[0]! - limited[1]!;
    expect(passed).toBeLessThanOrEqual(100);
    expect(passed).toBeGreaterThanOrEqual(50);
    await expect.poll(() => sink.count).toBe(passed - 1);
    expect(sink.batches.flatMap(bodies).filter((body) => body === "once")).toEqual(["once"]);
  },
  { needs: { Redis: redisProgram } },
);

row(
  "K4",
  "tells each row what became of it, replays it from SQL and the command line alike, and handles no key twice",
  [
    "The outbox row tells the handler's outcome (delivered, failed, attempts, last_error, first_failed_at, generation, deleted_at); replay from SQL and from the command line are one act; a handled key is never handled again, over restarts and agents [adr54].",
    "ADR-54's SQL call `(event_id uuid, p_new_generation bigint, p_replayed_by text)` is accepted as it stands.",
  ],
  async () => {
    const postgres = await postgresServer();
    const warehouse = await startWarehouse();
    warehouse.answer = () => 400;
    const columns = { id: "event_id", position: "position" };
    const { db, receivers } = await newOutbox(postgres, { table: "payments", columns }, PAYMENTS);
    const add = async (id: number, deleted = false) => {
      const values = [JSON.stringify({ id }), deleted ? new Date() : null];
      await db.query("INSERT INTO payments (payload, deleted_at) VALUES ($1, $2)", values);
    };
    const rowOf = async (id: number) =>
      (await db.query("SELECT * FROM payments WHERE payload->>'id' = $1", [String(id)])).rows[0];
    const callsOf = (id: number) => warehouse.calls.filter(({ body }) => body.id === id).length;
    const handled = JSON.stringify({ ...postgres.keys, table: "handled_events" });
    const yaml = (agent: string) => `
plugins: ["${warehouse.plugin}"]
receivers: ${receivers(agent)}
exporters: {ship: {event_handled: ${handled}}}
service: {pipelines: {logs: {receivers: [outbox], exporters: [ship]}}}
`;
    const agent = await startAgent(yaml("a"));
    for (const id of [1, 2]) await add(id);
    await add(3, true);
    await expect.poll(async () => (await rowOf(2)).status).toBe("failed");
    expect(await rowOf(2)).toMatchObject({
      attempts: 1,
      last_error: "unknown product",
      first_failed_at: expect.any(Date),
      generation: "0",
    });
    await expect.poll(async () => (await deadLettersOf(agent)).entries.length).toBe(2);

    // From SQL, as ADR-54 calls it, and from the command line: row and dead letter go together.
    warehouse.answer = () => 200;
    const { event_id } = await rowOf(1);
    const replay =
      "SELECT payments_replay(event_id => $1, p_new_generation => 42, p_replayed_by => 'ann@example.com') AS ok";
    expect((await db.query(replay, [event_id])).rows).toEqual([{ ok: true }]);
    await expect.poll(async () => (await rowOf(1)).status).toBe("delivered");
    expect(await rowOf(1)).toMatchObject({
      generation: "42",
      failure_history: [{ replayed_by: "ann@example.com", last_error: "unknown product" }],
    });
    await expect.poll(async () => (await deadLettersOf(agent)).entries.length).toBe(1);
    await agent.sluice("dlq", "replay", "--all", "--by", "bob", "--generation", "7", "--wait");
    await expect.poll(async () => (await rowOf(2)).status).toBe("delivered");
    expect(await rowOf(2)).toMatchObject({ generation: "7", failure_history: [{ replayed_by: "bob" }] });

    // A deleted row is neither sent nor replayed.
    expect((await db.query(replay, [(await rowOf(3)).event_id])).rows).toEqual([{ ok: false }]);
    expect([callsOf(1), callsOf(2), callsOf(3)]).toEqual([2, 2, 0]);

    // The key of a handled row, once more: after a restart, and by an agent that has seen none of this.
    const again = async (status: string) => {
      await db.query("UPDATE payments SET status = 'pending' WHERE deleted_at IS NULL");
      await expect
        .poll(async () => (await rowOf(1)).status === status && (await rowOf(2)).status === status)
        .toBe(true);
    };
    await agent.stop();
    const restarted = await startAgent(yaml("a"), { directory: agent.directory });
    await again("delivered");
    await restarted.stop();
    await startAgent(yaml("b"));
    await again("delivered");
    expect([callsOf(1), callsOf(2)]).toEqual([2, 2]);
    expect((await db.query("SELECT id FROM shipped ORDER BY id")).rows).toEqual([{ id: 1 }, { id: 2 }]);
  },
  { needs: { PostgreSQL: postgresProgram } },
);

row(
  "K5",
  "writes what Kafka's consumers cannot handle to {topic}.dlq, from which it is replayed",
  "`{topic}.dlq` for Kafka [story];",
  async () => {
    servers.kafka ??= await startKafka();
    const { kafka } = servers;
    for (const topic of ["orders", "orders.dlq"]) await kafka.createTopic(topic);
    const sink = await startBackendSink();
    sink.decide(() => 400);
    const brokers = `brokers: ["${kafka.broker}"], initial_offset: earliest`;
    await startAgent(`
receivers: {kafka: {${brokers}, group_id: shop, logs: {topic: orders, encoding: raw}}}
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}}
service: {pipelines: {logs: {receivers: [kafka], exporters: [otlp_http]}}}
`);
    await produce(kafka, [{ topic: "orders", key: Buffer.from("order-7"), value: Buffer.from("order 7") }]);
    const reader = await startAgent(`
receivers: {kafka: {${brokers}, group_id: operators, as_dead_letters: true, logs: {topic: orders.dlq, encoding: raw}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service: {pipelines: {logs: {receivers: [kafka], exporters: [otlp_http]}}}
`);
    await expect.poll(async () => (await deadLettersOf(reader)).entries.length).toBe(1);
    const { failure } = (await deadLettersOf(reader)).entries[0]!;
    expect(failure.error.message).toMatch(/dead letter of orders\/0\/0: .*400/);
    sink.decide(() => 200);
    await reader.sluice("dlq", "replay", "--all", "--by", "ann", "--wait");
    expect(sink.count).toBe(1);
  },
  { needs: { Kafka: hasKafka } },
);

row(
  "K5",
  "declares queues with a TTL and a length",
  "TTL and length of declared queues [foodies];",
  async () => {
    const { url, session } = await rabbitSession();
    const agent = await startAgent(`
receivers: {rabbitmq: {connection: {endpoint: "${url}"}, queue: limited, encoding: raw, declare: {message_ttl: 3s, max_length: 2, overflow: drop-head}}}
exporters: {nop: }
service: {pipelines: {logs: {receivers: [rabbitmq], exporters: [nop]}}}
`);
    await expect.poll(() => session.waiting("limited.dlq").catch(() => -1)).toBe(0);
    await agent.stop();
    for (let i = 0; i < 3; i++) session.publish("limited", `order ${i}`);
    // One too many: the oldest goes at once, and the others when their time is over.
    expect((await session.take("limited.dlq")).content.toString()).toBe("order 0");
    expect((await session.take("limited.dlq")).properties.headers!["x-death"]).toMatchObject([
      { reason: "expired", queue: "limited" },
    ]);
    expect((await session.take("limited.dlq")).content.toString()).toBe("order 2");
    expect(await session.waiting("limited")).toBe(0);
  },
  { needs: { RabbitMQ: rabbitmqProgram } },
);

row(
  "K5",
  "reads SQS, and tells handlers of the delivery: attempt, source, deadline",
  "SQS [skill]; delivery metadata for handlers [skill].",
  async () => {
    const server = await startElasticMq();
    onTestFinished(() => server.close());
    const sqs = new SqsTester(server.endpoint);
    const queue = await sqs.createQueue("orders");
    const warehouse = await startWarehouse();
    warehouse.answer = () => (warehouse.calls.length === 1 ? 500 : 200);
    const yaml = `
plugins: ["${warehouse.plugin}"]
receivers: {aws_sqs: {endpoint: "${server.endpoint}", queue_name: orders, encoding: json}}
exporters: {ship: {timeout: 20s, retry_on_failure: {initial_interval: 10ms}}}
service: {pipelines: {logs: {receivers: [aws_sqs], exporters: [ship]}}}
`;
    await startAgent(yaml, { env: sqsEnvironment });
    const sent = Date.now();
    await sqs.send(queue, '{"id": 1}');
    await expect.poll(() => warehouse.calls.length).toBe(2);
    const [first, second] = warehouse.calls.map(({ delivery }) => delivery);
    const origin = { source: "orders", receiver: "aws_sqs" };
    expect(first).toMatchObject({ ...origin, attempt: 1, redelivered: false });
    expect(second).toMatchObject({ ...origin, attempt: 2, redelivered: true, firstSeenAt: first!["firstSeenAt"] });
    expect(Date.parse(String(first!["deadline"]))).toBeGreaterThan(sent + 19_000);
    expect(new Set(warehouse.calls.map(({ key }) => key)).size).toBe(1);
    await expect.poll(() => sqs.counts(queue)).toEqual([0, 0]);
  },
  { needs: { ElasticMQ: hasElasticMq } },
);
