import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { prometheusExporter } from "../../../src/exporters/prometheus/component.js";
import { ExpositionReader } from "../../../src/receivers/prometheus/exposition/exposition-reader.js";
import { ScrapeSeries } from "../../../src/receivers/prometheus/series/scrape-series.js";
import { writeBatches } from "../../../src/receivers/prometheus/series/write-batches.js";
import { at, attributes, metricsBatch } from "../../exporters/prometheus/metrics.js";
import { exporterContext, never } from "../../exporters/support.js";
import { runs } from "../../support/runs.js";
import { pointsOf, SCRAPE_SETTINGS } from "./harness.js";

const settings = {
  ...SCRAPE_SETTINGS,
  targetLabels: [
    ["instance", "target:1"],
    ["job", "scrape"],
  ] as const,
};

/** Returns the receiver's output for a text. */
function scrape(text: string, format: "prometheus" | "openmetrics") {
  const series = new ScrapeSeries({ ...settings, room: { left: 1000, max: 1000 } });
  series.begin();
  const reader = new ExpositionReader(format, series);
  reader.push(Buffer.from(text));
  reader.end();
  series.complete();
  return [...writeBatches(series, Date.now(), (metric, problem) => expect([metric.name, problem]).toEqual([]))].flatMap(
    pointsOf,
  );
}

const labels = fc.dictionary(
  fc.constantFrom("a", "b", "route"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
  { maxKeys: 3 },
);
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const whole = fc.integer({ min: 0, max: 1e6 });
const buckets = fc
  .uniqueArray(
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map((value) => value + 0),
    { maxLength: 5 },
  )
  .chain((bounds) =>
    fc.tuple(
      fc.constant(bounds.sort((a, b) => a - b)),
      fc.array(whole, { minLength: bounds.length + 1, maxLength: bounds.length + 1 }),
    ),
  );

describe("what our exporter shows and our receiver scrapes", () => {
  it("is the same points", async () => {
    const endpoint = `127.0.0.1:${await freePort()}`;
    const config = {
      endpoint,
      without_scope_info: true,
      enable_open_metrics: true,
      send_timestamps: true,
      metric_expiration: 0,
    };
    const arbitrary = fc.record({
      labels,
      gauge: number,
      counter: whole,
      histogram: buckets,
      sum: number,
      isOpen: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(arbitrary, async (sample) => {
        const exporter = prometheusExporter.create(prometheusExporter.schema.parse(config), exporterContext());
        await exporter.start!();
        try {
          const [explicitBounds, bucketCounts] = sample.histogram;
          const count = bucketCounts.reduce((a, b) => a + b, 0);
          const point = { timeUnixNano: at(0), attributes: attributes(sample.labels) };
          const cumulative = { aggregationTemporality: 2 };
          const batch = metricsBatch({
            resource: { "service.name": "cart", "service.instance.id": "i-1" },
            metrics: [
              { name: "level", gauge: { dataPoints: [{ ...point, asDouble: sample.gauge }] } },
              {
                name: "done_total",
                sum: { ...cumulative, isMonotonic: true, dataPoints: [{ ...point, asDouble: sample.counter }] },
              },
              {
                name: "latency",
                histogram: {
                  ...cumulative,
                  dataPoints: [{ ...point, count, sum: sample.sum, bucketCounts, explicitBounds }],
                },
              },
            ],
          });
          expect(await exporter.send(batch, never)).toBeUndefined();
          const accept = sample.isOpen ? "application/openmetrics-text" : "text/plain";
          const text = await (
            await fetch(`http://${endpoint}/metrics`, { headers: { accept, connection: "close" } })
          ).text();
          const points = scrape(text, sample.isOpen ? "openmetrics" : "prometheus");
          const told = Object.fromEntries(
            points.map(({ name, labels: own, resource, data }) => [name, { own, resource, data }]),
          );
          for (const name of ["level", "done_total", "latency"]) {
            expect(told[name]).toMatchObject({
              own: sample.labels,
              resource: { "service.name": "cart", "service.instance.id": "i-1" },
              data: { timeUnixNano: at(0) },
            });
          }
          expect(Number(told["level"]!.data["asDouble"])).toBe(sample.gauge);
          expect(Number(told["done_total"]!.data["asDouble"])).toBe(sample.counter);
          const histogram = told["latency"]!.data;
          expect([Number(histogram["count"]), Number(histogram["sum"])]).toEqual([count, sample.sum]);
          expect((histogram["bucketCounts"] as string[]).map(Number)).toEqual(bucketCounts);
          expect(((histogram["explicitBounds"] ?? []) as number[]).map(Number)).toEqual(explicitBounds);
        } finally {
          await exporter.stop!();
        }
      }),
      runs(40),
    );
  });
});
