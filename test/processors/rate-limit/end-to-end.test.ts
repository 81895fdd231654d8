import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { type Batch, batchFromJson, type Logger, readRecords } from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { cleanUp, startWrapped } from "../../runtime/queue/agent.js";
import { agentOf } from "../../support/agent.js";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";

afterEach(cleanUp);

async function sinkOf(): Promise<OtlpSink> {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  return sink;
}

function named(...names: string[]): string {
  const logRecords = names.map((eventName, i) => ({ eventName, body: { stringValue: `${eventName} ${i}` } }));
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
}

function namesIn(batches: readonly Batch[]): string[] {
  const names: string[] = [];
  for (const batch of batches) readRecords(batch, (record) => void names.push(record.name));
  return names;
}

describe("rate_limit before durable queues", () => {
  it("asks each exporter's filter about dropped records: always-saved ones become dead letters", async () => {
    const sink = await sinkOf();
    const exporters = `  otlp_http/keeps: {endpoint: "${sink.url}", dead_letter: {filter: {always_save: [audit.*]}}}
  otlp_http/drops: {endpoint: "${sink.url}"}`;
    const processors = { rate_limit: { limit: 1, window: "1h" } };
    const { agent, hand, metrics } = await startWrapped(exporters, { processors });
    const outcome = await hand(batchFromJson("logs", named("audit.login", "chat", "audit.login", "chat", "chat")));
    expect(outcome.ok).toBe(true);
    await expect.poll(() => namesIn(sink.batches).sort()).toEqual(["audit.login", "audit.login", "chat", "chat"]);
    const { entries } = await agent.admin!.listDeadLetters({});
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({
      exporter: "otlp_http/keeps",
      items: 1,
      failure: { reason: "rate_limited", category: "rate_limited", names: ["audit.login"] },
    });
    expect(metrics.value("sluice_rate_limit_limited_items", { on_excess: "drop" })).toBe(3);
    const setBack = (exporter: string, outcome: string) =>
      metrics.value("sluice_setback_items", { exporter, outcome, reason: "rate_limited" });
    expect([setBack("otlp_http/keeps", "saved"), setBack("otlp_http/keeps", "dropped")]).toEqual([1, 2]);
    expect([setBack("otlp_http/drops", "saved"), setBack("otlp_http/drops", "dropped")]).toEqual([0, 3]);
  });

  it("keeps records over the limit as dead letters, to be replayed later", async () => {
    const sink = await sinkOf();
    const processors = { rate_limit: { limit: 2, window: "1h", on_excess: "dead_letter" } };
    const { agent, hand } = await startWrapped(`  otlp_http: {endpoint: "${sink.url}"}`, { processors });
    const outcome = await hand(batchFromJson("logs", named("a", "a", "a", "b")));
    expect(outcome.ok).toBe(true);
    await expect.poll(() => namesIn(sink.batches)).toEqual(["a", "a", "b"]);
    const { entries } = await agent.admin!.listDeadLetters({ reason: "rate_limited" });
    expect(entries.map(({ items, failure }) => [items, failure?.error.message])).toEqual([
      [1, "over the limit of 2 records in 3600000 ms"],
    ]);
    await agent.admin!.replay({ query: {} }, { by: "test" });
    await expect.poll(() => namesIn(sink.batches)).toEqual(["a", "a", "b", "a"]);
  });
});

describe("rate_limit behind an OTLP receiver", () => {
  it("answers a request over the limit with 429 and Retry-After, and accepts it when it fits", async () => {
    const sink = await sinkOf();
    let address: string | undefined;
    const info = (fields: { http?: string }) => {
      address ??= fields.http;
    };
    const logger: Logger = { ...silentLogger, info, child: () => logger };
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0", include_metadata: true}}}}
processors:
  rate_limit:
    limit: 3
    window: 90s
    key: [metadata.x-tenant]
    on_excess: refuse
exporters: {otlp_http: {endpoint: "${sink.url}", sending_queue: {enabled: false}}}
service:
  telemetry: {metrics: {level: none}}
  extensions: []
  pipelines: {logs: {receivers: [otlp], processors: [rate_limit], exporters: [otlp_http]}}
`;
    const agent = agentOf(yaml, { logger });
    await agent.start();
    onTestFinished(() => agent.stop(0));
    const send = (tenant: string, ...names: string[]) =>
      fetch(`http://${address}/v1/logs`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-tenant": tenant },
        body: named(...names),
      });
    expect((await send("acme", "a", "b")).status).toBe(200);
    const refused = await send("acme", "c", "d");
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(80);
    expect(await refused.text()).toContain("over the limit of 3 records in 90000 ms");
    expect((await send("acme", "e")).status).toBe(200);
    expect((await send("bolt", "f", "g", "h")).status).toBe(200);
    const never = await send("bolt", "1", "2", "3", "4");
    expect(never.status).toBe(400);
    expect(namesIn(sink.batches)).toEqual(["a", "b", "e", "f", "g", "h"]);
  });
});
