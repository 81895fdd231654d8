import { existsSync } from "node:fs";
import { join } from "node:path";
import { Metadata } from "@grpc/grpc-js";
import { expect, onTestFinished } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { encodeStatus } from "../../src/runtime/net/otlp/rpc-status.js";
import { sluiceProcess } from "../agent/cli/dlq/support.js";
import { GrpcJsServer } from "../exporters/grpc-server.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { row } from "./row.js";
import { type Json, startAgent } from "./support/agent.js";
import { startBackend } from "./support/backend.js";
import { defaultKeys, otlpHttp, QUICK_BREAKER } from "./support/exporter.js";

/** Its endpoint has no default. */
const PROMETHEUS = { endpoint: "127.0.0.1:0" };
const delaysOf = (letter: Json) => letter.history.map(({ delayMs }: Json) => delayMs ?? null);
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `record ${i}`);

row(
  "R1",
  "retries with exponential backoff, each exporter by its own keys, which are those of the Collector",
  [
    "Exponential backoff: initial 1 s, multiplier 2, cap 60 s, max 5 retries [foodies, adr54]; per exporter override [e11y].",
    "Also accept the Collector's retry_on_failure keys (initial_interval, max_interval, multiplier, randomization_factor, max_elapsed_time, enabled).",
  ],
  async () => {
    const { retry_on_failure: defaults } = await defaultKeys({ endpoint: "http://127.0.0.1:1" });
    const asked = {
      backoff: "exponential",
      initial_interval: "1s",
      multiplier: 2,
      max_interval: "60s",
      max_retries: 5,
    };
    expect(defaults).toMatchObject({ enabled: true, ...asked });
    const backend = await startBackend();
    backend.behave(500);
    const collectors = { initial_interval: "10ms", max_interval: "30ms", multiplier: 2, randomization_factor: 0 };
    const agent = await startAgent({
      exporters: {
        "otlp_http/capped": otlpHttp(backend, { retry_on_failure: { ...collectors, jitter: undefined } }),
        "otlp_http/steep": otlpHttp(backend, { retry_on_failure: { multiplier: 10, max_retries: 2 } }),
        "otlp_http/elapsed": otlpHttp(backend, {
          retry_on_failure: { max_retries: 1000, max_elapsed_time: "50ms" },
        }),
        "otlp_http/never": otlpHttp(backend, { retry_on_failure: { enabled: false } }),
      },
    });
    await agent.send(["a"]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(4);
    const letters = new Map((await agent.deadLetters()).map((letter) => [letter.exporter, letter]));
    expect(delaysOf(letters.get("otlp_http/capped"))).toEqual([10, 20, 30, 30, 30, null]);
    expect(delaysOf(letters.get("otlp_http/steep"))).toEqual([10, 100, null]);
    expect(letters.get("otlp_http/capped")).toMatchObject({ attempts: 6, failure: { reason: "retry_exhausted" } });
    expect(letters.get("otlp_http/never")).toMatchObject({ calls: 1 });
    expect(letters.get("otlp_http/elapsed").failure).toMatchObject({ rule: "max_elapsed_time" });
  },
);

row(
  "R2",
  "spreads retries by the jitter that is configured, over the whole wait unless another is",
  "Jitter modes: full (default: uniform in 0..delay) [adr54, skill], proportional (+- factor) [foodies, e11y], none.",
  async () => {
    expect((await defaultKeys({ endpoint: "http://127.0.0.1:1" })).retry_on_failure.jitter).toBe("full");
    const backend = await startBackend();
    backend.behave(500);
    const retry = { initial_interval: "100ms", backoff: "fixed", rate_limit: { per_second: 100_000, burst: 100_000 } };
    const exporter = (keys: object) => otlpHttp(backend, { retry_on_failure: { ...retry, ...keys } });
    const agent = await startAgent({
      exporters: {
        "otlp_http/full": exporter({ jitter: undefined }),
        "otlp_http/proportional": exporter({ jitter: "proportional", randomization_factor: 0.2 }),
        "otlp_http/none": exporter({ jitter: "none" }),
      },
    });
    await Promise.all(numbered(20).map((text) => agent.send([text])));
    await expect.poll(() => agent.deadLetters()).toHaveLength(60);
    const letters = await agent.deadLetters();
    const delays = (id: string) =>
      letters.filter(({ exporter: own }) => own === `otlp_http/${id}`).flatMap((each) => delaysOf(each).slice(0, -1));
    const full = delays("full");
    expect(Math.max(...full)).toBeLessThanOrEqual(100);
    // A uniform choice among 100 misses a fifth of the range once in five thousand million runs.
    for (const fifth of [0, 20, 40, 60, 80])
      expect(full.some((delay: number) => delay >= fifth && delay <= fifth + 20)).toBe(true);
    const proportional = delays("proportional");
    expect(Math.min(...proportional)).toBeGreaterThanOrEqual(80);
    expect(Math.max(...proportional)).toBeLessThanOrEqual(120);
    expect(new Set(proportional).size).toBeGreaterThan(1);
    expect(new Set(delays("none"))).toEqual(new Set([100]));
  },
);

row(
  "R3",
  "waits as long as the backend asks, by Retry-After or RetryInfo, if that is longer than the backoff",
  "Retry-After / RetryInfo wins when longer than the backoff.",
  async () => {
    const backend = await startBackend();
    backend.behave(({ bodies }) => {
      const isFirst = backend.calls.filter((call) => call.bodies[0] === bodies[0]).length === 1;
      const headers = { "retry-after": bodies[0] === "longer" ? "1" : "0" };
      return isFirst ? { status: 503, headers } : "ok";
    });
    const server = await new GrpcJsServer().start();
    onTestFinished(() => server.kill());
    const metadata = new Metadata();
    const code = 14;
    metadata.set("grpc-status-details-bin", encodeStatus({ code, message: "", retryAfterMs: 1000 }, "proto"));
    server.respond = (done) =>
      server.received.length === 1 ? done({ code, details: "busy", metadata }) : done(null, Buffer.alloc(0));
    const agent = await startAgent({
      exporters: {
        otlp_http: otlpHttp(backend, { retry_on_failure: { initial_interval: "300ms" } }),
        otlp_grpc: {
          endpoint: `127.0.0.1:${server.port}`,
          tls: { insecure: true },
          retry_on_failure: { initial_interval: "10ms", jitter: "none" },
        },
      },
    });
    const sent = Date.now();
    await agent.send(["longer"]);
    await expect.poll(() => server.received.length).toBe(2);
    expect(Date.now() - sent).toBeGreaterThanOrEqual(1000);
    await agent.send(["shorter"]);
    await expect.poll(() => [...backend.bodies].sort()).toEqual(["longer", "shorter"]);
    const gap = (body: string) => {
      const [first, second] = backend.calls.filter(({ bodies }) => bodies[0] === body);
      return second!.at - first!.at;
    };
    expect(gap("longer")).toBeGreaterThanOrEqual(990);
    expect(gap("shorter")).toBeGreaterThanOrEqual(290);
  },
);

row(
  "R4",
  "records time, error class and delay of each attempt on the entry, in a bounded list",
  "Every attempt is recorded on the entry: time, error class, delay (bounded list) [skill].",
  async () => {
    const backend = await startBackend();
    backend.behave(500);
    const retry = { initial_interval: "1ms", backoff: "fixed", max_retries: 30 };
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { retry_on_failure: retry }) } });
    await agent.send(["a"]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(1);
    const [{ id, attempts, history }] = (await agent.deadLetters()) as [Json];
    expect({ attempts, kept: history.length }).toEqual({ attempts: 31, kept: 16 });
    for (const attempt of history.slice(0, -1)) {
      expect(attempt).toMatchObject({ error: "HTTP 500", delayMs: 1, blame: "entry" });
      expect(Date.parse(attempt.at)).toBeGreaterThan(Date.now() - 3600_000);
    }
    expect(await agent.cli("dlq", "show", id)).toContain("HTTP 500");
  },
);

row(
  "R5",
  "ends at once when it is stopped between and during retries, and sends the entries after its next start",
  "A retry in progress is cancelled cleanly at shutdown; the entry stays queued.",
  async () => {
    const backend = await startBackend();
    backend.behave(({ bodies }) => {
      if (bodies[0] === "waits") return 500;
      return backend.calls.filter((call) => call.bodies[0] === "hangs").length === 1 ? 503 : "hang";
    });
    const config = {
      exporters: { otlp_http: otlpHttp(backend, { retry_on_failure: { initial_interval: "10ms" } }) },
    };
    const waiting = { exporters: { otlp_http: otlpHttp(backend, { retry_on_failure: { initial_interval: "60s" } }) } };
    const directory = join(temporaryFolder(), "queue");
    const first = await startAgent(config, { directory });
    await first.send(["hangs"]);
    await expect.poll(() => backend.calls.length).toBe(2);
    expect(await first.stop()).toBe(0);
    const second = await startAgent(waiting, { directory });
    await second.send(["waits"]);
    await expect.poll(async () => (await second.metrics()).value("sluice_exporter_waiting_retries")).toBe(1);
    expect(await second.stop()).toBe(0);

    backend.behave("ok");
    const third = await startAgent(config, { directory });
    await third.cli("exporter", "retry", "otlp_http");
    await expect.poll(() => [...backend.bodies].sort()).toEqual(["hangs", "waits"]);
    expect(await third.deadLetters()).toEqual([]);
  },
);

row(
  "R6",
  "limits retries per exporter, delays, dead-letters or drops what exceeds it, and drains a backlog slowly at first",
  "Retry rate limit, separate from the main rate limit, token bucket per exporter, default 100 retries/s; on excess: delay (default), dead_letter, drop; staged recovery: after an outage the backlog drains in bounded batches, never as a stampede [e11y 3.5].",
  async () => {
    const { retry_on_failure: defaults } = await defaultKeys({ endpoint: "http://127.0.0.1:1" });
    expect(defaults.rate_limit).toEqual({ per_second: 100, burst: 100, on_excess: "delay" });
    const backend = await startBackend();
    const seen = new Set<string>();
    backend.behave(({ bodies, path }) => {
      const key = `${path} ${bodies[0]}`;
      if (seen.has(key)) return "ok";
      seen.add(key);
      return 503;
    });
    const exporter = (on_excess: string) =>
      otlpHttp(
        { url: `${backend.url}/${on_excess}` },
        { retry_on_failure: { rate_limit: { per_second: 10, burst: 1, on_excess } } },
      );
    const agent = await startAgent({
      exporters: {
        "otlp_http/delay": exporter("delay"),
        "otlp_http/dead_letter": exporter("dead_letter"),
        "otlp_http/drop": exporter("drop"),
      },
    });
    await Promise.all(numbered(12).map((text) => agent.send([text])));
    const delayed = () => backend.taken.filter(({ path }) => path.startsWith("/delay/"));
    await expect.poll(() => delayed().length).toBe(12);
    const times = delayed().map(({ at }) => at);
    // 10 a second and a burst of 1: eleven retries after the first take at least 1.1 s; timers may be a little early.
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1000);
    await expect
      .poll(async () => (await agent.metrics()).value("otelcol_exporter_queue_size"), {
        message: "all queues are empty",
      })
      .toBe(0);
    const letters = await agent.deadLetters();
    expect(letters.length).toBeGreaterThan(0);
    expect(new Set(letters.map(({ exporter: own, failure }) => `${own} ${failure.reason}`))).toEqual(
      new Set(["otlp_http/dead_letter rate_limited"]),
    );
    const metrics = await agent.metrics();
    const dropped = metrics.value("sluice_exporter_dropped_total", { exporter: "otlp_http/drop" })!;
    const kept = backend.taken.filter(({ path }) => path.startsWith("/drop/")).length;
    expect({ dropped: dropped > 0, all: dropped + kept }).toEqual({ dropped: true, all: 12 });
    await staysSlowAfterAnOutage();
  },
);

/** 200 entries wait for a backend that comes back; the ramp begins with 10 a second. */
async function staysSlowAfterAnOutage(): Promise<void> {
  const backend = await startBackend();
  backend.behave(503);
  const keys = { circuit_breaker: { ...QUICK_BREAKER, success_threshold: 1 }, replay: { ramp: "100s" } };
  const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, keys) } });
  await Promise.all(numbered(200).map((text) => agent.send([text])));
  await expect.poll(async () => (await agent.get("/exporters")).exporters[0].breaker.state).toBe("open");
  backend.behave("ok");
  await expect.poll(() => takenWithin(backend.taken, 1000), { message: "a second has passed" }).toBeDefined();
  expect(takenWithin(backend.taken, 1000)).toBeLessThan(40);
}

/** How many calls came within this time after the first; undefined while the time has not passed. */
function takenWithin(calls: readonly { readonly at: number }[], ms: number): number | undefined {
  const [first] = calls;
  if (first === undefined || performance.now() < first.at + ms + 100) return undefined;
  return calls.filter(({ at }) => at < first.at + ms).length;
}

row(
  "R7",
  "makes first attempts at once while retries wait for their limiter",
  "A first attempt is not a retry, and never waits for the retry limiter.",
  async () => {
    const backend = await startBackend();
    backend.behave(({ bodies }) => (bodies[0]!.startsWith("record") ? 503 : "ok"));
    const retry_on_failure = { rate_limit: { per_second: 0.01, burst: 1 } };
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { retry_on_failure }) } });
    await Promise.all(numbered(20).map((text) => agent.send([text])));
    await expect
      .poll(async () => (await agent.metrics()).value("sluice_retry_limiter_limited_total"))
      .toBeGreaterThan(0);
    await Promise.all(["x", "y", "z"].map((text) => agent.send([text])));
    await expect.poll(() => [...backend.bodies].sort()).toEqual(["x", "y", "z"]);
    // One retry of the burst: the next is due after 100 s.
    expect(backend.calls.length).toBeLessThanOrEqual(20 + 3 + 2);
  },
);

row(
  "R8",
  "also backs off by linear and fixed waits, and ramps up after a failure, but not after a restart",
  [
    "Linear and fixed backoff beside exponential [skill].",
    "the ramp follows *failure*, not a restart. A backend that answered last time is drained at full speed at once.",
  ],
  async () => {
    const backend = await startBackend();
    const directory = join(temporaryFolder(), "queue");
    const ramp = { replay: { ramp: "1000s" }, circuit_breaker: { ...QUICK_BREAKER, success_threshold: 1 } };
    const config = { exporters: { otlp_http: otlpHttp(backend, ramp) } };
    const healthy = await startAgent(config, { directory });
    await healthy.send(["first"]);
    await expect.poll(() => backend.bodies).toEqual(["first"]);
    await healthy.cli("exporter", "pause", "otlp_http");
    await Promise.all(numbered(300).map((text) => healthy.send([text])));
    expect(await healthy.stop()).toBe(0);
    const restarted = await startAgent(config, { directory });
    await restarted.cli("exporter", "resume", "otlp_http");
    await expect.poll(() => backend.taken.length).toBe(301);
    // At the 10 a second of a ramp this would take 30 s.
    expect(backend.taken[300]!.at - backend.taken[1]!.at).toBeLessThan(15_000);

    // The ramp begins at the rate at which the backend last took entries: here one.
    const recovering = { directory: join(temporaryFolder(), "queue") };
    const slow = await startAgent(config, recovering);
    await slow.send(["last success"]);
    await expect.poll(() => backend.bodies).toContain("last success");
    backend.behave(503);
    await Promise.all(numbered(200).map((text) => slow.send([text])));
    await expect.poll(async () => (await slow.get("/exporters")).exporters[0].breaker.state).toBe("open");
    expect(await slow.stop()).toBe(0);
    const before = backend.taken.length;
    backend.behave("ok");
    await startAgent(config, recovering);
    await expect.poll(() => takenWithin(backend.taken.slice(before), 1000)).toBeDefined();
    expect(takenWithin(backend.taken.slice(before), 1000)).toBeLessThan(100);

    backend.behave(500);
    const retrying = await startAgent({
      exporters: {
        "otlp_http/linear": otlpHttp(backend, { retry_on_failure: { backoff: "linear", increment: "5ms" } }),
        "otlp_http/fixed": otlpHttp(backend, { retry_on_failure: { backoff: "fixed" } }),
      },
    });
    await retrying.send(["a"]);
    await expect.poll(() => retrying.deadLetters()).toHaveLength(2);
    const delays = (await retrying.deadLetters()).map((letter) => [letter.exporter, delaysOf(letter)]);
    expect(Object.fromEntries(delays)).toEqual({
      "otlp_http/linear": [10, 15, 20, 25, 30, null],
      "otlp_http/fixed": [10, 10, 10, 10, 10, null],
    });
  },
);

row(
  "R9",
  "spends attempts only on failures about the entry, so that an outage makes no dead letter and a poison that is alone does",
  "Whose failure it is: failures of the way spend no attempt, ever; failures about the entry spend one each, probes included. An outage makes no dead letter, and a poison that is alone becomes one after a bounded number of calls [foodies, adr54, story].",
  async () => {
    const closed = { url: `http://127.0.0.1:${await freePort()}` };
    const down = await startBackend();
    const outages = [503, "reset", { status: 429, headers: { "retry-after": "0" } }, 502, 504] as const;
    down.behave(() => outages[down.calls.length % outages.length]!);
    const poisoned = await startBackend();
    poisoned.behave(({ isCheck }) => (isCheck ? "ok" : 500));
    const fixed = { retry_on_failure: { backoff: "fixed", blame_entry_on: [] } };
    const agent = await startAgent({
      exporters: {
        "otlp_http/closed": otlpHttp(closed, fixed),
        "otlp_http/down": otlpHttp(down, fixed),
        "otlp_http/breaker": otlpHttp(down, { ...fixed, circuit_breaker: QUICK_BREAKER }),
        "otlp_http/poisoned": otlpHttp(poisoned, { ...fixed, circuit_breaker: QUICK_BREAKER }),
      },
    });
    await agent.send(["a"]);
    await expect.poll(() => agent.deadLetters()).toHaveLength(1);
    const [letter] = (await agent.deadLetters()) as [Json];
    expect(letter).toMatchObject({ exporter: "otlp_http/poisoned", attempts: 6, failure: { rule: "max_retries" } });
    expect(poisoned.calls.length).toBe(6);
    await expect.poll(() => down.calls.length).toBeGreaterThan(30);
    expect(await agent.deadLetters()).toHaveLength(1);
    down.behave("ok");
    await expect.poll(() => down.bodies).toEqual(["a", "a"]);
    expect((await agent.get("/exporters/otlp_http%2Fclosed")).queue.entries).toBe(1);
  },
);

row(
  "R10",
  "retries by default in every exporter with a queue, and keeps entries in the queue while the disk of a file is full",
  "Every exporter with a queue retries by default; a full disk is a failure of the way [e11y, foodies].",
  async () => {
    const queue = { sending_queue: { enabled: true } };
    const { code, out } = await sluiceProcess(["components", "--json"]);
    expect(code).toBe(0);
    const exporters = (JSON.parse(out) as Json[]).filter(({ kind }) => kind === "exporter");
    const defaultOf = ({ keys }: Json, key: string) => keys.find(({ path }: Json) => path === key)?.default;
    const withQueue = exporters.filter((exporter) => defaultOf(exporter, "sending_queue.enabled") === true);
    expect(withQueue.length).toBeGreaterThan(30);
    expect(withQueue.filter((each) => defaultOf(each, "retry_on_failure.enabled") !== true)).toEqual([]);
    for (const { type } of exporters.filter((exporter) => !withQueue.includes(exporter))) {
      const keys = {
        ...queue,
        ...(type === "file" ? { path: "x" } : {}),
        ...(type === "prometheus" ? PROMETHEUS : {}),
      };
      const signal = type === "prometheus" ? "metrics" : "logs";
      expect((await defaultKeys(keys, type, signal)).retry_on_failure.enabled, type).toBe(true);
    }
    const agent = await startAgent({ exporters: { file: { path: "/dev/full", ...queue } } });
    await agent.send(["a"]);
    const failed = async () =>
      (await agent.metrics()).value("sluice_exporter_failed_calls_total", { blame: "backend" });
    await expect.poll(failed).toBeGreaterThanOrEqual(2);
    expect(await agent.deadLetters()).toEqual([]);
    expect((await agent.get("/exporters/file")).queue.entries).toBe(1);
  },
  { needs: { "/dev/full": existsSync("/dev/full") } },
);
