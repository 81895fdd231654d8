import { describe, expect, it } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { prometheusExporter } from "../../../../src/exporters/prometheus/component.js";
import { hasPrometheus, TestPrometheus } from "../../../support/servers/prometheus.js";
import { at, BASE_MS, gauge, histogram, type ResourceMetrics, sum } from "../metrics.js";
import { exponential, startExporter } from "./harness.js";

const NOW = BASE_MS / 1000;

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

const withoutPath = (labels: string) => labels.replace(/,?"?path"?[=:]"\w*"/, "");

describe.skipIf(!hasPrometheus())("the prometheus_remote_write exporter", () => {
  it("gives a real Prometheus the numbers that a scrape of the prometheus exporter gives", async () => {
    const port = await freePort();
    const scraped = await startExporter(
      { endpoint: `127.0.0.1:${port}`, const_labels: { path: "scrape" } },
      prometheusExporter,
    );
    await scraped.send(SHOP);
    const prometheus = await TestPrometheus.start([`127.0.0.1:${port}`], "--web.enable-remote-write-receiver");
    const { send } = await startExporter({
      endpoint: `${prometheus.url}/api/v1/write`,
      external_labels: { path: "write" },
    });
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
      const scrape = await prometheus.query(named(query === "target_info" ? "" : "scrape")); // it has no constant labels
      const write = await prometheus.query(named("write"), NOW + 1);
      expect(Object.keys(scrape), query).toHaveLength(1);
      expect(Object.keys(write).map(withoutPath)).toEqual(Object.keys(scrape).map(withoutPath));
      expect(Object.values(write), query).toEqual(Object.values(scrape));
    }
  });

  it("sends exponential histograms as native ones, and the end of a series", async () => {
    const flags = ["--web.enable-remote-write-receiver", "--enable-feature=native-histograms"];
    const prometheus = await TestPrometheus.start([], ...flags);
    const { send } = await startExporter({ endpoint: `${prometheus.url}/api/v1/write`, disable_scope_info: true });
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

  it("sorts the samples of a series, and permanently refuses late ones", async () => {
    const prometheus = await TestPrometheus.start([], "--web.enable-remote-write-receiver");
    const { send } = await startExporter({ endpoint: `${prometheus.url}/api/v1/write` });
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
});
