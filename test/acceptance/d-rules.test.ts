import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { flipBit, remove, truncateTo } from "../chaos/damage.js";
import { redisProgram } from "../support/servers/redis.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { row } from "./row.js";
import { type Json, startAgent } from "./support/agent.js";
import { startBackend } from "./support/backend.js";
import { corruptEntry, queueOf } from "./support/corrupt.js";
import { otlpHttp, startRefusing } from "./support/exporter.js";
import { type LogRecord, logsBody } from "./support/records.js";
import { redisOfTest } from "./support/redis-entries.js";

const newDirectory = () => join(temporaryFolder(), "queue");
const event = (name: string, more: LogRecord = {}): LogRecord => ({ event: name, body: name, ...more });
const eventsOf = (letters: readonly Json[]) => letters.flatMap(({ failure }) => failure.names).sort();
/** One record passes; the limit of the next hour is used up. */
const LIMIT = { rate_limit: { limit: 1, window: "1h", burst: 0, key: [], on_excess: "drop" } };

row(
  "D7",
  "saves dead letters by never_save, then always_save, then save_if, and counts what it discards",
  "DLQ filter: never_save > always_save > save_if (condition) > default save; patterns on event name, severity, attributes; discards are counted [e11y 4.4].",
  async () => {
    const filter = {
      never_save: ["debug.*", "severity<INFO"],
      always_save: ["order.*", "attributes.tenant=acme", "debug.*"],
      save_if: "severity_number >= SEVERITY_NUMBER_ERROR",
    };
    const { agent } = await startRefusing({ dead_letter: { filter } });
    await agent.send([event("debug.acme", { attributes: { tenant: "acme" }, severity: 17 })]);
    await agent.send([event("order.trace", { severity: 1 })]);
    await agent.send([event("order.info")]);
    await agent.send([event("user.acme", { attributes: { tenant: "acme" } })]);
    await agent.send([event("user.error", { severity: 17 })]);
    await agent.send([event("user.info")]);
    await expect.poll(async () => (await agent.metrics()).value("sluice_dead_letters_filtered_out_total")).toBe(3);
    await expect
      .poll(async () => eventsOf(await agent.deadLetters()))
      .toEqual(["order.info", "user.acme", "user.error"]);
    const { agent: unfiltered } = await startRefusing();
    await unfiltered.send([event("any")]);
    await expect.poll(async () => eventsOf(await unfiltered.deadLetters())).toEqual(["any"]);
  },
);

row(
  "D8",
  "keeps as dead letters what the rate limit would drop and the filter always saves",
  "The rate limiter asks the same filter before dropping: what the filter would always save goes to the DLQ with reason rate_limited [e11y C02].",
  async () => {
    const backend = await startBackend();
    const dead_letter = { filter: { always_save: ["order.*"], never_save: ["order.test"] } };
    const agent = await startAgent({ processors: LIMIT, exporters: { otlp_http: otlpHttp(backend, { dead_letter }) } });
    for (const name of ["first", "order.1", "user.1", "order.test", "order.2"])
      expect((await agent.send([event(name)])).status).toBe(200);
    await expect.poll(async () => eventsOf(await agent.deadLetters())).toEqual(["order.1", "order.2"]);
    expect(new Set((await agent.deadLetters()).map(({ failure }) => failure.reason))).toEqual(
      new Set(["rate_limited"]),
    );
    await expect.poll(() => backend.bodies).toEqual(["first"]);
  },
);

row(
  "D9",
  "runs on, and counts it, when a dead letter cannot be written",
  "A failing dead-letter write never takes the pipeline down, and is itself counted.",
  async () => {
    const [broken, healthy] = [await startBackend(), await startBackend()];
    let refuse = () => {};
    broken.behave(() => new Promise((resolve) => (refuse = () => resolve(400))));
    const receivers = (endpoint = "127.0.0.1:0") => ({ protocols: { http: { endpoint } } });
    const other = await freePort();
    const agent = await startAgent({
      receivers: { otlp: receivers(), "otlp/other": receivers(`127.0.0.1:${other}`) },
      exporters: { "otlp_http/broken": otlpHttp(broken), "otlp_http/healthy": otlpHttp(healthy) },
      pipelines: {
        logs: { receivers: ["otlp"], exporters: ["otlp_http/broken"] },
        "logs/other": { receivers: ["otlp/other"], exporters: ["otlp_http/healthy"] },
      },
    });
    await agent.send(["lost disk"]);
    await expect.poll(() => broken.calls.length).toBe(1);
    // The disk under the queue goes away: its files are gone, and none can be made.
    rmSync(queueOf(agent.directory, "otlp_http/broken"), { recursive: true });
    refuse();
    const failures = async () => (await agent.metrics()).value("sluice_dead_letter_write_failures_total");
    await expect.poll(failures).toBeGreaterThan(0);
    const headers = { "content-type": "application/json" };
    const body = logsBody(["b"]);
    const sent = await fetch(`http://127.0.0.1:${other}/v1/logs`, { method: "POST", headers, body });
    expect(sent.status).toBe(200);
    await expect.poll(() => healthy.bodies).toEqual(["b"]);
    expect((await agent.send(["c"])).status).toBe(503);
    expect((await agent.get("/exporters/otlp_http%2Fbroken")).state).toBe("DOWN");
  },
);

row(
  "D10",
  "filters by error, exporter and attempts, asks the whole filter at the rate limit, and expires by category",
  "`save_if` sees error class, exporter, attempts; the rate limiter asks the whole filter [e11y 4.4, C02]. Entries keep client metadata, event version, stack on request; in-flight entries read as in_flight. Quarantine by category with its own retention [skill].",
  async () => {
    const backend = await startBackend();
    backend.behave(({ bodies: [body] }) => Number(body) || "ok");
    const exporter = (save_if: string) => otlpHttp(backend, { dead_letter: { filter: { save_if } } });
    const agent = await startAgent({
      exporters: {
        "otlp_http/class": exporter('dead_letter.error_class == "HTTP 422"'),
        "otlp_http/exporter": exporter('dead_letter.exporter == "otlp_http/exporter"'),
        "otlp_http/attempts": exporter("dead_letter.attempts > 3"),
      },
    });
    for (const status of ["422", "400", "500"]) await agent.send([event(status)]);
    const kept = async () => (await agent.deadLetters()).map(({ exporter: own, failure }) => `${own} ${failure.names}`);
    const expected = ["attempts 500", "class 422", "exporter 400", "exporter 422", "exporter 500"];
    await expect.poll(async () => (await kept()).sort()).toEqual(expected.map((text) => `otlp_http/${text}`));

    const save_if = 'dead_letter.reason == "rate_limited" and attributes["tenant"] == "acme"';
    const limited = await startAgent({
      processors: LIMIT,
      exporters: { otlp_http: otlpHttp(backend, { dead_letter: { filter: { save_if } } }) },
    });
    await limited.send([event("first")]);
    for (const tenant of ["acme", "other"]) await limited.send([event(tenant, { attributes: { tenant } })]);
    await expect.poll(async () => eventsOf(await limited.deadLetters())).toEqual(["acme"]);

    const dead_letter = { keep_stack: true, retention: "720h", retention_by_category: { schema: "1s" } };
    const { agent: sorted, backend: sorting } = await startRefusing({ dead_letter });
    sorting.behave(({ bodies: [body] }) => Number(body));
    for (const status of ["404", "400"]) await sorted.send([event(status)]);
    const expired = async () => (await sorted.metrics()).value("sluice_dead_letters_expired_total");
    await expect.poll(expired).toBe(1);
    const [letter, ...others] = (await sorted.deadLetters()) as [Json];
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ failure: { category: "integration", names: ["404"] } });
    expect(letter.lastError.stack).toMatch(/\n\s+at /);
    expect(letter.source.metadata ?? {}).not.toHaveProperty("authorization");
  },
);

/** Damage of the files of a store while no agent runs, alone and in pairs. */
const DAMAGE = [
  [remove(/^CURRENT$/)],
  [truncateTo(/^MANIFEST/, 0.5)],
  [flipBit(/\.log$/, 0.5)],
  [truncateTo(/\.log$/, 0.5), remove(/^CURRENT$/)],
  [remove(/^MANIFEST/), flipBit(/\.log$/, 0.2)],
  [remove(/\.log$/), truncateTo(/^MANIFEST/, 0.2)],
];

row(
  "D11",
  "knows after a kill that the breaker is open, and starts with stores that are damaged in one place or two",
  "Breaker state and a known outage outlive a restart. No damage of the store's files ends the process, alone or in pairs.",
  async () => {
    const backend = await startBackend();
    backend.behave(503);
    const directory = newDirectory();
    const circuit_breaker = { failure_threshold: 1, reset_timeout: "1h" };
    const ids = ["otlp_http/breaker", ...DAMAGE.map((_, i) => `otlp_http/${i}`)];
    const config = {
      exporters: Object.fromEntries(
        ids.map((id) => [id, otlpHttp({ url: `${backend.url}/${id.slice(10)}` }, { circuit_breaker })]),
      ),
    };
    const first = await startAgent(config, { directory });
    for (const text of ["a", "b", "c", "d"]) await first.send([text]);
    const states = async () => (await first.get("/exporters")).exporters.map(({ breaker }: Json) => breaker.state);
    await expect.poll(states).toEqual(ids.map(() => "open"));
    await first.kill();
    const before = { calls: backend.calls.length };
    for (const [i, damages] of DAMAGE.entries()) {
      for (const damage of damages) expect(damage.apply(queueOf(directory, `otlp_http/${i}`)), damage.title).toBe(true);
    }

    const second = await startAgent(config, { directory });
    const ofBreaker = ({ path }: { path: string }) => path.startsWith("/breaker");
    await expect.poll(() => backend.checks.filter(ofBreaker).length).toBe(1);
    expect((await second.get("/exporters/otlp_http%2Fbreaker")).breaker.state).toBe("open");
    expect(backend.calls.slice(before.calls).filter(ofBreaker)).toEqual([]);
    expect((await second.send(["after"])).status).toBe(200);
    backend.behave("ok");
    for (const id of ids) await second.cli("exporter", "breaker", id, "closed");
    const got = () => new Set(backend.taken.filter(({ bodies: [body] }) => body === "after").map(({ path }) => path));
    await expect.poll(() => got().size).toBe(ids.length);
    expect(second.process.child.exitCode).toBe(null);
  },
);

row(
  "D12",
  "gives a dead letter that it forwards to a broker headers with its error, reason, exporter, attempts, times and source",
  "What leaves us as a dead letter (DLX, dead-letter topic, forward_to) carries error, attempts, times and source [skill, story]. D12 also for `forward_to`: class, reason, exporter, attempts, as the entry has them.",
  async () => {
    const redis = await redisOfTest();
    const backend = await startBackend();
    backend.behave(500);
    const agent = await startAgent({
      exporters: {
        otlp_http: otlpHttp(backend, { dead_letter: { forward_to: "redis_stream/dead" } }),
        "redis_stream/dead": { endpoint: redis.endpoint, logs: { stream: "dead" } },
      },
      pipelines: { logs: { receivers: ["otlp"], exporters: ["otlp_http"] } },
    });
    await agent.send([event("order.paid")]);
    await expect.poll(() => redis.entries("dead")).toHaveLength(1);
    const [fields] = await redis.entries("dead");
    const [letter] = (await agent.deadLetters()) as [Json];
    expect(letter.attempts).toBe(6);
    expect(fields).toMatchObject({
      "x-sluice-error-class": letter.lastError.class,
      "x-sluice-error": letter.lastError.message,
      "x-sluice-reason": "retry_exhausted",
      "x-sluice-exporter": "otlp_http",
      "x-sluice-attempts": "6",
      "x-sluice-first-failed-at": letter.firstFailedAt,
      "x-sluice-failed-at": letter.failure.at,
      "x-sluice-source": "otlp",
      "x-sluice-dead-letter-id": letter.id,
    });
  },
  { needs: { Redis: redisProgram } },
);

row(
  "D13",
  "has the same dead letters in memory and on disk after many changes at once, and lists, replays and expires beside an unreadable one",
  "The changes of one entry are applied in one order, in memory and on disk, however slow the disk is; one unreadable entry stops nothing else: not listing, not expiry, not replay [adr54, e11y].",
  async () => {
    const directory = newDirectory();
    const { agent, backend } = await startRefusing({ dead_letter: { keep_deleted: "1h" } }, {}, { directory });
    const names = Array.from({ length: 12 }, (_, i) => `event ${String(i).padStart(2, "0")}`);
    for (const name of names) await agent.send([event(name, { body: `payload of ${name}` })]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(12);
    const ids = (await agent.deadLetters()).map(({ id }) => id).reverse();
    const attempt = (path: string, body: object) => agent.post(path, body).catch(() => {});
    const change = (id: string) => [
      attempt("/dead-letters/replay", { ids: [id], rate: 0 }),
      attempt(`/dead-letters/${id}/edit`, {
        reason: "test",
        revision: 0,
        payload: JSON.parse(logsBody([`edited ${id}`])),
      }),
      attempt("/dead-letters/purge", { ids: [id] }),
      attempt("/dead-letters/restore", { ids: [id] }),
      attempt("/dead-letters/replay", { ids: [id], rate: 0 }),
    ];
    await Promise.all(ids.slice(0, 8).flatMap(change));
    await expect.poll(async () => (await agent.get("/exporters/otlp_http")).queue.entries).toBe(0);
    const seen = async (running: typeof agent) =>
      (await running.deadLetters()).map(({ id, replays, cycles, edits, attempts }) => ({
        id,
        replays,
        cycles,
        edits,
        attempts,
      }));
    const inMemory = await seen(agent);
    await agent.kill();
    const config = (dead_letter = {}) => ({ exporters: { otlp_http: otlpHttp(backend, { dead_letter }) } });
    const again = await startAgent(config({ keep_deleted: "1h" }), { directory });
    expect(await seen(again)).toEqual(inMemory);
    await again.kill();

    await corruptEntry(directory, "otlp_http", "payload of event 09");
    const damaged = await startAgent(config(), { directory });
    expect(eventsOf(await damaged.deadLetters())).toEqual(expect.arrayContaining(["event 08", "event 10", "event 11"]));
    backend.behave(({ bodies: [body] }) => (/event 1[01]$/.test(body!) ? "ok" : 400));
    await damaged.cli("dlq", "replay", "--event", "event 1*");
    await expect.poll(() => [...backend.bodies].sort()).toEqual(["payload of event 10", "payload of event 11"]);
    await damaged.stop();
    const expiring = await startAgent(config({ retention: "1s" }), { directory });
    await expect.poll(async () => eventsOf(await expiring.deadLetters())).not.toContain("event 08");
  },
);
