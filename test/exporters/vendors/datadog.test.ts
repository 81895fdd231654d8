import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { datadogExporter } from "../../../src/exporters/vendors/datadog/component.js";
import { Batch } from "../../../src/plugin.js";
import { never, refusalOf } from "../harness.js";
import { attributes, logs, metrics, point, recorded, spans } from "./recorded.js";

const configOf = (url: string) => ({
  api: { key: "k1", site: "datadoghq.eu" },
  metrics: { endpoint: url },
  logs: { endpoint: url },
  traces: { endpoint: url },
});
const start = (more: object = {}) => recorded(datadogExporter, (url) => ({ ...configOf(url), ...more }));
const RESOURCE = { "service.name": "cart", "host.name": "h1", "deployment.environment.name": "prod", team: "shop" };

describe("the datadog exporter", () => {
  it("sends logs with their attributes, tags of the resource, status and ids", async () => {
    const { sink, exporter, bodies } = await start();
    await exporter.send(
      logs(
        RESOURCE,
        {
          severityNumber: 10,
          severityText: "Information",
          traceId: "5b8efff798038103d269b633813fc60c",
          spanId: "eee19b7ec3c1b174",
          attributes: { user: "u1", service: "other", n: 3 },
        },
        { body: { kvlistValue: { values: attributes({ a: 1 }) } } },
      ),
      never,
    );
    const [{ path, headers } = expect.unreachable()] = sink.requests;
    expect([path, headers["dd-api-key"], headers["content-type"]]).toEqual(["/api/v2/logs", "k1", "application/json"]);
    expect(JSON.parse(bodies()[0]!)).toEqual([
      {
        user: "u1",
        n: 3,
        message: "hello",
        ddsource: "otlp",
        ddtags: "service:cart,env:prod",
        hostname: "h1",
        service: "cart",
        "otel.severity_text": "Information",
        status: "info",
        "otel.severity_number": 10,
        "otel.trace_id": "5b8efff798038103d269b633813fc60c",
        "otel.span_id": "eee19b7ec3c1b174",
        "dd.trace_id": String(0xd269b633813fc60cn),
        "dd.span_id": String(0xeee19b7ec3c1b174n),
        "@timestamp": "2023-11-14T22:13:20.123456789Z",
      },
      expect.objectContaining({ message: '{"a":1}' }),
    ]);
  });

  it("sends gauges, deltas and cumulative sums as series of version 2 of the API", async () => {
    const { sink, exporter, bodies, skipped } = await start();
    const cumulative = { aggregationTemporality: 2, isMonotonic: true };
    const later = (seconds: number, value: number) =>
      point(value, { timeUnixNano: String(1_700_000_000_123_456_789n + BigInt(seconds) * 1_000_000_000n) });
    const batch = (seconds: number, value: number) =>
      metrics(
        RESOURCE,
        { name: "temp", gauge: { dataPoints: [point(1.5, { attributes: attributes({ room: "a" }) })] } },
        { name: "hits", sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: [point(3)] } },
        { name: "total", sum: { ...cumulative, dataPoints: [later(seconds, value)] } },
      );
    await exporter.send(batch(0, 100), never);
    await exporter.send(batch(10, 107), never);
    await exporter.send(batch(10, 107), never);
    await exporter.send(batch(20, 4), never);
    const tags = ["service:cart", "env:prod", "instrumentation_scope:meter"];
    const resources = [{ name: "h1", type: "host" }];
    const sent = bodies().map((text) => (JSON.parse(text) as { series: { metric: string }[] }).series);
    expect(sink.requests[0]!.path).toBe("/api/v2/series");
    expect(sent[0]).toEqual([
      {
        metric: "temp",
        type: 3,
        tags: [...tags, "room:a"],
        resources,
        points: [{ timestamp: 1_700_000_000, value: 1.5 }],
      },
      { metric: "hits", type: 1, tags, resources, points: [{ timestamp: 1_700_000_000, value: 3 }] },
    ]);
    const totals = sent.map((series) => series.find(({ metric }) => metric === "total"));
    const increase = (timestamp: number, value: number) => ({
      ...{ metric: "total", type: 1, tags, resources },
      points: [{ timestamp, value }],
    });
    // The first value counts from an unknown time; the repeated request repeats the increase; a reset counts from zero.
    expect(totals).toEqual([
      undefined,
      increase(1_700_000_010, 7),
      increase(1_700_000_010, 7),
      increase(1_700_000_020, 4),
    ]);
    expect(skipped("no_increase")).toBe(1);
  });

  it("sends histograms as counts and sums, and as buckets if the mode says so", async () => {
    const histogram = (url: string) => ({
      ...configOf(url),
      metrics: { endpoint: url, histograms: { mode: "counters", send_aggregation_metrics: true } },
    });
    const { exporter, bodies } = await recorded(datadogExporter, histogram);
    const dataPoints = [
      { timeUnixNano: "1700000000000000000", count: 3, sum: 12, explicitBounds: [5], bucketCounts: [2, 1] },
    ];
    await exporter.send(metrics({}, { name: "h", histogram: { aggregationTemporality: 1, dataPoints } }), never);
    const { series } = JSON.parse(bodies()[0]!) as {
      series: { metric: string; tags: string[]; points: { value: number }[] }[];
    };
    expect(series.map(({ metric, tags, points }) => [metric, tags.slice(1), points[0]!.value])).toEqual([
      ["h.count", [], 3],
      ["h.sum", [], 12],
      ["h.bucket", ["lower_bound:-inf", "upper_bound:5"], 2],
      ["h.bucket", ["lower_bound:5", "upper_bound:inf"], 1],
    ]);
  });

  it("sends traces unchanged to the OTLP intake", async () => {
    const { sink, exporter } = await start();
    const batch = spans(RESOURCE, {});
    await exporter.send(batch, never);
    const [{ path, headers, body } = expect.unreachable()] = sink.requests;
    expect([path, headers["content-type"]]).toEqual(["/v1/traces", "application/x-protobuf"]);
    expect(Batch.admit("traces", gunzipSync(body)).bytes).toEqual(batch.bytes);
  });

  it("tells the intake how to name spans, and to compute trace metrics", async () => {
    const headersWith = async (traces: object) => {
      const { sink, exporter } = await recorded(datadogExporter, (url) => ({
        ...configOf(url),
        traces: { endpoint: url, ...traces },
      }));
      await exporter.send(spans(RESOURCE, {}), never);
      const { compute_stats: stats, "dd-otel-span-mapping": mapping } = sink.requests[0]!.headers;
      return { stats, mapping: JSON.parse(mapping as string) as unknown };
    };
    expect(await headersWith({})).toEqual({ stats: "true", mapping: { span_name_as_resource_name: false } });
    const rules = {
      span_name_as_resource_name: true,
      span_name_remappings: { "io.opentelemetry.spring": "spring é\n" },
      ignore_resources: ["GET /health"],
    };
    expect(await headersWith({ ...rules, compute_stats: false })).toEqual({ stats: "false", mapping: rules });
  });

  it("divides many logs into requests, and keeps those that were not taken", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(sink.requests.length === 2 ? 503 : 202).end();
    const many = logs({}, ...Array.from({ length: 2500 }, () => ({})));
    const refusal = await refusalOf(exporter.send(many, never));
    expect(sink.requests).toHaveLength(2);
    expect(refusal.kind).toBe("transient");
    expect(refusal.undelivered!.marks.filter((mark) => mark > 0)).toHaveLength(1500);
  });

  it("counts points whose value is no number, and the next increase is right", async () => {
    const { exporter, bodies, skipped } = await start();
    const at = (seconds: number, asDouble: number | string) => ({
      timeUnixNano: `${1_700_000_000 + seconds}000000000`,
      asDouble,
    });
    const dataPoints = [at(0, 10), at(10, "NaN"), at(20, 15)];
    await exporter.send(
      metrics({}, { name: "c", sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints } }),
      never,
    );
    const { series } = JSON.parse(bodies()[0]!) as { series: object[] };
    expect(series).toMatchObject([{ points: [{ timestamp: 1_700_000_020, value: 5 }] }]);
    expect([skipped("no_increase"), skipped("not_finite")]).toEqual([1, 1]);
  });

  it("does not count a request as delivered that was accepted with errors", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(202).end('{"errors":["bad series"]}');
    const batch = metrics({}, { name: "g", gauge: { dataPoints: [point(1)] } });
    const refusal = await refusalOf(exporter.send(batch, never));
    expect(refusal).toMatchObject({ kind: "permanent", category: "schema", message: "HTTP 202: bad series" });
    sink.respond = (response) => response.writeHead(202).end('{"errors":[]}');
    await exporter.send(batch, never);
  });

  it("holds the queue if the key is refused, and refuses bad data for good", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(403).end('{"errors":["Forbidden"]}');
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
    sink.respond = (response) => response.writeHead(400).end();
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({
      kind: "permanent",
      category: "schema",
    });
  });
});
