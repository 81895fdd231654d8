import { describe, expect, it } from "vitest";
import { type Batch, batchFromJson } from "../../../src/plugin.js";
import type { InsightAnswer } from "../../../src/runtime/contract/insight/insight-answers.js";
import { undescribed } from "../admin-api/openapi-document.js";
import { startRunningApi } from "../admin-api/running-agent.js";

const CONFIG = `
processors: {filter: {error_mode: ignore, logs: {log_record: ['severity_number < 9']}}}
exporters: {nop: , nop/archive: }
service:
  extensions: [reliability, admin, insight]
  pipelines:
    logs: {receivers: [hand], processors: [filter], exporters: [nop, nop/archive]}
    metrics: {receivers: [hand], exporters: [nop]}
    traces: {receivers: [hand], exporters: [nop]}
`;
const READ_ALL =
  "insight: {places: [exporters, receivers], sampling_ratio: 1, max_memory: 2MiB, price: {nop: {per_gb: 2, per_million_records: 5, per_thousand_series: 30}}}";

function logsOf(
  service: string,
  lines: readonly { body: unknown; severity?: number; attributes?: Record<string, string> }[],
): Batch {
  const logRecords = lines.map(({ body, severity = 9, attributes = {} }, i) => ({
    timeUnixNano: String(i + 1),
    severityNumber: severity,
    body: typeof body === "string" ? { stringValue: body } : body,
    attributes: pairs(attributes),
  }));
  const resource = { attributes: pairs({ "service.name": service }) };
  return batchFromJson(
    "logs",
    JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "lib" }, logRecords }] }] }),
  );
}

function pairs(values: Record<string, string>) {
  return Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

function points(name: string, labels: readonly Record<string, string>[]): Batch {
  const dataPoints = labels.map((each) => ({ timeUnixNano: "1", asInt: "1", attributes: pairs(each) }));
  const metrics = [{ name, gauge: { dataPoints } }];
  const resource = { attributes: pairs({ "service.name": "shop" }) };
  return batchFromJson("metrics", JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ metrics }] }] }));
}

async function start(extension = READ_ALL) {
  const api = await startRunningApi(CONFIG, { extensions: extension });
  const insight = async (query: string): Promise<InsightAnswer> => {
    const { status, body } = await api.ask("GET", `/insight?${query}`);
    expect({ status, body }).toMatchObject({ status: 200 });
    expect(undescribed(body, "Insight")).toEqual([]);
    return body;
  };
  return { ...api, insight };
}

describe("GET /insight", () => {
  it("says that the extension does not run", async () => {
    const { ask } = await startRunningApi(CONFIG.replace(", insight", ""));
    const { body } = await ask("GET", "/insight");
    expect(body).toMatchObject({ enabled: false, rows: [] });
    expect(undescribed(body, "Insight")).toEqual([]);
  });

  it("shows services with their records, bytes, share, series and cost", async () => {
    const { insight, hand } = await start();
    const shop = logsOf("shop", [{ body: "a" }, { body: "b" }, { body: "c" }]);
    await hand(shop);
    await hand(logsOf("cart", [{ body: "a" }]));
    const { rows, total } = await insight("by=service&place=nop&signal=logs");
    expect(rows.map(({ name, records, signal }) => [name, records, signal])).toEqual([
      ["shop", 3, "logs"],
      ["cart", 1, "logs"],
    ]);
    expect(total.records).toBe(4);
    expect(rows[0]!.error).toEqual({ records: 0, bytes: 0 });
    expect(rows[0]!.share).toBeCloseTo(rows[0]!.bytes / total.bytes);
    expect(rows.reduce((sum, { share }) => sum + share, 0)).toBeGreaterThan(0.9);
    expect(rows[0]!.series).toHaveLength(60);
    expect(rows[0]!.series.at(-1)).toBe(rows[0]!.bytes);
    expect(rows[0]!.costPerDay).toBeGreaterThan(0);
  });

  it("counts records once for each exporter that gets them", async () => {
    const { insight, hand } = await start();
    await hand(logsOf("shop", [{ body: "a" }]));
    expect((await insight("by=service&place=exporters")).rows[0]!.records).toBe(2);
    expect((await insight("by=service&place=receivers")).rows[0]!.records).toBe(1);
    const { rows } = await insight("by=exporter");
    expect(rows.map(({ name, records }) => [name, records])).toEqual([
      ["nop", 1],
      ["nop/archive", 1],
    ]);
    expect(rows.map(({ costPerDay }) => costPerDay! > 0)).toEqual([true, false]);
  });

  it("shows the patterns, metrics and spans of one service, and tells which ones others have too", async () => {
    const { ask, insight, hand } = await start();
    await hand(logsOf("shop", [{ body: "paid" }, { body: "ready" }, { body: "ready" }]));
    await hand(logsOf("cart", [{ body: "emptied" }, { body: "ready" }]));
    await hand(points("sales", [{ a: "1" }]));
    const names = async (query: string) =>
      (await insight(`place=nop&${query}`)).rows.map(({ name, isShared }) => [name, isShared]).sort();
    expect(await names("by=pattern&service=shop")).toEqual([
      ["paid", false],
      ["ready", true],
    ]);
    expect(await names("by=pattern&service=cart")).toEqual([["emptied", false]]);
    expect(await names("by=metric&service=shop")).toEqual([["sales", false]]);
    expect(await names("by=cardinality&service=cart")).toEqual([]);
    const { status, body } = await ask("GET", "/insight?by=attribute&service=shop");
    expect(status).toBe(400);
    expect(body.error.message).toBe("service can only be given with by=pattern, metric, cardinality, span");
  });

  it("tells what the config does with something now", async () => {
    const { insight, hand } = await start();
    await hand(logsOf("shop", [{ body: "a" }, { body: "noise", severity: 5 }, { body: "noise", severity: 5 }]));
    const severities = await insight("by=severity&place=receivers");
    expect(severities.rows.map(({ name, now }) => [name, now])).toEqual([
      ["DEBUG", { state: "dropped", kept: 0 }],
      ["INFO", { state: "kept", kept: 1 }],
    ]);
    const [service] = (await insight("by=service&place=receivers")).rows;
    expect(service!.now.state).toBe("sampled");
    expect(service!.now.kept).toBeCloseTo(1 / 3);
  });

  it("shows patterns of lines, with a masked example for those who may see records", async () => {
    const { insight, hand } = await start();
    await hand(
      logsOf("shop", [
        ...["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((ip) => ({ body: `user 17 logged in from ${ip}` })),
        { body: "paid by bob@example.com" },
      ]),
    );
    const { rows } = await insight("by=pattern&place=nop");
    expect(rows.map(({ name, records }) => [name, records])).toEqual([
      ["user <*> logged in from <*>", 3],
      ["paid by <*>", 1],
    ]);
    expect(rows[1]!.example).not.toContain("bob@example.com");
    expect(rows[1]!.example).toContain("paid by");
  });

  it("shows attribute keys by bytes, and where they are", async () => {
    const { insight, hand } = await start();
    await hand(logsOf("shop", [{ body: "a", attributes: { "user.agent": "x".repeat(100), id: "1" } }]));
    const { rows } = await insight("by=attribute&place=nop");
    expect(rows.map(({ name, context }) => [name, context])).toEqual([
      ["user.agent", "record"],
      ["service.name", "resource"],
      ["id", "record"],
    ]);
    expect(rows[0]!.bytes).toBeGreaterThan(100);
  });

  it("shows how many series a metric has, and the label that makes them many", async () => {
    const { insight, hand } = await start();
    const labels = Array.from({ length: 400 }, (_, i) => ({ user: `u${i}`, method: i % 2 ? "GET" : "POST" }));
    await hand(points("requests", labels));
    await hand(points("requests", labels));
    const { rows } = await insight("by=cardinality");
    expect(rows.map(({ name, signal, records }) => [name, signal, records])).toEqual([["requests", "metrics", 800]]);
    const [{ seriesCount, seriesError, labels: found }] = rows as [InsightAnswer["rows"][0]];
    expect(Math.abs(seriesCount! - 400)).toBeLessThanOrEqual(400 * seriesError!);
    expect(found!.map(({ label }) => label)).toEqual(["user", expect.anything(), expect.anything()]);
    expect(found!.find(({ label }) => label === "method")).toMatchObject({ values: 2 });
    expect(found!.find(({ label }) => label === "(resource)")).toMatchObject({ values: 1 });
    expect(found![0]!.seriesWithout).toBe(2);
    const [metric] = (await insight("by=metric")).rows;
    expect(metric!.costPerDay).toBeGreaterThan((400 / 1000) * 0.9);
  });

  it("shows the share of equal records", async () => {
    const { insight, hand } = await start();
    await hand(logsOf("shop", [{ body: "same" }, { body: "same" }, { body: "same" }, { body: "other" }]));
    const { rows } = await insight("by=duplicates&place=nop");
    expect(rows.map(({ name, records }) => [name, records])).toEqual([["shop", 2]]);
  });

  it("shows spans and scopes", async () => {
    const { insight, hand } = await start();
    const span = (name: string) => ({ traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174", name });
    const resourceSpans = [{ scopeSpans: [{ scope: { name: "http" }, spans: [span("GET /"), span("GET /")] }] }];
    await hand(batchFromJson("traces", JSON.stringify({ resourceSpans })));
    expect((await insight("by=span")).rows.map(({ name, records }) => [name, records])).toEqual([["GET /", 2]]);
    expect((await insight("by=scope")).rows.map(({ name, records }) => [name, records])).toEqual([["http", 2]]);
    expect((await insight("by=service")).rows.map(({ name }) => name)).toEqual(["(none)"]);
  });

  it.each([
    ["by=colour", "by must be one of: service"],
    ["by=service&sort=colour", "sort must be one of"],
    ["limit=0", "limit must be a number"],
    ["signal=profiles", "signal must be one of"],
  ])("rejects %s", async (query, message) => {
    const { ask } = await startRunningApi(CONFIG, { extensions: READ_ALL });
    const { status, body } = await ask("GET", `/insight?${query}`);
    expect(status).toBe(400);
    expect(body.error.message).toContain(message);
  });

  it("names the places that can be asked for", async () => {
    const { ask, insight } = await start();
    const { status, body } = await ask("GET", "/insight?place=nothing");
    expect(status).toBe(404);
    expect(body.error.message).toContain("exporters, receivers, nop, nop/archive, hand, logs");
    expect((await insight("")).places.map(({ kind }) => kind)).toContain("pipeline");
  });
});

describe("GET /insight/cut", () => {
  it.each([
    [
      "drop",
      "by=service&name=shop",
      {
        "filter/cut_shop": {
          error_mode: "ignore",
          logs: { log_record: ['resource.attributes["service.name"] == "shop"'] },
        },
      },
    ],
    [
      "dedup",
      "by=service&name=shop",
      { "log_dedup/dedup_shop": { interval: "60s", conditions: ['resource.attributes["service.name"] == "shop"'] } },
    ],
    [
      "remove_attribute",
      "by=attribute&name=id&context=record",
      {
        "transform/remove_attribute_id": {
          error_mode: "ignore",
          log_statements: [{ context: "log", statements: ['delete_key(attributes, "id")'] }],
        },
      },
    ],
  ])("writes processors that %s what a row is about", async (action, query, processors) => {
    const { ask, hand } = await start();
    await hand(logsOf("shop", [{ body: "a", attributes: { id: "1" } }]));
    const { status, body } = await ask("GET", `/insight/cut?action=${action}&signal=logs&${query}`);
    expect({ status, body }).toMatchObject({ status: 200, body: { processors, pipelines: ["logs"] } });
    expect(undescribed(body, "InsightCut")).toEqual([]);
  });

  it("refuses what cannot be done, and says why", async () => {
    const { ask } = await start();
    const { status, body } = await ask("GET", "/insight/cut?action=sample&by=metric&name=m&signal=metrics");
    expect(status).toBe(400);
    expect(body.error.message).toContain("data points cannot be sampled");
  });
});
