import { describe, expect, it, onTestFinished } from "vitest";
import { prometheusExporter } from "../../../../src/exporters/prometheus/prometheus.js";
import { remoteWriteExporter } from "../../../../src/exporters/prometheus/remote-write/remote-write.js";
import type { Exporter, ExporterFactory } from "../../../../src/plugin.js";
import { freePort } from "../../../../src/runtime/testing/free-port.js";
import { hasPrometheus, TestPrometheus } from "../../../support/prometheus.js";
import { exporterContext, never } from "../../support.js";
import { at, attributes, BASE_MS, gauge, histogram, metricsBatch, type ResourceMetrics, sum } from "../metrics.js";
import { startWriteServer } from "./write-server.js";

const isInstalled = hasPrometheus();
const NOW = BASE_MS / 1000;

async function start(config: object, factory: ExporterFactory = remoteWriteExporter) {
  const exporter: Exporter = factory.create(factory.schema.parse(config), exporterContext());
  await exporter.start!();
  onTestFinished(() => exporter.stop!());
  return { exporter, send: (...all: ResourceMetrics[]) => exporter.send(metricsBatch(...all), never) };
}

const exponential = (more: object = {}) => ({
  name: "sizes",
  exponentialHistogram: {
    aggregationTemporality: 2,
    dataPoints: [
      {
        timeUnixNano: at(0),
        count: 10,
        sum: 20,
        scale: 0,
        zeroCount: 1,
        positive: { offset: 0, bucketCounts: [2, 3, 0, 0, 0, 0, 1] },
        negative: { offset: -2, bucketCounts: [3] },
        ...more,
      },
    ],
  },
});

const SHOP: ResourceMetrics = {
  resource: { "service.name": "cart", "service.instance.id": "1", "host.name": "a" },
  scope: { name: "lib", version: "1" },
  metrics: [
    gauge("g", -0.25, { "a.b": "x", "": "nameless" }),
    { ...sum("n", 9_007_199_254_740_991), unit: "By" },
    histogram("h", [1, 2, 0, 4], 12.5),
    {
      name: "waits",
      summary: {
        dataPoints: [{ timeUnixNano: at(0), count: 9, sum: 4.5, quantileValues: [{ quantile: 0.99, value: 2.25 }] }],
      },
    },
  ],
};

describe("the prometheus_remote_write exporter", () => {
  it.skipIf(!isInstalled)(
    "gives a real Prometheus the numbers that a scrape of the prometheus exporter gives",
    async () => {
      const port = await freePort();
      const scraped = await start(
        { endpoint: `127.0.0.1:${port}`, const_labels: { path: "scrape" } },
        prometheusExporter,
      );
      await scraped.send(SHOP);
      const prometheus = await TestPrometheus.start([`127.0.0.1:${port}`], "--web.enable-remote-write-receiver");
      const { send } = await start({ endpoint: `${prometheus.url}/api/v1/write`, external_labels: { path: "write" } });
      expect(await send(SHOP)).toBeUndefined();
      const queries = [
        "g",
        "n_bytes_total",
        "h_seconds_count",
        "h_seconds_sum",
        'h_seconds_bucket{le="1"}',
        "histogram_quantile(0.25, h_seconds_bucket)",
        'waits{quantile="0.99"}',
        "waits_sum",
        "target_info",
      ];
      await expect.poll(() => prometheus.query("g{path='scrape'}").then(Object.keys)).toHaveLength(1);
      for (const query of queries) {
        const named = (path: string) =>
          query.replace(
            /^(histogram_quantile\(0.25, \w+|\w+)(\{)?/,
            `$1{path="${path}"${query.includes("{") ? "," : "}"}`,
          );
        const scrape = await prometheus.query(named("scrape"));
        const write = await prometheus.query(named("write"), NOW + 1);
        expect(Object.keys(scrape), query).toHaveLength(1);
        expect(Object.keys(write).map((labels) => labels.replace('"write"', '"scrape"'))).toEqual(Object.keys(scrape));
        expect(Object.values(write), query).toEqual(Object.values(scrape));
      }
    },
  );

  it.skipIf(!isInstalled)("sends exponential histograms as native ones, and the end of a series", async () => {
    const flags = ["--web.enable-remote-write-receiver", "--enable-feature=native-histograms"];
    const prometheus = await TestPrometheus.start([], ...flags);
    const { send } = await start({ endpoint: `${prometheus.url}/api/v1/write`, disable_scope_info: true });
    await send({ metrics: [exponential(), gauge("g", 1)] });
    const value = async (query: string, ms = 500) => Object.values(await prometheus.query(query, NOW + ms / 1000))[0];
    expect([await value("histogram_count(sizes)"), await value("histogram_sum(sizes)")]).toEqual(["10", "20"]);
    expect(await value("histogram_fraction(1, 4, sizes)")).toBe("0.5");
    expect(await value("histogram_quantile(1, sizes)")).toBe("128");
    expect(await value("histogram_quantile(0, sizes)")).toBe("-0.5");
    await expect(send({ metrics: [exponential({ count: 1 })] })).rejects.toMatchObject({
      kind: "permanent",
      category: "schema",
    });
    await send({
      metrics: [
        exponential({ flags: 1, timeUnixNano: at(1000) }),
        gauge("g", 0, {}, { flags: 1, timeUnixNano: at(1000) }),
      ],
    });
    expect([await value("g"), await value("g", 1500), await value("sizes", 1500)]).toEqual(["1", undefined, undefined]);
  });

  it.skipIf(!isInstalled)("puts the samples of a series in order, and says for good what comes too late", async () => {
    const prometheus = await TestPrometheus.start([], "--web.enable-remote-write-receiver");
    const { send } = await start({ endpoint: `${prometheus.url}/api/v1/write` });
    const points = [3000, 1000, 2000].map((ms) => gauge("g", ms, {}, { timeUnixNano: at(ms) }));
    expect(await send({ metrics: points })).toBeUndefined();
    const range = await prometheus.query("count_over_time(g[1m])", NOW + 10);
    expect(Object.values(range)).toEqual(["3"]);
    await expect(send({ metrics: [gauge("g", 1)] })).rejects.toMatchObject({
      kind: "permanent",
      category: "business",
      status: "HTTP 400",
    });
    await expect(send({ metrics: [gauge("g", 5, {}, { timeUnixNano: at(3000) })] })).rejects.toMatchObject({
      category: "business",
    });
  });

  it("sends remote write 2.0 with every text once, types and exemplars", async () => {
    const server = await startWriteServer();
    const { send } = await start({ endpoint: server.url, protobuf_message: "io.prometheus.write.v2.Request" });
    const exemplars = [{ timeUnixNano: at(0), asDouble: 0.5, traceId: "0102030405060708090a0b0c0d0e0f10" }];
    const counter = { ...sum("n", 7, { a: "x" }, { exemplars }), description: "How many", unit: "s" };
    await send({ resource: { "service.name": "s", z: "1" }, metrics: [counter, exponential()] });
    const [request] = server.requests;
    expect(request?.headers).toMatchObject({
      "content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": "2.0.0",
    });
    expect(request?.series).toEqual([
      {
        labels: { __name__: "n_seconds_total", a: "x", job: "s" },
        samples: [[7, BASE_MS]],
        histograms: 0,
        exemplars: [{ labels: { trace_id: "0102030405060708090a0b0c0d0e0f10" }, value: 0.5, time: BASE_MS }],
        metadata: { type: 1, help: "How many", unit: "s" },
      },
      {
        labels: { __name__: "sizes", job: "s" },
        samples: [],
        histograms: 1,
        exemplars: [],
        metadata: { type: 3, help: "", unit: "" },
      },
      {
        labels: { __name__: "target_info", job: "s", z: "1" },
        samples: [[1, BASE_MS]],
        histograms: 0,
        exemplars: [],
        metadata: undefined,
      },
    ]);
    expect(new Set(request?.symbols).size).toBe(request?.symbols.length);
  });

  it("does not take the success of a server that does not know 2.0 for one", async () => {
    const server = await startWriteServer({ knowsV2: false });
    const { send } = await start({ endpoint: server.url, protobuf_message: "io.prometheus.write.v2.Request" });
    await expect(send({ metrics: [gauge("g", 1)] })).rejects.toMatchObject({ kind: "permanent", status: "HTTP 415" });
  });

  it("sends a large batch in parts, and headers of the config with each", async () => {
    const server = await startWriteServer();
    const config = { headers: { "x-scope-orgid": "a" }, target_info: { enabled: false }, send_metadata: true };
    const { send } = await start({ endpoint: server.url, max_batch_size_bytes: 500, ...config });
    await send({ metrics: Array.from({ length: 50 }, (_, i) => gauge("g", i, { i: `number ${i}` })) });
    expect(server.requests.length).toBeGreaterThan(3);
    expect(server.requests.flatMap(({ series }) => series)).toHaveLength(50);
    expect(server.requests.every(({ headers }) => headers["x-scope-orgid"] === "a")).toBe(true);
    expect(server.requests[0]?.metadata).toEqual([{ type: 2, name: "g", help: "", unit: "" }]);
  });

  it("sends what it can of a batch, and says of deltas and too coarse histograms that it cannot", async () => {
    const server = await startWriteServer();
    const { send } = await start({ endpoint: server.url });
    const delta = sum("d", 1, {}, {}, { aggregationTemporality: 1 });
    expect(await send({ metrics: [delta, exponential({ scale: -5 }), gauge("g", 1)] })).toMatchObject({
      rejected: 2,
      message: expect.stringContaining("d: remote write has no deltas"),
    });
    expect(server.requests.flatMap(({ series }) => series)).toHaveLength(1);
  });

  it.each([
    [503, {}, "transient"],
    [429, { "retry-after": "7" }, "throttled"],
    [400, {}, "permanent"],
  ] as const)("takes a %i of the server for %s", async (status, headers, kind) => {
    const server = await startWriteServer({ answer: { status, headers } });
    const { send } = await start({ endpoint: server.url });
    await expect(send({ metrics: [gauge("g", 1)] })).rejects.toMatchObject({ kind, status: `HTTP ${status}` });
  });

  it("has the keys of its HTTP client in a section of their own, too", async () => {
    const server = await startWriteServer();
    const { send } = await start({
      http: { endpoint: server.url },
      resource_to_telemetry_conversion: { enabled: true },
    });
    await send({ resource: { zone: "z" }, scope: { attributes: attributes({ k: "v" }) }, metrics: [gauge("g", 1)] });
    expect(server.requests[0]?.series[0]?.labels).toEqual({ __name__: "g", otel_scope_k: "v", zone: "z" });
    expect(() => remoteWriteExporter.schema.parse({})).toThrow("expected an endpoint");
  });
});
