import { expect } from "vitest";
import { row } from "./row.js";
import { type Json, type RunningAgent, startAgent } from "./support/agent.js";
import { type Backend, startBackend } from "./support/backend.js";
import { defaultKeys, otlpHttp } from "./support/exporter.js";

const breakerOf = async (agent: RunningAgent, id = "otlp_http"): Promise<string> =>
  (await agent.get(`/exporters/${encodeURIComponent(id)}`)).breaker.state;
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `record ${i}`);

/** Answers calls without records, which are those of the health check. */
function failing(backend: Backend, check: "ok" | number = 503): void {
  backend.behave(({ isCheck }) => (isCheck ? check : 503));
}

row(
  "B1",
  "opens the breaker after 5 failures in a row, probes one entry at a time, closes after 2 successes, reopens after a failure",
  "closed -> open after 5 consecutive failures; open for 30 s; half-open admits 1 probe at a time; 2 successes close it; any failure reopens [foodies, skill; e11y: 60 s, 3]. Per exporter. Optionally a failure-rate window beside the consecutive count.",
  async () => {
    expect((await defaultKeys({ endpoint: "http://127.0.0.1:1" })).circuit_breaker).toMatchObject({
      enabled: true,
      failure_threshold: 5,
      reset_timeout: "30s",
      half_open_probes: 1,
      success_threshold: 2,
      failure_rate: 0,
    });
    const backend = await startBackend();
    const calls = { underWay: 0, most: 0, answer: 503 as number | "ok" };
    backend.behave(async ({ isCheck }) => {
      if (isCheck) return "ok";
      calls.underWay++;
      calls.most = Math.max(calls.most, calls.underWay);
      await new Promise((resolve) => setTimeout(resolve, 20));
      calls.underWay--;
      return calls.answer;
    });
    const agent = await startAgent({
      exporters: {
        otlp_http: otlpHttp(backend, {
          circuit_breaker: { reset_timeout: "100ms" },
          retry_on_failure: { initial_interval: "60s" },
          sending_queue: { num_consumers: 1, merge_backlog: false },
        }),
      },
    });
    for (let i = 1; i <= 4; i++) {
      await agent.send([`record ${i}`]);
      await expect.poll(() => backend.calls.length).toBe(i);
      expect((await agent.metrics()).value("sluice_breaker_opened_total")).toBe(0);
    }
    await agent.send(["record 5"]);
    await expect.poll(async () => (await agent.metrics()).value("sluice_breaker_opened_total")).toBe(1);
    await Promise.all(numbered(20).map((text) => agent.send([text])));
    // A failed probe reopens it.
    await expect.poll(async () => (await agent.metrics()).value("sluice_breaker_opened_total")).toBeGreaterThan(2);
    expect(calls.most).toBe(1);
    calls.answer = "ok";
    await expect.poll(() => breakerOf(agent)).toBe("closed");
    expect(backend.taken.length).toBeGreaterThanOrEqual(2);
    expect((await agent.metrics()).value("sluice_breaker_closed_total")).toBe(1);
    await opensByRate();
  },
);

/** Every second call fails: never two in a row. */
async function opensByRate(): Promise<void> {
  const backend = await startBackend();
  backend.behave(() => (backend.calls.length % 2 === 0 ? 503 : "ok"));
  const circuit_breaker = { failure_rate: 0.4, minimum_calls: 10, reset_timeout: "1h", failure_threshold: 5 };
  const agent = await startAgent({
    exporters: { otlp_http: otlpHttp(backend, { circuit_breaker, sending_queue: { num_consumers: 1 } }) },
  });
  for (const text of numbered(20)) await agent.send([text]);
  await expect.poll(() => breakerOf(agent)).toBe("open");
}

row(
  "B2",
  "keeps entries in the queue without spending attempts while the breaker is open, or dead-letters them if told to",
  "While open: entries wait in the queue, attempts not spent (default `on_open: hold`); `on_open: dead_letter` for those who want the fast fail of [e11y].",
  async () => {
    expect((await defaultKeys({ endpoint: "http://127.0.0.1:1" })).circuit_breaker.on_open).toBe("hold");
    const backend = await startBackend();
    failing(backend);
    const breaker = { failure_threshold: 1, reset_timeout: "50ms", success_threshold: 1 };
    const agent = await startAgent({
      exporters: {
        "otlp_http/hold": otlpHttp({ url: `${backend.url}/hold` }, { circuit_breaker: breaker }),
        "otlp_http/fast": otlpHttp(
          { url: `${backend.url}/fast` },
          { circuit_breaker: { ...breaker, reset_timeout: "1h", on_open: "dead_letter" } },
        ),
      },
    });
    await agent.send(["first"]);
    for (const id of ["hold", "fast"]) await expect.poll(() => breakerOf(agent, `otlp_http/${id}`)).toBe("open");
    await Promise.all(numbered(20).map((text) => agent.send([text])));
    await expect.poll(async () => (await agent.deadLetters()).length).toBeGreaterThanOrEqual(20);
    const letters = await agent.deadLetters();
    expect(new Set(letters.map(({ exporter, failure }) => `${exporter} ${failure.reason}`))).toEqual(
      new Set(["otlp_http/fast circuit_open"]),
    );
    await expect.poll(() => backend.checks.filter(({ path }) => path.startsWith("/hold")).length).toBeGreaterThan(8);
    backend.behave("ok");
    await expect.poll(() => backend.taken.filter(({ path }) => path.startsWith("/hold")).length).toBe(21);
  },
);

row(
  "B3",
  "probes an exporter with a health check in the background, and sends nothing before the check is answered",
  "Self-healing: an exporter with a health check is probed in the background while open [e11y 7.1].",
  async () => {
    const backend = await startBackend();
    failing(backend);
    const circuit_breaker = { failure_threshold: 1, reset_timeout: "50ms" };
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { circuit_breaker }) } });
    await agent.send(["a"]);
    await expect.poll(() => backend.checks.length).toBeGreaterThan(5);
    expect(backend.calls.length).toBe(1);
    const checks = (await agent.metrics()).all("sluice_exporter_health_checks_total");
    expect(checks.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(4);
    backend.behave("ok");
    await expect.poll(() => backend.bodies).toEqual(["a"]);
  },
);

row(
  "B4",
  "delivers to other exporters at full speed while the breaker of one is open",
  "One exporter's breaker never affects another's; others deliver at full speed [e11y 6].",
  async () => {
    const [broken, healthy] = [await startBackend(), await startBackend()];
    broken.behave("hang");
    const circuit_breaker = { failure_threshold: 1, reset_timeout: "1h" };
    const agent = await startAgent({
      exporters: {
        "otlp_http/broken": otlpHttp(broken, { circuit_breaker, timeout: "100ms" }),
        "otlp_http/healthy": otlpHttp(healthy, { circuit_breaker }),
      },
    });
    await agent.send(["first"]);
    await expect.poll(() => breakerOf(agent, "otlp_http/broken")).toBe("open");
    for (const text of numbered(100)) expect((await agent.send([text])).status).toBe(200);
    await expect.poll(() => healthy.bodies.length).toBe(101);
    expect(await breakerOf(agent, "otlp_http/healthy")).toBe("closed");
    expect((await agent.get("/exporters/otlp_http%2Fbroken")).queue.entries).toBe(101);
    expect((await agent.get("/exporters/otlp_http%2Fhealthy")).queue.entries).toBe(0);
  },
);

row(
  "B5",
  "shows state, transitions and rejections in metrics, log, health, command line and console",
  "State, transitions and rejections are metrics, events on the log, and visible in health, CLI and console.",
  async () => {
    const backend = await startBackend();
    failing(backend);
    const circuit_breaker = { failure_threshold: 1, reset_timeout: "1s", success_threshold: 1 };
    const agent = await startAgent({ exporters: { otlp_http: otlpHttp(backend, { circuit_breaker }) } });
    await agent.send(["a"]);
    await expect.poll(() => breakerOf(agent)).toBe("open");
    await expect
      .poll(async () => {
        await agent.send(["b"]);
        return (await agent.metrics()).value("sluice_breaker_rejected_total");
      })
      .toBeGreaterThan(0);
    await expect.poll(() => breakerOf(agent)).toBe("open");
    const open = await agent.metrics();
    expect(open.value("sluice_breaker_state")).toBe(2);
    expect(open.value("sluice_breaker_opened_total")).toBeGreaterThan(0);
    expect(await agent.cli("status")).toMatch(/otlp_http\s+DOWN\s+open/);
    const health = (await (await fetch(`${agent.health}/healthz/exporters`)).json()) as Json;
    expect(health.exporters.otlp_http).toMatchObject({ status: "DOWN" });
    // The console reads this of the admin API, and is served beside it.
    expect((await agent.get("/overview")).exporters).toMatchObject({ down: 1, unwell: [{ id: "otlp_http" }] });
    expect(await (await fetch(agent.admin)).text()).toMatch(/<html/i);
    backend.behave("ok");
    await expect.poll(() => breakerOf(agent)).toBe("closed");
    expect((await agent.metrics()).value("sluice_breaker_closed_total")).toBe(1);
    const told = agent.log.filter(({ msg }) => /breaker/.test(msg)).map(({ msg }) => msg);
    expect(told.join("\n")).toMatch(/open/);
    expect(told.join("\n")).toMatch(/closed/);
  },
);
