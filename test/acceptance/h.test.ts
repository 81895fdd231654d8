import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { logBatch, spanBatch, traceId } from "../support/sampled.js";
import { redisProgram, startRedis } from "../support/servers/redis.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { row } from "./row.js";
import { ALERT_FIGURES, ALERTS } from "./support/alert-figures.js";
import { COUNTED, valueOn } from "./support/counted-metrics.js";
import { startBackendSink } from "./support/parallel-pipelines.js";
import { startProgram } from "./support/program.js";
import { recordsIn, type StartedAgent, startAgent } from "./support/started-agent.js";

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const event = (name: string) => logBatch([{ event: name }]);
const span = (name: string) => spanBatch([{ trace: traceId(name), name }]);
const FAST = "retry_on_failure: {initial_interval: 10ms, max_interval: 10ms}";

interface Health {
  readonly status: string;
  readonly exporters: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly receivers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

async function healthOf(agent: StartedAgent, what: "exporters" | "receivers"): Promise<readonly [number, Health]> {
  const response = await fetch(`${agent.health}/healthz/${what}`);
  return [response.status, (await response.json()) as Health];
}

row(
  "H1",
  "is UP with 100 dead letters, DEGRADED with 101, and DOWN with 503 while a breaker is open",
  "health endpoint with status UP / DEGRADED / DOWN per exporter: breaker state, dead letters, queue depth, last processed at, failure rate; DOWN when a breaker is open, DEGRADED when dead letters > 100; 200 or 503 [foodies 7].",
  async () => {
    const [good, bad, down] = [await startBackendSink(), await startBackendSink(), await startBackendSink()];
    bad.decide(() => 400);
    down.decide(() => 503);
    const agent = await startAgent(`
exporters:
  otlp_http/good: {endpoint: "${good.url}"}
  otlp_http/bad: {endpoint: "${bad.url}", sending_queue: {merge_backlog: false}}
  otlp_http/down: {endpoint: "${down.url}", ${FAST}}
service:
  pipelines:
    logs: {receivers: [otlp], exporters: [otlp_http/good, otlp_http/bad]}
    traces: {receivers: [otlp], exporters: [otlp_http/down]}
`);
    const before = Date.now();
    await Promise.all(many(100, (i) => agent.send(event(`order ${i}`))));
    const stateOf = async (exporter: string) =>
      (await healthOf(agent, "exporters"))[1].exporters[`otlp_http/${exporter}`]!;
    await expect.poll(() => stateOf("bad")).toMatchObject({ deadLetters: 100 });
    const [status, health] = await healthOf(agent, "exporters");
    expect([status, health.status]).toEqual([200, "UP"]);
    expect(health.exporters["otlp_http/good"]).toMatchObject({
      status: "UP",
      breaker: "closed",
      deadLetters: 0,
      failureRate: 0,
    });
    expect(health.exporters["otlp_http/good"]).toHaveProperty("queue.entries", 0);
    expect(Date.parse(String((await stateOf("good"))["lastSentAt"]))).toBeGreaterThanOrEqual(before);

    await agent.send(event("one more"));
    await expect.poll(() => stateOf("bad")).toMatchObject({ status: "DEGRADED", deadLetters: 101, failureRate: 1 });
    expect(await healthOf(agent, "exporters")).toMatchObject([200, { status: "DEGRADED" }]);

    await agent.send(span("pay"));
    await expect
      .poll(() => stateOf("down"))
      .toMatchObject({ status: "DOWN", breaker: "open", queue: { entries: 1, items: 1 } });
    expect(await healthOf(agent, "exporters")).toMatchObject([503, { status: "DOWN" }]);
    expect(await stateOf("good")).toMatchObject({ status: "UP" });
    // A restart would not help: the agent itself stays well.
    expect((await fetch(agent.health)).status).toBe(200);
  },
);

row(
  "H2",
  "counts what happens to entries, for Prometheus and as OTLP",
  "Metrics: sent, failed, retries by attempt, exhausted, permanent, breaker state/opened/closed/rejected, dead letters total by reason and error class, write failures, size, oldest age, attempts before DLQ (histogram), filtered out, replayed, replay failed, retry limiter allowed/limited, health checks [all]. Prometheus endpoint and OTLP.",
  async () => {
    const [good, bad, tired, down, own] = [
      await startBackendSink(),
      await startBackendSink(),
      await startBackendSink(),
      await startBackendSink(),
      await startBackendSink(),
    ];
    bad.decide(() => 400);
    tired.decide(() => 500);
    down.decide(() => 503);
    const metricsPort = await freePort();
    const agent = await startAgent(
      `
exporters:
  otlp_http/good: {endpoint: "${good.url}"}
  otlp_http/bad: {endpoint: "${bad.url}", dead_letter: {filter: {never_save: ["noise.*"]}}}
  otlp_http/tired:
    endpoint: "${tired.url}"
    retry_on_failure: {initial_interval: 10ms, max_interval: 10ms, max_retries: 3, rate_limit: {per_second: 2, burst: 1}}
    circuit_breaker: {enabled: false}
  otlp_http/down: {endpoint: "${down.url}", ${FAST}, circuit_breaker: {reset_timeout: 300ms}}
service:
  telemetry:
    metrics:
      readers:
        - pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${metricsPort}}}}
        - periodic: {interval: 250, exporter: {otlp: {protocol: http/protobuf, endpoint: "${own.url}"}}}
  pipelines:
    logs: {receivers: [otlp], exporters: [otlp_http/good, otlp_http/bad, otlp_http/tired]}
    traces: {receivers: [otlp], exporters: [otlp_http/down]}
`,
    );
    await Promise.all(["order.paid", "order.lost", "noise.tick"].map((name) => agent.send(event(name))));
    await agent.send(span("pay"));
    await agent.send(span("ship"));
    const seen = new Set<string>();
    // Gauges are above 0 at one time or another: what was seen once counts.
    const look = async () => {
      const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      for (const [what, metric] of Object.entries(COUNTED)) if (valueOn(page, metric) > 0) seen.add(what);
      return page;
    };
    const unseen = async (among: readonly string[]) => {
      await look();
      return among.filter((what) => !seen.has(what));
    };
    await expect.poll(() => unseen(["breaker opened", "health checks"])).toEqual([]);
    // Only what arrives while it is open, not half open, counts as rejected.
    const rejected = async () => {
      await agent.send(span("late"));
      return unseen(["breaker rejected"]);
    };
    await expect.poll(rejected).toEqual([]);
    down.decide(() => 200);
    await expect.poll(() => unseen(["exhausted"])).toEqual([]);
    await agent.sluice("dlq", "replay", "--exporter", "otlp_http/bad", "--by", "ann");
    await expect.poll(() => unseen(Object.keys(COUNTED))).toEqual([]);
    const page = await look();
    // No write has failed: it is there all the same, with its value.
    expect(page).toMatch(/^sluice_dead_letter_write_failures_total\{.*\} 0$/m);
    expect(page).toMatch(/^sluice_dead_letter_attempts_bucket\{.*le="5".*\} /m);

    const otlp = () => new Set(recordsIn(own, ({ name }) => name));
    const names = Object.values(COUNTED).map((metric) => metric.replace(/(_total|_count)?(\{.*)?$/, ""));
    await expect.poll(() => names.filter((name) => !otlp().has(name))).toEqual([]);
  },
);

const DASHBOARD = join(import.meta.dirname, "../../packaging/grafana/sluice.json");
const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;

row(
  "H3",
  "has alert rules with these figures, and a dashboard for them",
  "Ready alert rules and a Grafana dashboard: breaker open, DLQ depth > 100, oldest > 30 min, one error class > 50 %, retry rate high [e11y, skill, story].",
  async () => {
    const file = join(temporaryFolder(), "figures.yaml");
    writeFileSync(file, JSON.stringify(ALERT_FIGURES));
    execFileSync("promtool", ["check", "rules", ALERTS]);
    const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
    const { panels } = JSON.parse(readFileSync(DASHBOARD, "utf8")) as {
      panels: { targets?: { expr: string }[] }[];
    };
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
    const shown = [
      "breaker_state",
      "dead_letters_entries",
      "dead_letters_oldest_age",
      "dead_letters_total",
      "exporter_retries_total",
    ];
    expect(shown.filter((metric) => !queries.includes(`sluice_${metric}`))).toEqual([]);
  },
  { needs: { promtool: hasPromtool } },
);

row(
  "H4",
  "logs each entry once when it fails, with what is known of it",
  "Every transition to failed is logged once, with id, exporter, event, last error, attempts [adr54 D7].",
  async () => {
    const sink = await startBackendSink();
    sink.respond((_, response) => response.writeHead(400).end("tenant 7 is unknown"));
    const agent = await startAgent(`
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {merge_backlog: false}}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`);
    const names = many(5, (i) => `order.${i}`);
    for (const name of names) await agent.send(event(name));
    const failed = () => agent.log().filter(({ msg }) => String(msg).includes("kept as a dead letter"));
    await expect.poll(() => failed().length).toBe(5);
    const { entries } = await agent.api<{ entries: { id: string; failure: { names: string[] } }[] }>("/dead-letters");
    await agent.stop();
    expect(
      failed()
        .map(({ id, events }) => [id, events])
        .sort(),
    ).toEqual(entries.map(({ id, failure }) => [id, failure.names]).sort());
    expect(
      failed()
        .flatMap(({ events }) => events)
        .sort(),
    ).toEqual(names);
    for (const line of failed()) {
      expect(line).toMatchObject({
        component: "exporter otlp_http",
        error: "HTTP 400",
        message: "HTTP 400: tenant 7 is unknown",
        attempts: 1,
      });
    }
  },
);

row(
  "H5",
  "shows delays, waiting retries and the trend, has thresholds of its own, and tells a webhook and Sentry of failures",
  "Retry-delay histogram, waiting-retries gauge, silent-failure counters, failure trend; configurable thresholds; DEGRADED may be 503 [foodies]; notification of failed entries (Sentry, webhook) [adr54].",
  async () => {
    const posts: { url: string; body: string }[] = [];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      posts.push({ url: request.url!, body });
      response.writeHead(200).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close().closeAllConnections());
    const address = `127.0.0.1:${(server.address() as { port: number }).port}`;
    const [bad, tired] = [await startBackendSink(), await startBackendSink()];
    bad.respond((_, response) => response.writeHead(400).end("tenant 7 is unknown"));
    tired.decide(() => 503);
    const agent = await startAgent(`
extensions:
  health_check: {degraded_status: 503}
exporters:
  otlp_http/bad:
    endpoint: "${bad.url}"
    sending_queue: {merge_backlog: false}
    health: {max_dead_letters: 2}
    dead_letter: {notify: {url: "http://${address}/hook", interval: 1s}, forward_to: sentry}
  otlp_http/tired: {endpoint: "${tired.url}", retry_on_failure: {initial_interval: 1h, max_interval: 1h, jitter: none}, circuit_breaker: {enabled: false}}
  sentry: {dsn: "http://key@${address}/2", allow_private_addresses: true}
service:
  pipelines:
    logs: {receivers: [otlp], exporters: [otlp_http/bad]}
    traces: {receivers: [otlp], exporters: [otlp_http/tired]}
`);
    for (let i = 0; i < 2; i++) await agent.send(event(`order.${i}`));
    await expect.poll(() => agent.metric("sluice_dead_letters_entries", { exporter: "otlp_http/bad" })).toBe(2);
    expect((await healthOf(agent, "exporters"))[0]).toBe(200);
    await agent.send(event("order.3"));
    await expect
      .poll(async () => await healthOf(agent, "exporters"))
      .toMatchObject([503, { status: "DEGRADED", exporters: { "otlp_http/bad": { failureTrend: "rising" } } }]);

    await agent.send(span("pay"));
    await expect.poll(() => agent.metric("sluice_exporter_waiting_retries", { exporter: "otlp_http/tired" })).toBe(1);
    expect(await agent.metric("sluice_exporter_retry_delay_sum", { exporter: "otlp_http/tired" })).toBe(3600);
    expect(await agent.metric("sluice_exporter_retry_delay_count", { exporter: "otlp_http/tired" })).toBe(1);

    const { sluice } = await startProgram({});
    await sluice.stop();
    await sluice.logs.emit({ body: "too late" });
    const silent = sluice.metrics().filter(({ name }) => name === "sluice_silent_failures");
    expect(silent).toMatchObject([{ value: 1 }]);

    const to = (path: string) => posts.filter(({ url }) => url.startsWith(path)).map(({ body }) => body);
    await expect.poll(() => to("/api/2/").length).toBe(3);
    expect(to("/api/2/")[0]).toContain("tenant 7 is unknown");
    await expect
      .poll(() =>
        to("/hook").reduce((sum, body) => sum + (JSON.parse(body) as { extra: { failed: number } }).extra.failed, 0),
      )
      .toBe(3);
    expect(JSON.parse(to("/hook")[0]!)).toMatchObject({
      tags: { exporter: "otlp_http/bad", reason: "permanent", error_class: "HTTP 400" },
    });
  },
);

row(
  "H6",
  "is DOWN while brokers cannot be reached and scrapes fail, and UP when they come back",
  "Receivers have health: unreachable brokers and failing scrapes are DOWN, with metrics and alerts [foodies section 7].",
  async () => {
    const port = await freePort();
    const agent = await startAgent(`
receivers:
  rabbitmq: {connection: {endpoint: "amqp://127.0.0.1:${await freePort()}"}, queue: orders, encoding: raw}
  prometheus: {config: {scrape_configs: [{job_name: shop, scrape_interval: 200ms, scrape_timeout: 200ms, static_configs: [{targets: ["127.0.0.1:${port}"]}]}]}}
exporters: {nop: }
service:
  pipelines:
    logs: {receivers: [otlp, rabbitmq], exporters: [nop]}
    metrics: {receivers: [prometheus], exporters: [nop]}
`);
    const health = () => healthOf(agent, "receivers");
    await expect.poll(health).toMatchObject([
      503,
      {
        status: "DOWN",
        receivers: {
          otlp: { status: "UP" },
          rabbitmq: { status: "DOWN", down: ["orders"] },
          prometheus: { status: "DOWN" },
        },
      },
    ]);
    const up = async () =>
      Promise.all(
        ["otlp", "rabbitmq", "prometheus"].map((receiver) => agent.metric("sluice_receiver_up", { receiver })),
      );
    expect(await up()).toEqual([1, 0, 0]);
    expect(await agent.metric("sluice_receiver_scrape_failures_total")).toBeGreaterThan(0);
    const target = createServer((_, response) => response.end("orders 1\n"));
    await new Promise<void>((resolve) => target.listen(port, "127.0.0.1", resolve));
    onTestFinished(() => void target.close().closeAllConnections());
    await expect.poll(up).toEqual([1, 0, 1]);
    expect(readFileSync(ALERTS, "utf8")).toContain("expr: sluice_receiver_up == 0");
  },
);

const HANDLER = `
import { defineHandler, Refusal } from "sluice/plugin";
export const bookOrder = defineHandler({
  type: "book_order",
  async handle(message) {
    if (message.json().amount < 0) throw new Refusal("permanent", "less than nothing");
  },
});
`;

row(
  "H7",
  "counts messages by event, source and handler, at most a hundred pairs of them",
  "Metrics by event name, source queue or topic, and handler, with bounded cardinality [e11y 8, foodies 6, story].",
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const plugin = join(temporaryFolder(), "handler.mjs");
    writeFileSync(plugin, HANDLER);
    const agent = await startAgent(`
plugins: ["${plugin}"]
receivers: {redis_stream: {endpoint: "${redis.endpoint}", logs: {stream: orders, encoding: raw}}}
exporters: {book_order: }
service: {pipelines: {logs: {receivers: [redis_stream], exporters: [book_order]}}}
`);
    const { Redis } = await import("ioredis");
    const client = new Redis(redis.port, "127.0.0.1");
    onTestFinished(() => client.disconnect());
    const add = (type: string, amount: number) =>
      client.xadd("orders", "*", "body", `{"amount": ${amount}}`, "event-type", type);
    for (let i = 0; i < 3; i++) await add("order.paid", 5);
    await add("order.paid", -1);
    const of = (name: string, labels: Record<string, string>) =>
      agent.metric(name, { exporter: "book_order", ...labels });
    const paid = { source: "orders", event: "order.paid" };
    await expect.poll(() => of("sluice_messages_delivered_total", paid)).toBe(3);
    await expect.poll(() => of("sluice_message_dead_letters_total", paid)).toBe(1);
    expect(await of("sluice_message_age_count", paid)).toBe(3);

    for (let i = 0; i < 120; i++) await add(`made.up.${i}`, 1);
    await expect.poll(() => of("sluice_messages_delivered_total", {})).toBe(123);
    const series = [...(await agent.metricsPage()).matchAll(/^sluice_messages_delivered_total\{.*event="(.*?)"/gm)];
    expect(series.length).toBeLessThanOrEqual(101);
    expect(await of("sluice_messages_delivered_total", { event: "(other)" })).toBe(21);
  },
  { needs: { Redis: redisProgram } },
);
