import { join } from "node:path";
import { expect } from "vitest";
import { readRecords } from "../../src/plugin.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { row } from "./row.js";
import { type Json, type RunningAgent, startAgent } from "./support/agent.js";
import { type Call, startBackend } from "./support/backend.js";
import { defaultKeys, otlpHttp, startRefusing } from "./support/exporter.js";
import type { LogRecord } from "./support/records.js";

const newDirectory = () => join(temporaryFolder(), "queue");
const event = (name: string, more: LogRecord = {}): LogRecord => ({ event: name, body: name, ...more });
const keyOf = ({ headers }: Call) => headers["sluice-idempotency-key"];
/** These attributes of the only record of a call. */
function attributesOf({ batch }: Call, ...names: string[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  readRecords(batch, ({ attributes }) => {
    for (const name of names) found[name] = attributes.get(name);
  });
  return found;
}
const untilDead = (agent: RunningAgent, count: number) => expect.poll(() => agent.deadLetters()).toHaveLength(count);
const dryRun = async (agent: RunningAgent, body: object = { all: true }) =>
  (await agent.post("/dead-letters/replay", { ...body, dryRun: true })).report;

row(
  "P1",
  "replays in place: the cycle that ended goes into the history, counters start anew, id and key stay",
  "In place: snapshot the cycle into failure_history, clear attempts/last_error/first_failed_at, state pending, same id and idempotency key, new generation, replayed_by [adr54 D5].",
  async () => {
    const { agent, backend } = await startRefusing();
    await agent.send(["a"]);
    await untilDead(agent, 1);
    const [before] = (await agent.deadLetters()) as [Json];
    backend.behave("hang");
    await agent.cli("dlq", "replay", before.id, "--by", "ann", "--generation", "v2");
    await expect.poll(() => backend.calls.length).toBe(2);
    const { entry } = await agent.get(`/dead-letters/${before.id}`);
    expect(entry).toMatchObject({ id: before.id, state: "in_flight", attempts: 0, history: [], replays: 1 });
    expect([entry.lastError, entry.firstFailedAt, entry.failure]).toEqual([undefined, undefined, undefined]);
    expect(entry.generation).toBe("v2");
    expect(entry.cycles).toMatchObject([
      { failure: before.failure, attempts: 1, firstFailedAt: before.firstFailedAt, replayedBy: "ann" },
    ]);
    expect(entry.cycles[0].generation).toBe(before.generation);
    expect(backend.calls.map(keyOf)).toEqual([before.id, before.id]);
  },
);

row(
  "P2",
  "replays one, many, by filter, by signature and all, at a rate, dry, with a cap, and with approval where it is risky",
  "One, many, by filter, by error signature, all; bounded batches (50) and a rate; dry run that only counts; a cap on replays per entry; approval flag for high-risk replays [skill].",
  async () => {
    const { replay } = await defaultKeys({ endpoint: "http://127.0.0.1:1" });
    expect(replay).toMatchObject({ batch_size: 50, rate: 50, max_replays: 10 });
    const require_approval = [{ event: "risky.*" }];
    const { agent, backend } = await startRefusing({
      replay: { max_replays: 1, require_approval, batch_size: 5, rate: 10 },
    });
    const names = ["one", "two", "three", "risky.1", ...Array.from({ length: 20 }, (_, i) => `order.${i}`)];
    for (const name of names) await agent.send([event(name)]);
    await untilDead(agent, 24);
    const ids = new Map(
      (await agent.deadLetters()).map(({ id, failure }) => [failure.names[0] as string, id as string]),
    );
    expect(await dryRun(agent)).toMatchObject({ selected: 24, replayed: 23, skipped: { skip_approval: 1 } });
    expect(backend.calls.length).toBe(24);
    expect(await agent.deadLetters()).toHaveLength(24);

    await agent.cli("dlq", "replay", ids.get("one")!);
    await expect.poll(() => backend.calls.length).toBe(25);
    await untilDead(agent, 24);
    expect((await dryRun(agent, { ids: [ids.get("one")] })).skipped).toMatchObject({ skip_max_replays: 1 });
    backend.behave("ok");
    await agent.cli("dlq", "replay", ids.get("two")!, ids.get("three")!, "--wait");
    expect([...backend.bodies].sort()).toEqual(["three", "two"]);
    const started = performance.now();
    await agent.cli("dlq", "replay", "--event", "order.*", "--wait");
    // 20 entries at 10 a second.
    expect(performance.now() - started).toBeGreaterThan(1000);
    expect(backend.bodies.length).toBe(22);
    const { signatures } = await agent.cliJson("dlq", "stats");
    const [{ signature }] = signatures;
    await agent.cli("dlq", "replay", "--signature", signature, "--approve", "--wait");
    expect(backend.bodies.slice(22).sort()).toEqual(["one", "risky.1"]);
    backend.behave(400);
    await agent.send(["last"]);
    await untilDead(agent, 1);
    backend.behave("ok");
    await agent.cli("dlq", "replay", "--all", "--wait");
    expect(backend.bodies.at(-1)).toBe("last");
  },
);

row(
  "P3",
  "checks approval, schema, age and backend in this order, and reports what it skipped and why",
  "Checks in order: approved, schema valid, not expired, downstream healthy (breaker not open); each skip is reported with its reason (skip_schema, skip_expired, skip_downstream ...) [skill].",
  async () => {
    const directory = newDirectory();
    const replay = { require_approval: [{ event: "risky.*" }] };
    const { agent: first, backend } = await startRefusing({ replay }, {}, { directory });
    const broken = { attributes: { sum: "many" } };
    for (const record of [event("risky.order", broken), event("order", broken), event("plain")])
      await first.send([record]);
    await untilDead(first, 3);
    await first.stop();
    // The config has learnt a version since; an order whose sum is no number cannot be brought to it.
    const upcasts = [{ from: 1, to: 2, convert: { sum: "double" } }];
    const versioning = { events: { order: { current: 2, upcasts }, "risky.order": { current: 2, upcasts } } };
    const second = await startAgent(
      {
        processors: { versioning: { ...versioning, unknown: "dead_letter" } },
        exporters: { otlp_http: otlpHttp(backend, { replay, circuit_breaker: {} }) },
      },
      { directory },
    );
    await second.cli("exporter", "breaker", "otlp_http", "open");
    expect(await dryRun(second)).toMatchObject({
      selected: 3,
      replayed: 0,
      skipped: { skip_approval: 1, skip_schema: 1, skip_downstream: 1 },
    });
    expect(await second.cli("dlq", "replay", "--all", "--dry-run")).toMatch(/circuit breaker is open/);
    await skipsExpired();
  },
);

/** Between two runs of the cleanup, a dead letter is there and too old. */
async function skipsExpired(): Promise<void> {
  const { agent } = await startRefusing({ dead_letter: { retention: "1s" }, circuit_breaker: {} });
  await agent.cli("exporter", "breaker", "otlp_http", "closed");
  const skipped = async () => {
    await agent.send(["a"]);
    return (await dryRun(agent)).skipped;
  };
  await expect.poll(skipped).toMatchObject({ skip_expired: expect.any(Number) });
}

row(
  "P4",
  "brings a replayed entry to the current version, and leaves a hash that it has already made as it is",
  "Replayed entries pass through the versioning step again, so an old schema version is upcast, not refused; PII already treated is not treated twice (a hash stays the same hash).",
  async () => {
    const directory = newDirectory();
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the config reads the variable
    const pii = { fields: { "user.email": "hash" }, hash_key: "${env:HASH_KEY}" };
    const env = { HASH_KEY: "0123456789abcdef0123456789abcdef" };
    const { agent: first, backend } = await startRefusing({}, { processors: { pii } }, { directory, env });
    const attributes = { sum: "12.50", "user.email": "ann@example.com" };
    await first.send([event("order.paid", { attributes })]);
    await untilDead(first, 1);
    await first.stop();
    const { "user.email": hash } = attributesOf(backend.calls[0]!, "user.email");
    expect(hash).toMatch(/^[^@]{8,}$/);
    const upcasts = [{ from: 1, to: 2, rename: { sum: "amount" }, convert: { amount: "double" } }];
    backend.behave("ok");
    const second = await startAgent(
      {
        processors: { pii, versioning: { events: { "order.paid": { current: 2, upcasts } } } },
        exporters: { otlp_http: otlpHttp(backend) },
      },
      { directory, env },
    );
    await second.cli("dlq", "replay", "--all", "--wait");
    const replayed = attributesOf(backend.taken[0]!, "amount", "sum", "user.email");
    expect(replayed).toEqual({ amount: 12.5, sum: undefined, "user.email": hash });
  },
);

row(
  "P5",
  "replays transient dead letters by itself when the backend has recovered, but neither others nor those that are too old",
  "Optional automatic replay of transient dead letters when the exporter has recovered: schedule, batch size, max age [e11y 7.2].",
  async () => {
    const { auto_replay: defaults } = (await defaultKeys({ endpoint: "http://127.0.0.1:1" })).dead_letter;
    expect(defaults).toMatchObject({ enabled: false, batch_size: 50, max_age: "24h", schedule: "" });
    const backend = await startBackend();
    backend.behave(({ bodies: [body] }) => (body === "permanent" ? 400 : 500));
    const exporter = (auto_replay: object) =>
      otlpHttp(backend, {
        dead_letter: { auto_replay: { enabled: true, interval: "1s", batch_size: 1, ...auto_replay } },
      });
    const agent = await startAgent({
      exporters: {
        "otlp_http/auto": exporter({}),
        "otlp_http/old": exporter({ max_age: "1ms" }),
        "otlp_http/scheduled": exporter({ schedule: "0 0 1 1 *", time_zone: "UTC" }),
      },
    });
    for (const text of ["permanent", "a", "b"]) await agent.send([text]);
    await untilDead(agent, 9);
    backend.behave(({ bodies: [body] }) => (body === "permanent" ? 400 : "ok"));
    await expect.poll(async () => [...backend.bodies].sort()).toEqual(["a", "b"]);
    const left = (await agent.deadLetters()).map(({ exporter: own }) => own).sort();
    expect(left).toEqual([
      "otlp_http/auto",
      ...Array(3).fill("otlp_http/old"),
      ...Array(3).fill("otlp_http/scheduled"),
    ]);
  },
);

row(
  "P6",
  "has a replayed entry that fails again back as a dead letter, with one cycle more and all its records",
  "Replay that fails again: the entry is back in the DLQ with one more history cycle, nothing lost.",
  async () => {
    const { agent, backend } = await startRefusing();
    await agent.send(["a"]);
    await untilDead(agent, 1);
    const [{ id }] = (await agent.deadLetters()) as [Json];
    for (const cycles of [1, 2]) {
      await agent.cli("dlq", "replay", id);
      await expect
        .poll(async () => (await agent.deadLetters()).map((each) => [each.id, each.cycles.length, each.attempts]))
        .toEqual([[id, cycles, 1]]);
    }
    expect((await agent.metrics()).value("sluice_dead_letter_replays_failed_total")).toBe(2);
    backend.behave("ok");
    await agent.cli("dlq", "replay", id, "--wait");
    expect(backend.bodies).toEqual(["a"]);
  },
);

row(
  "P7",
  "sends one idempotency key with every try of an entry, and takes data once that comes twice with its key",
  "Dedup: the idempotency key travels with the export (header), and a Sluice receiver can drop what it has already taken.",
  async () => {
    const backend = await startBackend();
    const dedup = { enabled: true };
    const protocols = { http: { endpoint: "127.0.0.1:0" } };
    const second = await startAgent({
      receivers: { otlp: { protocols, dedup } },
      exporters: { otlp_http: otlpHttp(backend) },
    });
    // Takes the data, and breaks off before it answers.
    const relay = await startBackend();
    relay.behave(async ({ bodies, headers }) => {
      const key = headers["sluice-idempotency-key"] as string;
      const { status } = await second.send(bodies, { "sluice-idempotency-key": key });
      return relay.calls.length === 1 ? "reset" : status === 200 ? "ok" : status;
    });
    const first = await startAgent({ exporters: { otlp_http: otlpHttp(relay) } });
    await first.send(["a"]);
    await expect.poll(() => relay.calls.length).toBe(2);
    expect(new Set(relay.calls.map(keyOf)).size).toBe(1);
    await first.send(["b"]);
    await expect.poll(() => backend.bodies).toEqual(["a", "b"]);
    expect((await second.metrics()).value("otelcol_receiver_accepted_log_records")).toBeGreaterThanOrEqual(2);
  },
);
