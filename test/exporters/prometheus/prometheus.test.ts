import { describe, expect, it } from "vitest";
import { FakeClock } from "../../support/fake-clock.js";
import { startPrometheusExporter } from "./harness.js";
import { at, attributes, BASE_MS, gauge, histogram, sum } from "./metrics.js";

const OPEN = { accept: "application/openmetrics-text" };

describe("the prometheus exporter", () => {
  it("shows the last value of every series, with the names of Prometheus", async () => {
    const { send, scrape } = await startPrometheusExporter({
      namespace: "shop",
      const_labels: { Region: "eu", route: "never" },
    });
    await send({
      resource: {
        "service.name": "cart",
        "service.namespace": "shop",
        "service.instance.id": "i-1",
        "host.name": 'a"b',
      },
      metrics: [
        { ...gauge("queue.length", 3, { "queue.name": "x\ny", b: true }), description: "Waiting\nones" },
        { ...sum("requests", 7, { "http.route": "/a" }), unit: "{request}" },
        histogram("latency", [1, 2, 0, 4], 12.5),
      ],
    });
    await send({ resource: { "service.name": "cart" }, metrics: [gauge("queue.length", 4)] });
    expect(await scrape()).toBe(
      [
        "# HELP shop_latency_seconds How long it took",
        "# TYPE shop_latency_seconds histogram",
        'shop_latency_seconds_bucket{Region="eu",instance="i-1",job="shop/cart",route="/a",le="0.1"} 1',
        'shop_latency_seconds_bucket{Region="eu",instance="i-1",job="shop/cart",route="/a",le="1"} 3',
        'shop_latency_seconds_bucket{Region="eu",instance="i-1",job="shop/cart",route="/a",le="2.5e+06"} 3',
        'shop_latency_seconds_bucket{Region="eu",instance="i-1",job="shop/cart",route="/a",le="+Inf"} 7',
        'shop_latency_seconds_sum{Region="eu",instance="i-1",job="shop/cart",route="/a"} 12.5',
        'shop_latency_seconds_count{Region="eu",instance="i-1",job="shop/cart",route="/a"} 7',
        "# HELP shop_queue_length Waiting\\nones",
        "# TYPE shop_queue_length gauge",
        'shop_queue_length{Region="eu",b="true",instance="i-1",job="shop/cart",queue_name="x\\ny",route="never"} 3',
        'shop_queue_length{Region="eu",job="cart",route="never"} 4',
        "# TYPE shop_requests_total counter",
        'shop_requests_total{Region="eu",http_route="/a",instance="i-1",job="shop/cart",route="never"} 7',
        "# HELP shop_target_info Target metadata",
        "# TYPE shop_target_info gauge",
        'shop_target_info{host_name="a\\"b",instance="i-1",job="shop/cart"} 1',
        "",
      ].join("\n"),
    );
  });

  it("makes labels of scopes and, if asked, of resources", async () => {
    const { send, scrape } = await startPrometheusExporter({
      without_scope_info: false,
      resource_to_telemetry_conversion: { enabled: true, exclude_service_attributes: true },
    });
    const scope = { name: "lib", version: "1.2", attributes: attributes({ flavour: "x" }) };
    await send({
      resource: { "service.name": "s", zone: "z" },
      scope,
      schemaUrl: "https://a/1",
      metrics: [gauge("g", 1, { zone: "own" })],
    });
    expect(await scrape()).toContain(
      'g{job="s",otel_scope_flavour="x",otel_scope_name="lib",otel_scope_schema_url="https://a/1",otel_scope_version="1.2",zone="z"} 1\n',
    );
  });

  it("merges series with the same name and labels, in any order, and shows the newest value", async () => {
    const { send, scrape } = await startPrometheusExporter();
    await send({ metrics: [gauge("g", 2, { a: "1", b: "2" }, { timeUnixNano: at(5) })] });
    await send({ metrics: [gauge("g", 1, { b: "2", a: "1" })] });
    await send({ metrics: [gauge("g", 3, { b: 2, a: 1 }, { timeUnixNano: at(6) })] });
    await send({ metrics: [gauge("g", 4, { "x.y": "1", x_y: "2" })] });
    expect(await scrape()).toBe('# TYPE g gauge\ng{a="1",b="2"} 3\ng{x_y="1;2"} 4\n');
  });

  it("adds up deltas, and rejects a repeated one", async () => {
    const { send, scrape } = await startPrometheusExporter();
    const delta = (value: number, ms: number) =>
      sum("n", value, {}, { timeUnixNano: at(ms) }, { aggregationTemporality: 1 });
    const more = (ms: number) => histogram("h", [1, 0, 1, 0], 2, { timeUnixNano: at(ms) }, 1);
    await send({ metrics: [delta(5, 1), delta(2, 2), more(1), more(2)] });
    expect(await send({ metrics: [delta(2, 2)] })).toMatchObject({
      rejected: 1,
      message: expect.stringContaining("n: a delta"),
    });
    const page = await scrape();
    expect(page).toContain("n_total 7\n");
    expect(page).toContain('h_seconds_bucket{route="/a",le="2.5e+06"} 4\n');
    expect(page).toContain('h_seconds_count{route="/a"} 4\n');
  });

  it("reports what it cannot show: another type under the same name, no temporality, a name without valid characters", async () => {
    const { send } = await startPrometheusExporter({ add_metric_suffixes: false });
    expect(
      await send({
        metrics: [gauge("a", 1), sum("a", 2), sum("b", 1, {}, {}, { aggregationTemporality: 0 }), gauge("温", 1)],
      }),
    ).toMatchObject({ rejected: 3, message: expect.stringContaining("another metric with the name a") });
  });

  it("accepts no more series than configured, and rejects the points of others", async () => {
    const { send, scrape } = await startPrometheusExporter({ max_series: 2 });
    const metrics = [1, 2, 3, 4].map((i) => gauge("g", i, { i }));
    expect(await send({ metrics })).toMatchObject({ rejected: 2, message: expect.stringContaining("max_series") });
    expect((await scrape()).match(/^g\{/gm)).toHaveLength(2);
  });

  it("forgets series that were not updated, and those that have ended", async () => {
    const clock = new FakeClock();
    const { send, scrape } = await startPrometheusExporter({ metric_expiration: "1m" }, { clock });
    await send({ metrics: [gauge("old", 1), gauge("ended", 1), gauge("kept", 1)] });
    await clock.advance(59_000);
    await send({ metrics: [gauge("kept", 2), gauge("ended", 0, {}, { flags: 1 })] });
    expect(await scrape()).toBe("# TYPE kept gauge\nkept 2\n# TYPE old gauge\nold 1\n");
    await clock.advance(2_000);
    expect(await scrape()).toBe("# TYPE kept gauge\nkept 2\n");
  });

  it("answers in OpenMetrics with exemplars, if that is enabled and asked for", async () => {
    const { send, scrape } = await startPrometheusExporter({ enable_open_metrics: true, send_timestamps: true });
    const exemplars = [
      { timeUnixNano: at(0), asDouble: 0.5, traceId: "0102030405060708090a0b0c0d0e0f10", spanId: "0102030405060708" },
    ];
    await send({ metrics: [sum("n", 7, {}, { exemplars }), histogram("h", [1, 2, 0, 0], 1, { exemplars })] });
    const page = await scrape(OPEN);
    const seconds = BASE_MS / 1000;
    const exemplar = ` # {span_id="0102030405060708",trace_id="0102030405060708090a0b0c0d0e0f10"} 0.5 ${seconds}`;
    expect(page).toContain(`# TYPE n counter\nn_total 7.0 ${seconds}${exemplar}\n`);
    expect(page).toContain(`h_seconds_bucket{route="/a",le="1.0"} 3 ${seconds}${exemplar}\n`);
    expect(page.endsWith("# EOF\n")).toBe(true);
    expect(await scrape()).not.toContain("# EOF");
  });

  it("answers only GET of /metrics, and compresses the page for clients that accept it", async () => {
    const { url, send } = await startPrometheusExporter();
    await send({ metrics: [gauge("g", 1)] });
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    expect((await fetch(url.replace("/metrics", "/"))).status).toBe(404);
    const packed = await fetch(url, { headers: { "accept-encoding": "gzip" } });
    expect([packed.headers.get("content-encoding"), await packed.text()]).toEqual(["gzip", "# TYPE g gauge\ng 1\n"]);
  });

  it("lets other work run while it makes a large page", async () => {
    const { send, scrape } = await startPrometheusExporter();
    for (let i = 0; i < 50; i++) {
      await send({
        metrics: [
          {
            name: "g",
            gauge: { dataPoints: Array.from({ length: 400 }, (_, k) => gauge("", k, { i, k }).gauge.dataPoints[0]) },
          },
        ],
      });
    }
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const page = await scrape();
    clearInterval(timer);
    expect(page.match(/^g\{/gm)).toHaveLength(20_000);
    expect(turns).toBeGreaterThan(5);
  });
});
