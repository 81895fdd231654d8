import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProtobufReader } from "../../../src/receivers/prometheus/exposition/protobuf-reader.js";
import { ExpositionError } from "../../../src/receivers/prometheus/exposition/series-text.js";
import { ScrapeSeries } from "../../../src/receivers/prometheus/series/scrape-series.js";
import { writeBatches } from "../../../src/receivers/prometheus/series/write-batches.js";
import { runs } from "../../support/runs.js";
import { until } from "../../support/until.js";
import { pointsOf, SCRAPE_SETTINGS, startScraping, startTarget, valueIn, values } from "./harness.js";
import {
  bucket,
  bytesField,
  counter,
  doubleField,
  exemplar,
  family,
  gauge,
  histogram,
  metric,
  native,
  PROTOBUF,
  packedDoubles,
  summary,
  timestamp,
  uintField,
} from "./metric-families.js";

const BORN = Date.UTC(2024, 0, 1);
const TRACE = "0102030405060708090a0b0c0d0e0f10";

const PAGE = Buffer.concat([
  family(
    "requests_total",
    "counter",
    metric({ code: "200" }, counter(7, exemplar(2, { trace_id: TRACE }, 1.5, BORN), timestamp(3, BORN))),
    metric({ code: 'a "b"\\\n' }, counter(1)),
  ),
  family("temperature", "gauge", metric({}, gauge(-3.5))),
  family("plain", "untyped", metric({}, bytesField(5, doubleField(1, 2)))),
  family("size", "summary", metric({}, summary(2, 30, { 0.5: 10 }))),
  family(
    "latency",
    "histogram",
    metric({}, histogram(uintField(1, 3), doubleField(2, 4.5), bucket(0.1, 1), bucket(1, 2), timestamp(15, BORN))),
    metric(
      { kind: "native" },
      native(
        {
          count: 19,
          sum: 42,
          schema: 3,
          zeroCount: 2,
          zeroThreshold: 0.001,
          positive: [
            [-2, 2],
            [3, 1],
          ],
          deltas: [1, 2, 4],
          negative: [[1, 1]],
          negativeDeltas: [6],
        },
        bucket(1, 19),
        exemplar(16, { trace_id: TRACE }, 2.5, BORN),
        timestamp(15, BORN),
      ),
    ),
  ),
]);

/** Returns the receiver's output for such bytes, and the losses that it reports. */
function read(bytes: Buffer, cuts: readonly number[] = []) {
  const series = new ScrapeSeries({ ...SCRAPE_SETTINGS, room: { left: 10_000, max: 10_000 } });
  series.begin();
  const reader = new ProtobufReader(series);
  let from = 0;
  for (const cut of [...new Set(cuts.map((each) => each % (bytes.length + 1)))].sort((a, b) => a - b)) {
    reader.push(bytes.subarray(from, cut));
    from = cut;
  }
  reader.push(bytes.subarray(from));
  reader.end();
  series.complete();
  const lost: string[] = [];
  const batches = [...writeBatches(series, BORN + 60_000, ({ name }, problem) => lost.push(`${name}: ${problem}`))];
  return { points: batches.flatMap(pointsOf), lost };
}

const nativeFamily = (...fields: Buffer[]) => family("n", "histogram", metric({}, ...fields));

describe("the prometheus receiver, with protobuf", () => {
  it("asks for it when native histograms are wanted, and makes exponential histograms of them", async () => {
    const target = await startTarget((_, response) => void response.setHeader("Content-Type", PROTOBUF).end(PAGE));
    const job = { job_name: "shop", static_configs: [{ targets: [target.address] }], scrape_native_histograms: true };
    const scraping = await startScraping([job]);
    await until(() => expect(valueIn(scraping.scrape(0), "scrape_series_added")).toBeDefined());
    const points = scraping.scrape(0);
    expect(target.requests[0]!.headers.accept).toMatch(
      /^application\/vnd\.google\.protobuf;proto=io\.prometheus\.client\.MetricFamily;encoding=delimited;q=0\.6,/,
    );
    expect(values(points)).toMatchObject({ "requests_total{code=200}": 7, temperature: -3.5, plain: 2 });
    const named = (name: string, kind: string) =>
      points.filter((point) => point.name === name && point.kind === kind).map(({ data }) => data);
    const start = `${BORN}000000`;
    const examples = [{ timeUnixNano: start, asDouble: 1.5, traceId: TRACE }];
    expect(named("requests_total", "sum")[0]).toMatchObject({ startTimeUnixNano: start, exemplars: examples });
    expect(points.find(({ name }) => name === "requests_total")!.metric).toMatchObject({
      description: "About requests_total.",
      sum: { isMonotonic: true },
    });
    expect(points.map(({ labels }) => labels["code"])).toContain('a "b"\\\n');
    expect(named("size", "summary")[0]).toMatchObject({ count: "2", quantileValues: [{ quantile: 0.5, value: 10 }] });
    expect(named("latency", "histogram")[0]).toMatchObject({
      startTimeUnixNano: start,
      count: "3",
      sum: 4.5,
      explicitBounds: [0.1, 1],
      bucketCounts: ["1", "1", "1"],
    });
    expect(named("latency", "exponentialHistogram")).toMatchObject([
      {
        startTimeUnixNano: start,
        count: "19",
        sum: 42,
        scale: 3,
        zeroCount: "2",
        zeroThreshold: 0.001,
        positive: { offset: -3, bucketCounts: ["1", "3", "0", "0", "0", "7"] },
        negative: { bucketCounts: ["6"] },
        exemplars: [{ timeUnixNano: start, asDouble: 2.5, traceId: TRACE }],
      },
    ]);
    expect(valueIn(points, "scrape_samples_scraped")).toBe(13);
  });

  it("does not ask for it unless told, and takes what says no type for what the job says", async () => {
    const plain = await startTarget("a 1\n");
    const silent = await startTarget((_, response) => void response.end(PAGE));
    const scraping = await startScraping([
      { job_name: "text", static_configs: [{ targets: [plain.address] }] },
      {
        job_name: "proto",
        static_configs: [{ targets: [silent.address] }],
        scrape_protocols: ["PrometheusProto"],
        fallback_scrape_protocol: "PrometheusProto",
      },
    ]);
    await until(() => expect(values(scraping.points())).toMatchObject({ a: 1, temperature: -3.5 }));
    expect(plain.requests[0]!.headers.accept).not.toContain("protobuf");
  });

  it("tells the end of a native histogram that is not there any more", async () => {
    let page: Buffer = PAGE;
    const target = await startTarget((_, response) => void response.setHeader("Content-Type", PROTOBUF).end(page));
    const job = { job_name: "shop", static_configs: [{ targets: [target.address] }], scrape_native_histograms: true };
    const scraping = await startScraping([job]);
    await until(() => expect(scraping.points().some(({ kind }) => kind === "exponentialHistogram")).toBe(true));
    page = family("temperature", "gauge", metric({}, gauge(1)));
    const ended = () => scraping.points().find(({ kind, isEnd }) => kind === "exponentialHistogram" && isEnd);
    await until(() => expect(ended()?.labels).toMatchObject({ kind: "native" }));
  });

  it.each([
    ["fractions", native({ count: 1 }, doubleField(4, 1.5), doubleField(8, 1.5)), "whole numbers"],
    ["a schema of the future", native({ count: 1, schema: 9, zeroCount: 1 }), "schema 9"],
    ["custom buckets", native({ count: 1, schema: -53, zeroCount: 1 }), "schema -53"],
    ["fewer counts than buckets", native({ count: 1, positive: [[0, 3]], deltas: [1] }), "as many"],
    ["a count below zero", native({ count: 1, positive: [[0, 2]], deltas: [1, -2] }), "whole numbers"],
    ["more in its buckets than counted", native({ count: 1, positive: [[0, 1]], deltas: [2] }), "more than its count"],
    // biome-ignore format: one case a line
    ["runs that overlap", native({ count: 2, positive: [[0, 1], [-1, 1]], deltas: [1, 0] }), "order"],
    // biome-ignore format: one case a line
    ["buckets at both ends of all numbers", native({ count: 2, positive: [[0, 1], [2 ** 30, 1]], deltas: [1, 0] }), "16384"],
    ["four thousand million buckets", native({ count: 2, positive: [[0, 2 ** 32 - 1]], deltas: [1] }), "as many"],
  ])("says that it lost a histogram with %s, and keeps the rest of the scrape", (_, broken, problem) => {
    const { points, lost } = read(Buffer.concat([nativeFamily(broken), family("t", "gauge", metric({}, gauge(1)))]));
    expect(lost).toEqual([expect.stringContaining(problem)]);
    expect(points).toEqual([expect.objectContaining({ name: "t", value: 1 })]);
  });

  it("reads a native histogram without observations, one that counts in whole doubles, and gauges as far as OTLP has them", () => {
    const empty = nativeFamily(native({ count: 0, positive: [[0, 0]] }));
    const doubles = nativeFamily(
      histogram(doubleField(4, 5), bytesField(12, uintField(2, 2)), packedDoubles(14, [2, 3])),
    );
    expect(read(empty)).toMatchObject({ points: [{ kind: "exponentialHistogram" }], lost: [] });
    expect(read(doubles).points[0]!.data).toMatchObject({
      count: "5",
      positive: { offset: -1, bucketCounts: ["2", "3"] },
    });
    const both = native({ count: 2, zeroCount: 2 }, bucket(1, 2));
    expect(values(read(family("g", "gaugeHistogram", metric({}, both))).points)).toMatchObject({
      g_gcount: 2,
      g_gsum: 0,
    });
    const alone = family("g", "gaugeHistogram", metric({}, native({ count: 2, zeroCount: 2 })));
    expect(read(alone)).toMatchObject({ points: [], lost: ["g: it is a gauge histogram, which OTLP does not have"] });
  });

  it("reads quoted names, and series of such families", () => {
    const odd = family("my.requests", "counter", metric({ "a.b": "c" }, counter(3)));
    expect(read(odd).points).toEqual([
      expect.objectContaining({ name: "my.requests", kind: "sum", labels: { "a.b": "c" }, value: 3 }),
    ]);
    const named = family("my.sizes", "histogram", metric({}, native({ count: 1, zeroCount: 1 })));
    expect(read(named)).toMatchObject({ points: [{ name: "my.sizes", kind: "exponentialHistogram" }], lost: [] });
  });

  it("reads the same from any pieces", () => {
    const whole = read(PAGE);
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 20 }), (cuts) => {
        expect(read(PAGE, cuts)).toEqual(whole);
      }),
      runs(20),
    );
    expect(read(PAGE, [...PAGE.keys()])).toEqual(whole);
  });

  it("refuses what is cut off, and damage ends in a sentence or in fewer points, never in anything else", () => {
    for (let size = 1; size < PAGE.length; size += 5) {
      try {
        expect(read(PAGE.subarray(0, size)).points.length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(ExpositionError);
      }
    }
    const damage = fc.array(fc.tuple(fc.nat(PAGE.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(damage, fc.array(fc.nat(), { maxLength: 3 }), (changes, cuts) => {
        const bytes = Buffer.from(PAGE);
        for (const [at, byte] of changes) bytes[at] = byte;
        try {
          read(bytes, cuts);
        } catch (error) {
          expect(error).toBeInstanceOf(ExpositionError);
        }
      }),
      runs(80),
    );
  });

  it.each([
    [
      "a metric without end",
      Buffer.concat([Buffer.from("ffffffff0722ffffffff07", "hex"), Buffer.alloc(100)]),
      "longer than",
    ],
    [
      "a family without a name",
      Buffer.concat([Buffer.of(metric({}, gauge(1)).length), metric({}, gauge(1))]),
      "before the name",
    ],
    ["a family that never began", Buffer.alloc(20, 0xff), "cut off or damaged"],
    ["a gauge that is a counter", family("x", "gauge", metric({}, summary(1, 1, {}))), "a gauge has no value"],
    [
      "a label that is no text",
      family("x", "gauge", metric({}, bytesField(1, [bytesField(2, Buffer.of(0xff))]), gauge(1))),
      "UTF-8",
    ],
    ["a label without a name", family("x", "gauge", metric({ "": "y" }, gauge(1))), "no name"],
  ])("says what is wrong with %s", (_, bytes, problem) => {
    expect(() => read(bytes)).toThrow(problem);
  });
});
