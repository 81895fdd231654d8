import { expect } from "vitest";
import { rabbitmqProgram, startRabbitMq } from "../support/servers/rabbitmq.js";
import { RabbitSession } from "../support/servers/rabbitmq-session.js";
import { redisProgram } from "../support/servers/redis.js";
import { row } from "./row.js";
import { type Json, startAgent } from "./support/agent.js";
import { type Call, startBackend } from "./support/backend.js";
import { otlpHttp, startRefusing } from "./support/exporter.js";
import { logsBody } from "./support/records.js";
import { redisOfTest } from "./support/redis-entries.js";

const keyOf = ({ headers }: Call) => headers["sluice-idempotency-key"] as string;

row(
  "P8",
  "marks what is replayed, keeps what is deleted, and edits, sends elsewhere and waits for the outcome",
  [
    "Headers on what is replayed: x-replayed, x-original-id, x-replay-attempt [skill]. Caller-supplied generation; soft delete [adr54].",
    "Edit and replay; replay elsewhere; outcome awaited.",
  ],
  async () => {
    const backend = await startBackend();
    backend.behave(400);
    const elsewhere = await startBackend();
    const agent = await startAgent({
      exporters: {
        otlp_http: otlpHttp(backend, { dead_letter: { keep_deleted: "1h" } }),
        "otlp_http/elsewhere": otlpHttp(elsewhere),
      },
      pipelines: {
        logs: { receivers: ["otlp"], exporters: ["otlp_http"] },
        "logs/elsewhere": { receivers: ["otlp"], exporters: ["otlp_http/elsewhere"] },
      },
    });
    for (const text of ["headers", "deleted", "edited", "moved"]) await agent.send([{ body: text, event: text }]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(4);
    const letters = await agent.deadLetters();
    const id = (name: string): string => letters.find(({ failure }) => failure.names[0] === name).id;

    await agent.cli("dlq", "replay", id("headers"), "--generation", "v2");
    await expect.poll(async () => (await agent.get(`/dead-letters/${id("headers")}`)).entry.replays).toBe(1);
    await expect.poll(async () => (await agent.deadLetters()).length).toBe(4);
    backend.behave("ok");
    await agent.cli("dlq", "replay", id("headers"), "--wait", "--generation", "v3");
    const calls = backend.calls.filter(({ bodies: [body] }) => body === "headers").map(({ headers }) => headers);
    expect(calls[0]).not.toHaveProperty("x-replayed");
    const marks = (attempt: string) => ({
      "x-replayed": "true",
      "x-original-id": id("headers"),
      "x-replay-attempt": attempt,
    });
    expect(calls.slice(1)).toMatchObject([marks("1"), marks("2")]);
    const known = () => agent.get(`/dead-letters/${id("headers")}`).then(({ entry }: Json) => entry, String);
    await expect.poll(known).toMatchObject({ state: "delivered", generation: "v3" });

    await agent.cli("dlq", "delete", id("deleted"), "--yes");
    expect(await agent.deadLetters()).toHaveLength(2);
    const { entries } = await agent.cliJson("dlq", "list", "--deleted");
    expect(entries.map((each: Json) => each.id)).toEqual([id("deleted")]);
    await agent.cli("dlq", "restore", id("deleted"));
    expect(await agent.deadLetters()).toHaveLength(3);

    const payload = JSON.parse(logsBody(["mended"]));
    await agent.post(`/dead-letters/${id("edited")}/edit`, { reason: "test", revision: 0, payload });
    await agent.cli("dlq", "replay", id("edited"), "--wait");
    expect(backend.bodies.at(-1)).toBe("mended");
    const before = elsewhere.bodies.length;
    await agent.cli("dlq", "replay", id("moved"), "--to", "otlp_http/elsewhere");
    await expect.poll(() => elsewhere.bodies.slice(before)).toEqual(["moved"]);
    expect(elsewhere.calls.at(-1)!.headers["x-original-id"]).toBe(id("moved"));

    const refused = await startRefusing();
    await refused.agent.send(["a"]);
    await expect.poll(() => refused.agent.deadLetters()).toHaveLength(1);
    await expect(refused.agent.cli("dlq", "replay", "--all", "--wait")).rejects.toThrow();
  },
);

row(
  "P9",
  "gives a message the same key whenever it comes, and two messages never the same, with or without a key of their sender",
  "The same message delivered twice has the same key, two messages never do. A message or entry without a key of its sender gets one from its source (topic, partition and offset; queue and delivery; id), before anything remembers keys. The empty key does not exist [skill, adr54].",
  async () => {
    await keysOfStreams();
    await keysOfQueues();
    await keysOfRequests();
  },
  { needs: { Redis: redisProgram, RabbitMQ: rabbitmqProgram } },
);

/** Four entries with the same body: two without a key, two with an empty one. They are read twice, by two agents. */
async function keysOfStreams(): Promise<void> {
  const redis = await redisOfTest();
  for (const field of [[], [], ["x-idempotency-key", ""], ["x-idempotency-key", ""]])
    await redis.client.xadd("logs", "*", "body", "same", ...field);
  const backend = await startBackend();
  const read = async (group: string, calls: number) => {
    const logs = { stream: "logs", encoding: "text" };
    const agent = await startAgent({
      receivers: { redis_stream: { endpoint: redis.endpoint, group, logs, dedup: { enabled: true } } },
      exporters: { otlp_http: otlpHttp(backend) },
    });
    await expect.poll(() => backend.calls.length).toBe(calls);
    await agent.stop();
    return backend.calls.slice(-4).map(keyOf);
  };
  const first = await read("one", 4);
  expect(first).not.toContain("");
  expect(new Set(first).size).toBe(4);
  expect((await read("two", 8)).sort()).toEqual(first.sort());
}

/** Messages of a queue that have no id, or an empty key: each is a message of its own. */
async function keysOfQueues(): Promise<void> {
  const rabbit = await startRabbitMq();
  try {
    const session = await RabbitSession.open(rabbit.url);
    await session.queue("events");
    for (const headers of [{}, {}, { "x-idempotency-key": "" }, { "x-idempotency-key": "" }])
      session.publish("events", "same", { headers });
    const backend = await startBackend();
    await startAgent({
      receivers: {
        rabbitmq: {
          connection: { endpoint: rabbit.url },
          queue: "events",
          encoding: "text",
          dedup: { enabled: true },
        },
      },
      exporters: { otlp_http: otlpHttp(backend) },
    });
    await expect.poll(() => backend.calls.length).toBe(4);
    expect(new Set(backend.calls.map(keyOf)).size).toBe(4);
    expect(backend.calls.map(keyOf)).not.toContain("");
    await session.close();
  } finally {
    await rabbit.close();
  }
}

/** Two requests with an empty key and the same bytes. */
async function keysOfRequests(): Promise<void> {
  const backend = await startBackend();
  const protocols = { http: { endpoint: "127.0.0.1:0" } };
  const agent = await startAgent({
    receivers: { otlp: { protocols, dedup: { enabled: true } } },
    exporters: { otlp_http: otlpHttp(backend) },
  });
  for (let i = 0; i < 2; i++) await agent.send(["same"], { "sluice-idempotency-key": "" });
  await expect.poll(() => backend.bodies).toEqual(["same", "same"]);
}
