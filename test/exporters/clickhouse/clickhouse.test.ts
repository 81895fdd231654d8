import { describe, expect, it, onTestFinished } from "vitest";
import { clickhouseExporter } from "../../../src/exporters/clickhouse/component.js";
import { parseEndpoint } from "../../../src/exporters/clickhouse/endpoint.js";
import { batchFromJson, type Exporter } from "../../../src/plugin.js";
import { refusalOf, startExporter } from "../harness.js";
import { listeningLogger, never } from "../support.js";
import { startClickhouseServer } from "./clickhouse-server.js";

async function start(config: object, logger = listeningLogger()): Promise<Exporter> {
  const exporter = await startExporter(clickhouseExporter, config, undefined, logger);
  onTestFinished(() => exporter.stop!());
  return exporter;
}

const attributes = (map: Readonly<Record<string, object>>) =>
  Object.entries(map).map(([key, value]) => ({ key, value }));
const resource = { attributes: attributes({ "service.name": { stringValue: "cart" }, replicas: { intValue: 3 } }) };
const scope = { name: "lib", version: "1", attributes: attributes({ a: { boolValue: true } }) };

const logs = (...bodies: string[]) =>
  batchFromJson(
    "logs",
    JSON.stringify({
      resourceLogs: [
        {
          resource,
          schemaUrl: "http://r",
          scopeLogs: [
            {
              scope,
              schemaUrl: "http://s",
              logRecords: bodies.map((body) => ({
                timeUnixNano: "1700000000123456789",
                severityNumber: 9,
                severityText: "INFO",
                body: { stringValue: body },
                eventName: "order.placed",
                flags: 1,
                traceId: "0102030405060708090a0b0c0d0e0f10",
                spanId: "0102030405060708",
                attributes: attributes({
                  list: { arrayValue: { values: [{ intValue: 1 }, { stringValue: "x" }] } },
                  map: { kvlistValue: { values: attributes({ inner: { doubleValue: 0.5 } }) } },
                  big: { intValue: "9223372036854775807" },
                }),
              })),
            },
          ],
        },
      ],
    }),
  );

const spans = () =>
  batchFromJson(
    "traces",
    JSON.stringify({
      resourceSpans: [
        {
          resource,
          scopeSpans: [
            {
              scope,
              spans: [
                {
                  traceId: "0102030405060708090a0b0c0d0e0f10",
                  spanId: "0102030405060708",
                  parentSpanId: "1102030405060708",
                  name: "GET /",
                  kind: 2,
                  startTimeUnixNano: "1700000000000000001",
                  endTimeUnixNano: "1700000000000000501",
                  status: { code: 2, message: "no" },
                  events: [
                    {
                      timeUnixNano: "1700000000000000100",
                      name: "e",
                      attributes: attributes({ k: { stringValue: "v" } }),
                    },
                  ],
                  links: [
                    { traceId: "ff02030405060708090a0b0c0d0e0f10", spanId: "ff02030405060708", traceState: "a=b" },
                  ],
                },
              ],
            },
          ],
        },
      ],
    }),
  );

const point = { timeUnixNano: "1700000000000000001", startTimeUnixNano: "1600000000000000000" };
const exemplar = { timeUnixNano: "1700000000000000000", asDouble: 2, spanId: "0102030405060708" };
const metrics = () =>
  batchFromJson(
    "metrics",
    JSON.stringify({
      resourceMetrics: [
        {
          resource,
          scopeMetrics: [
            {
              metrics: [
                {
                  name: "g",
                  unit: "1",
                  gauge: {
                    dataPoints: [
                      { ...point, asInt: "7" },
                      { ...point, asDouble: "NaN" },
                    ],
                  },
                },
                {
                  name: "s",
                  sum: {
                    isMonotonic: true,
                    aggregationTemporality: 2,
                    dataPoints: [{ ...point, asDouble: 1.5, exemplars: [exemplar] }],
                  },
                },
                {
                  name: "h",
                  histogram: {
                    aggregationTemporality: 1,
                    dataPoints: [
                      { ...point, count: "3", sum: 4, bucketCounts: ["1", "2"], explicitBounds: [5], min: 1, max: 6 },
                    ],
                  },
                },
                {
                  name: "e",
                  exponentialHistogram: {
                    dataPoints: [
                      {
                        ...point,
                        count: "2",
                        scale: 3,
                        zeroCount: "1",
                        positive: { offset: -2, bucketCounts: ["1", "0"] },
                      },
                    ],
                  },
                },
                {
                  name: "q",
                  summary: {
                    dataPoints: [{ ...point, count: "1", sum: 2, quantileValues: [{ quantile: 0.5, value: 3 }] }],
                  },
                },
              ],
            },
          ],
        },
      ],
    }),
  );

describe("the clickhouse exporter", () => {
  it("creates the tables of logs, and inserts each record as a row with the Collector's columns", async () => {
    const server = await startClickhouseServer();
    const exporter = await start({
      endpoint: server.url,
      database: "otel",
      ttl: "72h",
      username: "u",
      password: "päss",
    });
    await exporter.send(logs("hello", "again"), never);
    expect(server.statements[0]).toBe("CREATE DATABASE IF NOT EXISTS `otel`");
    expect(server.statements[1]).toContain("TTL toDateTime(Timestamp) + toIntervalDay(3)");
    expect(server.requests[0]).toMatchObject({ user: "u:päss", encoding: "lz4" });
    expect(Object.fromEntries(server.requests.at(-1)!.settings)).toMatchObject({
      async_insert: "1",
      wait_for_async_insert: "1",
    });
    const [row, second] = server.rows.get("`otel`.`otel_logs`")!;
    expect(row).toEqual({
      Timestamp: "1700000000123456789",
      TraceId: "0102030405060708090a0b0c0d0e0f10",
      SpanId: "0102030405060708",
      TraceFlags: 1,
      SeverityText: "INFO",
      SeverityNumber: 9,
      ServiceName: "cart",
      Body: "hello",
      ResourceSchemaUrl: "http://r",
      ResourceAttributes: { "service.name": "cart", replicas: "3" },
      ScopeSchemaUrl: "http://s",
      ScopeName: "lib",
      ScopeVersion: "1",
      ScopeAttributes: { a: "true" },
      LogAttributes: { list: '[1,"x"]', map: '{"inner":0.5}', big: "9223372036854775807" },
      EventName: "order.placed",
    });
    expect(second).toMatchObject({ Body: "again" });
  });

  it("inserts spans with their events and links, and keeps the times of traces in a table of their own", async () => {
    const server = await startClickhouseServer();
    const exporter = await start({ endpoint: server.url, traces_table_name: "spans" });
    await exporter.send(spans(), never);
    expect(
      server.statements.filter((text) => text.startsWith("CREATE")).map((text) => /`default`\.`(\w+)`/.exec(text)![1]),
    ).toEqual(["spans", "spans_trace_id_ts", "spans_trace_id_ts_mv"]);
    expect(server.rows.get("`default`.`spans`")).toEqual([
      {
        Timestamp: "1700000000000000001",
        TraceId: "0102030405060708090a0b0c0d0e0f10",
        SpanId: "0102030405060708",
        ParentSpanId: "1102030405060708",
        TraceState: "",
        SpanName: "GET /",
        SpanKind: "Server",
        ServiceName: "cart",
        ResourceAttributes: { "service.name": "cart", replicas: "3" },
        ScopeName: "lib",
        ScopeVersion: "1",
        SpanAttributes: {},
        Duration: 500,
        StatusCode: "Error",
        StatusMessage: "no",
        "Events.Timestamp": ["1700000000000000100"],
        "Events.Name": ["e"],
        "Events.Attributes": [{ k: "v" }],
        "Links.TraceId": ["ff02030405060708090a0b0c0d0e0f10"],
        "Links.SpanId": ["ff02030405060708"],
        "Links.TraceState": ["a=b"],
        "Links.Attributes": [{}],
      },
    ]);
  });

  it("inserts data points into a table for each kind", async () => {
    const server = await startClickhouseServer();
    const exporter = await start({ endpoint: server.url, metrics_table_name: "m" });
    await exporter.send(metrics(), never);
    const rowsOf = (kind: string) => server.rows.get(`\`default\`.\`m_${kind}\``);
    expect(rowsOf("gauge")).toMatchObject([
      { MetricName: "g", MetricUnit: "1", Value: 7, StartTimeUnix: "1600000000000000000" },
      { Value: "nan" },
    ]);
    expect(rowsOf("sum")).toMatchObject([
      {
        Value: 1.5,
        IsMonotonic: true,
        AggregationTemporality: 2,
        "Exemplars.Value": [2],
        "Exemplars.SpanId": ["0102030405060708"],
      },
    ]);
    expect(rowsOf("histogram")).toMatchObject([
      { Count: 3, Sum: 4, BucketCounts: [1, 2], ExplicitBounds: [5], Min: 1, Max: 6, AggregationTemporality: 1 },
    ]);
    expect(rowsOf("exponential_histogram")).toMatchObject([
      { Count: 2, Scale: 3, ZeroCount: 1, PositiveOffset: -2, PositiveBucketCounts: [1, 0], NegativeBucketCounts: [] },
    ]);
    expect(rowsOf("summary")).toMatchObject([{ "ValueAtQuantiles.Quantile": [0.5], "ValueAtQuantiles.Value": [3] }]);
  });

  it("writes the column types of an older table", async () => {
    const server = await startClickhouseServer();
    const exporter = await start({ endpoint: server.url, create_schema: false });
    const first = await start({ endpoint: server.url });
    await first.send(logs("x"), never);
    const columns = server.tables.get("`default`.`otel_logs`")!;
    columns.delete("EventName");
    columns.set("Timestamp", "DateTime").set("LogAttributes", "JSON");
    await exporter.send(logs("old"), never);
    const row = server.rows.get("`default`.`otel_logs`")!.at(-1)!;
    expect(row).toMatchObject({ Body: "old", Timestamp: 1700000000 });
    expect(row["LogAttributes"]).toEqual({ list: [1, "x"], map: { inner: 0.5 }, big: "9223372036854775807" });
    expect(row).not.toHaveProperty("EventName");
  });

  it("creates tables with JSON columns and their keys if configured", async () => {
    const server = await startClickhouseServer();
    const exporter = await start({ endpoint: server.url, json: true, compress: "none" });
    await exporter.send(logs("x"), never);
    expect(server.rows.get("`default`.`otel_logs`")).toMatchObject([
      { ResourceAttributes: { replicas: 3 }, LogAttributesKeys: ["big", "list", "map.inner"] },
    ]);
  });

  it("retries rows that the server may accept later, and permanently refuses rows that it cannot parse", async () => {
    let code: number | undefined = 252;
    const server = await startClickhouseServer((text) =>
      text.startsWith("INSERT") && code !== undefined ? { status: 500, code, message: "Too many parts" } : undefined,
    );
    const exporter = await start({ endpoint: server.url });
    const busy = await refusalOf(exporter.send(logs("x"), never));
    expect(busy).toMatchObject({ kind: "transient", status: "ClickHouse 252" });
    code = 27;
    expect(await refusalOf(exporter.send(logs("x"), never))).toMatchObject({ kind: "permanent", category: "schema" });
    code = 469;
    expect(await refusalOf(exporter.send(logs("x"), never))).toMatchObject({ kind: "permanent", category: "business" });
    code = undefined;
    await exporter.send(logs("x"), never);
    expect(server.rows.get("`default`.`otel_logs`")).toHaveLength(1);
  });

  it("reports which data points are left when one table refuses its rows", async () => {
    const server = await startClickhouseServer((text) =>
      text.startsWith("INSERT INTO `default`.`otel_metrics_sum`") ? { status: 400, code: 27 } : undefined,
    );
    const exporter = await start({ endpoint: server.url });
    const { undelivered } = await refusalOf(exporter.send(metrics(), never));
    expect([...undelivered!.marks]).toEqual([0, 0, 1, 0, 0, 0]);
  });

  it("waits for a missing table, and uses it when it exists", async () => {
    const server = await startClickhouseServer();
    const exporter = await start({ endpoint: server.url, create_schema: false });
    expect(await refusalOf(exporter.send(logs("x"), never))).toMatchObject({
      kind: "transient",
      status: "ClickHouse 60",
    });
    await (await start({ endpoint: server.url })).send(logs("x"), never);
    await exporter.send(logs("late"), never);
    expect(server.rows.get("`default`.`otel_logs`")).toMatchObject([
      { Body: "x" },
      { EventName: "order.placed", Body: "late" },
    ]);
  });

  it("gives every attempt at one insert the same token, unless inserts are asynchronous", async () => {
    let fails = true;
    const server = await startClickhouseServer((text) => {
      const isFirst = text.startsWith("INSERT") && fails;
      if (isFirst) fails = false;
      return isFirst ? { status: 503 } : undefined;
    });
    const exporter = await start({ endpoint: server.url, async_insert: false });
    const again = { idempotencyKey: "k'1" };
    await refusalOf(exporter.send(logs("x"), never, again));
    await exporter.send(logs("x"), never, again);
    await exporter.send(logs("what is left"), never, again);
    const tokens = server.statements.flatMap(
      (text) => /insert_deduplication_token = ('.*') FORMAT/.exec(text)?.[1] ?? [],
    );
    expect(tokens[0]).toMatch(/^'k\\'1\/0\/[0-9a-f]{32}'$/);
    expect(tokens[1]).toBe(tokens[0]);
    expect(tokens[2]).not.toBe(tokens[0]);
  });

  it("asks the next server when one does not answer", async () => {
    const server = await startClickhouseServer();
    const exporter = await start({ endpoint: `http://127.0.0.1:1,127.0.0.1:${server.port}/otel` });
    expect((await refusalOf(exporter.send(logs("x"), never))).kind).toBe("transient");
    await exporter.send(logs("x"), never);
    expect(server.rows.get("`otel`.`otel_logs`")).toHaveLength(1);
  });

  it("logs that the HTTP interface is used if the native protocol is configured", async () => {
    const logger = listeningLogger();
    await start({ endpoint: "tcp://clickhouse:9000?dial_timeout=10s" }, logger);
    expect(logger.lines).toMatchObject([
      { level: "warn", fields: { endpoint: "clickhouse:9000", used: "http://clickhouse:8123" } },
    ]);
  });
});

describe("an endpoint of ClickHouse", () => {
  const read = (text: string, more = {}) => {
    const parsed = parseEndpoint(text, more);
    if (typeof parsed === "string") return parsed;
    const { urls, settings, ...rest } = parsed;
    return { urls: urls.map(String), settings: Object.fromEntries(settings), ...rest };
  };

  it.each([
    ["tcp://ch:9000", ["http://ch:8123/"]],
    ["clickhouse://u:p%40@ch:9440/otel?secure=true", ["https://u:p%40@ch:8443/"]],
    ["tcp://a:9000,tcp://b:9000", ["http://a:8123/", "http://b:8123/"]],
    ["clickhouse://a:9000,b:9000/otel", ["http://a:8123/", "http://b:8123/"]],
    ["http://ch:8123/otel?username=x&password=y", ["http://x:y@ch:8123/"]],
    ["https://ch", ["https://ch/"]],
  ])("%s is reached at %j", (text, urls) => {
    expect(read(text)).toMatchObject({ urls });
  });

  it("keeps server settings, and leaves out client parameters", () => {
    expect(
      read("tcp://ch:9000/otel?dial_timeout=10s&compress=gzip&max_execution_time=60", { async_insert: "0" }),
    ).toMatchObject({
      database: "otel",
      compress: "gzip",
      settings: { max_execution_time: "60", async_insert: "0" },
    });
  });

  it.each(["", "clickhouse:9000", "ftp://ch", "http://", "http://ch/%zz"])("refuses %j", (text) => {
    expect(read(text)).toMatch(/^expected a URL/);
  });
});
