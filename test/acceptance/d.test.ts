import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { newEntry } from "../runtime/queue/store/entries.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { row } from "./row.js";
import { type Json, type RunningAgent, startAgent } from "./support/agent.js";
import { type Backend, startBackend } from "./support/backend.js";
import { corruptEntry, queueOf } from "./support/corrupt.js";
import { defaultKeys, otlpHttp, startRefusing } from "./support/exporter.js";
import type { LogRecord } from "./support/records.js";

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `record ${i}`);
const newDirectory = () => join(temporaryFolder(), "queue");
const idOf = (backend: Backend, call = 0) => backend.calls[call]!.headers["sluice-idempotency-key"] as string;
const stateOf = async (agent: RunningAgent, id: string) => (await agent.get(`/dead-letters/${id}`)).entry.state;
/** Records whose trace and event name say which they are. */
const event = (name: string, more: LogRecord = {}): LogRecord => ({ event: name, body: name, ...more });
const eventsOf = (letters: readonly Json[]) => letters.flatMap(({ failure }) => failure.names).sort();

row(
  "D1",
  "moves an entry from pending to in_flight, and to delivered or failed, in one store",
  "Entry states pending -> in_flight -> delivered | failed; the DLQ is the filter state = failed on the same store [adr54 D1].",
  async () => {
    const backend = await startBackend();
    let release = (_: 503 | 400 | "ok") => {};
    backend.behave(() => new Promise((resolve) => (release = resolve)));
    const retry_on_failure = { initial_interval: "5s" };
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { retry_on_failure }) } });
    const reach = (id: string, state: string) => expect.poll(() => stateOf(agent, id)).toBe(state);
    await agent.send(["a"]);
    await expect.poll(() => backend.calls.length).toBe(1);
    await reach(idOf(backend), "in_flight");
    release(503);
    await reach(idOf(backend), "pending");
    await agent.cli("exporter", "retry", "otlp_http");
    await expect.poll(() => backend.calls.length).toBe(2);
    release("ok");
    await expect.poll(() => agent.get(`/dead-letters/${idOf(backend)}`).catch(({ message }) => message)).toMatch(/404/);
    await agent.send(["b"]);
    await expect.poll(() => backend.calls.length).toBe(3);
    expect(await agent.deadLetters()).toEqual([]);
    release(400);
    await reach(idOf(backend, 2), "failed");
    expect((await agent.deadLetters()).map(({ id }) => id)).toEqual([idOf(backend, 2)]);
    const stores = readdirSync(agent.directory).filter((name) => existsSync(join(agent.directory, name, "CURRENT")));
    expect(stores.filter((name) => name.startsWith("otlp"))).toEqual(["otlp_http"]);
  },
);

row(
  "D2",
  "keeps on an entry who sent it, what it is, what happened to it and when",
  "An entry keeps: id, idempotency key, exporter, pipeline, signal, item count, bytes, enqueued_at, attempts, first_failed_at, last_attempt_at, failed_at, category, reason (retry_exhausted, permanent, poison, rate_limited, circuit_open, queue_full, expired ...), last error (class, message, status; stack only if asked for), attempt history, failure history, source (receiver, client metadata that is safe to keep), event names and trace ids (a sample), schema versions, config generation [story, adr54, skill, foodies].",
  async () => {
    const receivers = { otlp: { protocols: { http: { endpoint: "127.0.0.1:0", include_metadata: true } } } };
    const dead_letter = { keep_metadata: ["x-tenant", "authorization"] };
    const { agent, backend } = await startRefusing({ dead_letter }, { receivers });
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const sent = await agent.send([event("order.paid", { trace, attributes: { "event.version": "2" } })], {
      "x-tenant": "acme",
      authorization: "Bearer secret",
    });
    expect(sent.status).toBe(200);
    await expect.poll(() => agent.deadLetters()).toHaveLength(1);
    const [letter] = (await agent.deadLetters()) as [Json];
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const error = { class: "HTTP 400", message: "HTTP 400: refused", status: "HTTP 400", kind: "permanent" };
    expect(letter).toMatchObject({
      id: idOf(backend),
      ...{ exporter: "otlp_http", pipeline: "logs", signal: "logs", items: 1, state: "failed" },
      ...{ enqueuedAt: time, firstFailedAt: time, lastAttemptAt: time },
      attempts: 1,
      lastError: error,
      history: [{ at: time, error: "HTTP 400" }],
      cycles: [],
      source: { receiver: "otlp", transport: "http", metadata: { "x-tenant": "acme" } },
      generation: expect.stringMatching(/^[0-9a-f]+$/),
      failure: { at: time, reason: "permanent", category: "schema", names: ["order.paid"], traceIds: [trace] },
    });
    expect(letter.bytes).toBeGreaterThan(0);
    expect(letter.failure.eventVersions.join()).toContain("2");
    expect(letter.lastError.stack).toBeUndefined();
    expect(JSON.stringify(letter)).not.toContain("secret");
  },
);

row(
  "D3",
  "bounds a queue by entries, bytes and age, and refuses, drops the oldest or drops the newest when it is full",
  "Bounded: max bytes, max entries, max age; when full: refuse (default, backpressure to the client), drop_oldest, drop_newest; sentinel errors for closed and full [story].",
  async () => {
    expect((await defaultKeys({ endpoint: "http://127.0.0.1:1" })).sending_queue.on_full).toBe("refuse");
    const backend = await startBackend();
    backend.behave("hang");
    const full = async (sending_queue: object, texts: readonly string[]) => {
      const queue = { num_consumers: 1, ...sending_queue };
      const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { sending_queue: queue }) } });
      const responses: Response[] = [];
      for (const text of texts) responses.push(await agent.send([event(text)]));
      return { agent, statuses: responses.map(({ status }) => status), last: responses.at(-1)! };
    };
    const letters = async ({ agent }: { agent: RunningAgent }) =>
      (await agent.deadLetters()).map(({ failure }) => [failure.names[0], failure.reason]);
    const five = ["1", "2", "3", "4", "5"];
    const refused = await full({ queue_size: 4 }, five);
    expect(refused.statuses).toEqual([200, 200, 200, 200, 429]);
    expect(refused.last.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await refused.last.text()).toMatch(/full/);
    expect((await full({ max_bytes: "64KiB" }, ["x".repeat(60_000), "y".repeat(10_000)])).statuses).toEqual([200, 429]);
    const newest = await full({ queue_size: 4, on_full: "drop_newest" }, five);
    await expect.poll(() => letters(newest)).toEqual([["5", "queue_full"]]);
    const oldest = await full({ queue_size: 4, on_full: "drop_oldest" }, five);
    // The first is being sent.
    await expect.poll(() => letters(oldest)).toEqual([["2", "queue_full"]]);
    const old = await full({ max_age: "200ms" }, five);
    await expect.poll(() => letters(old).then((all) => all.length)).toBeGreaterThanOrEqual(4);
    expect(new Set((await letters(old)).map(([, reason]) => reason))).toEqual(new Set(["expired"]));
  },
);

row(
  "D4",
  "deletes dead letters by age and number from the end that is configured, counts and logs it",
  "Retention of dead letters: TTL 24 h..30 d configurable, size cap, which end goes first; expiry is counted and logged, never silent; cleanup runs by itself [foodies, e11y, skill].",
  async () => {
    expect((await defaultKeys({ endpoint: "http://127.0.0.1:1" })).dead_letter.retention).toBe("720h");
    const backend = await startBackend();
    backend.behave(400);
    const exporter = (dead_letter: object) => otlpHttp(backend, { dead_letter, sending_queue: { num_consumers: 1 } });
    const agent = await startAgent({
      exporters: {
        "otlp_http/aged": exporter({ retention: "1s" }),
        "otlp_http/oldest": exporter({ max_entries: 3, drop: "oldest" }),
        "otlp_http/newest": exporter({ max_entries: 3, drop: "newest" }),
        "otlp_http/month": exporter({ retention: "720h" }),
        "otlp_http/day": exporter({ retention: "24h", max_bytes: "1KiB" }),
      },
    });
    for (const name of ["1", "2", "3", "4", "5"]) await agent.send([event(name, { body: name.repeat(400) })]);
    const expired = async (labels: object) =>
      (await agent.metrics()).value("sluice_dead_letters_expired_total", labels as Record<string, string>) ?? 0;
    await expect.poll(() => expired({ exporter: "otlp_http/aged", cause: "retention" })).toBe(5);
    await expect.poll(() => expired({ cause: "max_entries" })).toBe(4);
    await expect.poll(() => expired({ exporter: "otlp_http/day", cause: "max_bytes" })).toBeGreaterThan(0);
    const left = async (id: string) =>
      eventsOf((await agent.deadLetters()).filter(({ exporter: own }) => own === `otlp_http/${id}`));
    expect(await left("aged")).toEqual([]);
    expect(await left("oldest")).toEqual(["3", "4", "5"]);
    expect(await left("newest")).toEqual(["1", "2", "3"]);
    expect(await left("month")).toEqual(["1", "2", "3", "4", "5"]);
    expect(agent.log.filter(({ level, msg }) => level === "warn" && /dead letters?/.test(msg)).length).toBeGreaterThan(
      0,
    );
  },
);

row(
  "D5",
  "saves, lists by page and filter, gets, replays one and many, deletes, purges and counts dead letters, on LevelDB",
  "Storage interface with save, list (limit, cursor, filters), get, replay, replay_batch, delete, purge, stats [e11y 4.1]; LevelDB is the default; in-memory and no-op stores exist for tests [story]; the interface allows Redis [e11y 4.3] later.",
  async () => {
    const { agent, backend } = await startRefusing();
    for (let i = 0; i < 12; i++) await agent.send([event(i < 10 ? `order.${i}` : `user.${i}`)]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(12);
    const first = await agent.cliJson("dlq", "list", "--limit", "7", "--oldest");
    const second = await agent.cliJson("dlq", "list", "--limit", "7", "--oldest", "--cursor", first.cursor);
    expect(new Set([...first.entries, ...second.entries].map(({ id }: Json) => id)).size).toBe(12);
    expect([first.entries.length, second.entries.length]).toEqual([7, 5]);
    expect((await agent.cliJson("dlq", "list", "--event", "user.*")).entries).toHaveLength(2);
    expect((await agent.cliJson("dlq", "list", "--reason", "expired")).entries).toEqual([]);
    const [{ id }] = first.entries;
    expect((await agent.cliJson("dlq", "show", id)).entry.id).toBe(id);
    expect(await agent.cliJson("dlq", "stats")).toMatchObject({ entries: 12, items: 12 });
    backend.behave("ok");
    await agent.cli("dlq", "replay", id, "--wait");
    expect(backend.bodies).toEqual(["order.0"]);
    await agent.cli("dlq", "replay", "--event", "order.*", "--limit", "4", "--wait");
    expect(backend.bodies.length).toBe(5);
    await agent.cli("dlq", "delete", (await agent.deadLetters())[0].id, "--yes");
    expect(await agent.deadLetters()).toHaveLength(6);
    await agent.cli("dlq", "purge", "--all", "--yes");
    expect(await agent.deadLetters()).toEqual([]);
    expect(existsSync(join(queueOf(agent.directory, "otlp_http"), "CURRENT"))).toBe(true);
    const { MemoryStore, NoopStore } = await import("../../src/runtime/queue/store/door.js");
    for (const Store of [MemoryStore, NoopStore]) {
      const store = new Store({ exporter: "any" });
      await store.open();
      const { ref } = await store.put(newEntry("kept"));
      expect(store.stats.pending.entries).toBe(Store === MemoryStore ? 1 : 0);
      store.ack(ref);
      expect(store.stats.pending.entries).toBe(0);
      await store.close();
    }
  },
);

row(
  "D6",
  "sends after a kill what was in flight and what waited, in order, and all but the entry that a disk has damaged",
  "Restart and crash: in-flight entries become pending again, in order, none lost, none unreadable because another is corrupt.",
  async () => {
    const backend = await startBackend();
    backend.behave("hang");
    const directory = newDirectory();
    const config = { exporters: { otlp_http: otlpHttp(backend, { sending_queue: { num_consumers: 1 } }) } };
    const first = await startAgent(config, { directory });
    const texts = numbered(20);
    for (const text of texts) await first.send([text]);
    await expect.poll(() => backend.calls.length).toBe(1);
    await first.kill();
    backend.behave(({ isCheck }) => (isCheck ? "ok" : "hang"));
    const second = await startAgent(config, { directory });
    await expect.poll(() => backend.calls.length).toBe(2);
    expect(backend.calls[1]!.bodies).toEqual(["record 0"]);
    await second.kill();
    await corruptEntry(directory, "otlp_http", "record 7");
    backend.behave("ok");
    const third = await startAgent(config, { directory });
    await expect.poll(() => backend.bodies).toEqual(texts.filter((text) => text !== "record 7"));
    const metrics = await third.metrics();
    const told = ["sluice_queue_unreadable_entries_total", "sluice_queue_set_aside_entries"];
    expect(told.map((name) => metrics.value(name))).toContain(1);
  },
);
