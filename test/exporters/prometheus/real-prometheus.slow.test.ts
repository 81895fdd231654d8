import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { hasPrometheus, TestPrometheus } from "../../support/servers/prometheus.js";
import { startPrometheusExporter } from "./harness.js";
import { at, gauge, histogram, sum } from "./metrics.js";

describe.skipIf(!hasPrometheus())("the prometheus exporter", () => {
  it("gives promtool nothing to complain about", async () => {
    const { send, scrape } = await startPrometheusExporter({ without_scope_info: false });
    await send({
      resource: { "service.name": "a", "service.instance.id": "b", "x.y": "z" },
      metrics: [
        { ...gauge("temperature", 21.5, { room: "a" }), unit: "Cel", description: "How warm it is" },
        { ...sum("requests", 3, { route: "/" }), description: "How many came" },
        histogram("latency", [1, 1, 1, 1], 4),
      ],
    });
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
      input: await scrape(),
      encoding: "utf8",
    });
    expect([status, stdout, stderr]).toEqual([0, "", ""]);
  });

  it("shows a real Prometheus the numbers that were sent", async () => {
    const { send, endpoint } = await startPrometheusExporter();
    const exponential = {
      name: "sizes",
      exponentialHistogram: {
        aggregationTemporality: 2,
        dataPoints: [
          {
            timeUnixNano: at(0),
            count: 6,
            sum: 20,
            scale: 0,
            zeroCount: 1,
            positive: { offset: 0, bucketCounts: [2, 3] },
          },
        ],
      },
    };
    const summary = {
      name: "waits",
      summary: {
        dataPoints: [{ timeUnixNano: at(0), count: 9, sum: 4.5, quantileValues: [{ quantile: 0.99, value: 2.25 }] }],
      },
    };
    await send({
      resource: { "service.name": "cart", "service.instance.id": "1" },
      metrics: [
        gauge("g", -0.25),
        sum("n", 9_007_199_254_740_991),
        histogram("h", [1, 2, 0, 4], 12.5),
        exponential,
        summary,
      ],
    });
    const prometheus = await TestPrometheus.start([endpoint]);
    const value = (query: string) => prometheus.query(query).then((found) => Object.values(found)[0]);
    await expect.poll(() => value("up")).toBe("1");
    await expect.poll(() => value('g{job="cart",instance="1"}')).toBe("-0.25");
    expect(await value("n_total")).toBe("9007199254740991");
    expect(await value('h_seconds_bucket{le="1"}')).toBe("3");
    expect(await value("h_seconds_sum")).toBe("12.5");
    expect(await value("histogram_quantile(0.25, h_seconds_bucket)")).toBe("0.4375");
    expect([await value("sizes_count"), await value("sizes_sum")]).toEqual(["6", "20"]);
    expect(await value('waits{quantile="0.99"}')).toBe("2.25");
    expect(await value("target_info")).toBe("1");
  });
});
