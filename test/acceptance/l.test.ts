import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { OtlpSink } from "../support/otlp-sink.js";
import { type LogInput, logBatch } from "../support/sampled.js";
import { row } from "./row.js";
import { startBackendSink } from "./support/parallel-pipelines.js";
import { startProgram } from "./support/program.js";
import { namesIn, type StartedAgent, startAgent } from "./support/started-agent.js";

const events = (name: string, count: number) => Array.from({ length: count }, (): LogInput => ({ event: name }));
const countOf = (names: readonly string[], name: string) => names.filter((each) => each === name).length;

/** An agent that limits logs on their way to a backend without a queue: what it has is what passed. */
async function limitedAgent(limits: string): Promise<{ agent: StartedAgent; sink: OtlpSink }> {
  const sink = await startBackendSink();
  const agent = await startAgent(`
processors:
  rate_limit: ${limits}
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {enabled: false}}}
service: {pipelines: {logs: {receivers: [otlp], processors: [rate_limit], exporters: [otlp_http]}}}
`);
  return { agent, sink };
}

row(
  "L1",
  "admits at most 100 and the burst in any 60 seconds, wherever they begin",
  "Token bucket, correct for any window (100 per 60 s admits at most 100 plus burst in any 60 s)",
  async () => {
    const program = await startProgram({ rate_limit: { limit: 100, window: "60s", burst: 20 } });
    const { sluice, clock } = program;
    const admittedAt: number[] = [];
    for (let second = 0; second < 300; second++) {
      const before = program.count;
      // Quiet minutes, a rush, and a steady flow: a bucket that is refilled at fixed times admits 240 around one of them.
      const arrived = second < 59 ? 0 : second < 62 ? 150 : second % 7;
      if (arrived > 0) expect((await sluice.accept(logBatch(events("order", arrived)))).ok).toBe(true);
      for (let i = before; i < program.count; i++) admittedAt.push(clock.monotonic());
      clock.advance(1000);
    }
    // 120 at once, and so many as the window lets go of later.
    expect(countOf(admittedAt.map(String), String(admittedAt[0]))).toBe(120);
    expect(admittedAt.length).toBeGreaterThan(300);
    const tooMany = admittedAt.filter((at, i) => i >= 120 && at - admittedAt[i - 120]! < 60_000);
    expect(tooMany).toEqual([]);
  },
);

row("L1", "admits no more in any window of a running agent", "correct for any window", async () => {
  // The same law as with 60 s, in windows of one second, which take no minutes.
  const { agent, sink } = await limitedAgent("{limit: 100, window: 1s, burst: 20, key: []}");
  const requests: { readonly sent: number; answered: number }[] = [];
  const sendOn = async () => {
    while (sink.count < 320) {
      const request = { sent: performance.now(), answered: Number.POSITIVE_INFINITY };
      const name = String(requests.push(request) - 1);
      expect((await agent.send(logBatch(events(name, 60)))).status).toBe(200);
      request.answered = performance.now();
    }
  };
  await Promise.all([sendOn(), sendOn(), sendOn(), sendOn()]);
  expect(await agent.metric("sluice_rate_limit_limited_items_total")).toBeGreaterThan(320);
  // A record was admitted between its request and the answer: those with both in one window were admitted in it.
  const admitted = namesIn(sink).map((name) => requests[Number(name)]!);
  const inWindowFrom = (start: number) =>
    admitted.filter(({ sent, answered }) => sent >= start && answered < start + 1000).length;
  expect(Math.max(...requests.map(({ sent }) => inWindowFrom(sent)))).toBeLessThanOrEqual(120);
});

row(
  "L1",
  "admits 1,000 records per event name and 10,000 of all of them a second, without any keys",
  ["global (10,000/s) and per key (event name 1,000/s;"],
  async () => {
    const program = await startProgram({ rate_limit: {} });
    const { sluice, clock } = program;
    const names = Array.from({ length: 15 }, (_, i) => `event ${i}`);
    for (const name of names) await sluice.accept(logBatch(events(name, 1200)));
    const passed = names.map((name) => countOf(namesIn(program), name));
    expect(passed).toEqual([...Array(10).fill(1000), ...Array(5).fill(0)]);
    expect(program.count).toBe(10_000);
    clock.advance(1001);
    await sluice.accept(logBatch(events("event 0", 1200)));
    expect(program.count).toBe(11_000);

    const { agent, sink: backend } = await limitedAgent("{}");
    expect((await agent.send(logBatch(events("order", 1200)))).status).toBe(200);
    expect(backend.count).toBe(1000);
    expect(await agent.metric("sluice_rate_limit_limited_items_total", { limit: "key" })).toBe(200);
  },
);

row(
  "L1",
  "counts by any attribute, resource or client metadata",
  "any attribute, resource or client metadata",
  async () => {
    const { agent, sink } = await limitedAgent(
      "{limit: 2, window: 1h, key: [attributes.tenant, resource.service.name, metadata.x-team]}",
    );
    const send = (tenant: string, service: string, team: string) => {
      const records = Array.from({ length: 5 }, () => ({
        attributes: { tenant },
        event: `${tenant} ${service} ${team}`,
      }));
      return agent.send(logBatch(records, { "service.name": service }), { headers: { "x-team": team } });
    };
    const keys = ["acme shop red", "bolt shop red", "acme mail red", "acme shop blue"];
    for (const key of [...keys, ...keys]) await send(...(key.split(" ") as [string, string, string]));
    expect(namesIn(sink)).toEqual(keys.flatMap((key) => [key, key]));
  },
);

row("L1", "bounds the number of keys: the rest share one limit", "bounded number of keys", async () => {
  const { agent, sink } = await limitedAgent("{limit: 1, window: 1h, max_keys: 3}");
  for (let i = 0; i < 50; i++) await agent.send(logBatch(events(`made up ${i}`, 1)));
  expect(namesIn(sink)).toEqual(["made up 0", "made up 1", "made up 2", "made up 3"]);
  expect(await agent.metric("sluice_rate_limit_keys")).toBe(3);
  expect(await agent.metric("sluice_rate_limit_overflowed_items_total")).toBe(47);
});

row(
  "L2",
  "drops, keeps as dead letters or refuses with 429 what is over the limit, and saves what the filter always saves",
  "On excess: drop, dead_letter, refuse (429 to the client); D8 holds.",
  async () => {
    const sink = await startBackendSink();
    const ways = ["drop", "dead_letter", "refuse"];
    const limits = ways.map((way) => `rate_limit/${way}: {limit: 1, window: 1h, on_excess: ${way}}`);
    const agent = await startAgent(`
receivers: {${ways.map((way) => `otlp/${way}: {protocols: {http: {endpoint: "127.0.0.1:0"}}}`).join(", ")}}
processors: {${limits.join(", ")}}
exporters: {otlp_http: {endpoint: "${sink.url}", dead_letter: {filter: {always_save: ["audit.*"]}}}}
service:
  pipelines:
    ${ways.map((way) => `logs/${way}: {receivers: [otlp/${way}], processors: [rate_limit/${way}], exporters: [otlp_http]}`).join("\n    ")}
`);
    const send = (way: string, name: string) => agent.send(logBatch(events(name, 2)), { receiver: `otlp/${way}` });
    const page = async () =>
      (await agent.api<{ entries: { failure: { names: string[]; reason: string } }[] }>("/dead-letters")).entries.map(
        ({ failure }) => [failure.reason, failure.names],
      );

    expect((await send("drop", "chat")).status).toBe(200);
    expect(await agent.metric("sluice_setback_items_total", { outcome: "dropped" })).toBe(1);
    expect(await page()).toEqual([]);
    // D8: the exporter's filter is asked before a record is dropped.
    expect((await send("drop", "audit.login")).status).toBe(200);
    expect(await page()).toEqual([["rate_limited", ["audit.login"]]]);

    expect((await send("dead_letter", "order")).status).toBe(200);
    expect(await page()).toContainEqual(["rate_limited", ["order"]]);
    await agent.sluice("dlq", "replay", "--all", "--by", "ann", "--wait");
    expect(countOf(namesIn(sink), "order")).toBe(2);

    // Of a key that has room for one, two never fit: no retry would help. One more fits when the hour is over.
    expect((await send("refuse", "bulk")).status).toBe(400);
    const one = () => agent.send(logBatch(events("page", 1)), { receiver: "otlp/refuse" });
    expect((await one()).status).toBe(200);
    const refused = await one();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3500);
    expect(countOf(namesIn(sink), "page")).toBe(1);
  },
);

row(
  "L3",
  "lets records bypass the limit by severity, pattern and condition, and only from the clients that prove themselves",
  "Bypass by severity, event pattern, condition; documented as forgeable, may require authenticated clients [e11y 4.6.3].",
  async () => {
    const { agent, sink } = await limitedAgent(`
    limit: 1
    window: 1h
    key: []
    bypass:
      - severity>=ERROR
      - audit.*
      - {condition: 'attributes["status"] >= 500'}
      - {pattern: "billing.*", metadata: {x-ingest-token: secret-of-billing}}`);
    const send = (record: LogInput, headers = {}) => agent.send(logBatch([record, record]), { headers });
    await send({ event: "chat" });
    await send({ event: "chat" });
    expect(namesIn(sink)).toEqual(["chat"]);
    await send({ event: "error", severity: 17 });
    await send({ event: "warning", severity: 13 });
    await send({ event: "audit.login" });
    await send({ event: "call", attributes: { status: 503 } });
    await send({ event: "call ok", attributes: { status: 200 } });
    await send({ event: "billing.paid" });
    await send({ event: "billing.paid" }, { "x-ingest-token": "guessed" });
    expect(namesIn(sink).slice(1)).toEqual(["error", "error", "audit.login", "audit.login", "call", "call"]);
    await send({ event: "billing.paid" }, { "x-ingest-token": "secret-of-billing" });
    expect(countOf(namesIn(sink), "billing.paid")).toBe(2);
    expect(await agent.metric("sluice_rate_limit_bypassed_items_total")).toBe(8);

    const page = readFileSync(join(import.meta.dirname, "../../docs/components/processors/rate_limit.md"), "utf8");
    expect(page).toContain("Any client of the receiver can write `ERROR` on all its records and so\nbypass the limit.");
  },
);
