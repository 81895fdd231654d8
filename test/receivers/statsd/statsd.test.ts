import { createSocket } from "node:dgram";
import { mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory } from "../../../src/plugin.js";
import { statsdReceiver } from "../../../src/receivers/statsd/component.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { startReceiver } from "../started-receiver.js";

interface Started {
  readonly intake: TestIntake;
  readonly port: number;
  stop(): Promise<void>;
}

async function start(config: object): Promise<Started> {
  const intake = new TestIntake();
  const all = { endpoint: "127.0.0.1:0", transport: "tcp", aggregation_interval: "1h", ...config };
  const receiver = await startReceiver(statsdReceiver as ReceiverFactory, all, intake, silentLogger, "metrics");
  onTestFinished(() => receiver.stop());
  const { port } = receiver as unknown as { port: number };
  return { intake, port, stop: () => receiver.stop() };
}

/** Sends text over TCP and waits until it is read. */
function sendText(at: number | string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = typeof at === "string" ? connect(at) : connect(at, "127.0.0.1");
    socket.on("error", reject).on("close", () => resolve());
    socket.end(text);
    socket.resume();
  });
}

interface Point {
  attributes: { key: string; value: { stringValue: string } }[];
  [field: string]: unknown;
}
interface Metric {
  name: string;
  [kind: string]: unknown;
}

function metricsOf(intake: TestIntake): Metric[] {
  return intake.batches.flatMap((batch) => {
    const { resourceMetrics } = decodeTree(batch) as unknown as {
      resourceMetrics: { scopeMetrics: { metrics: Metric[] }[] }[];
    };
    return resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  });
}

/** The metrics of these lines with this config, at the end of the receiver. */
async function aggregated(lines: readonly string[], config: object = {}): Promise<Metric[]> {
  const { intake, port, stop } = await start(config);
  await sendText(port, `${lines.join("\n")}\n`);
  await stop();
  return metricsOf(intake);
}

function pointsOf(metric: Metric | undefined, kind: string): Point[] {
  return (metric![kind] as { dataPoints: Point[] }).dataPoints;
}

const attributesOf = (point: Point) =>
  Object.fromEntries(point.attributes.map(({ key, value }) => [key, value.stringValue]));

const startUdp = (config: object) => start({ transport: "udp", aggregation_interval: "40ms", ...config });

/** Two senders send again and again until the test is over. */
function sendTwice(port: number): void {
  const senders = [createSocket("udp4"), createSocket("udp4")];
  const send = () => senders.forEach((each) => void each.send("hits:1|c\nhits:2|c\n", port, "127.0.0.1"));
  const timer = setInterval(send, 5);
  onTestFinished(() => {
    clearInterval(timer);
    senders.forEach((each) => void each.close());
  });
}

describe("the statsd receiver", () => {
  it("adds counters up, with their sample rates, as deltas", async () => {
    const [metric] = await aggregated(["hits:1|c|#b:2,a:1", "hits:2|c|@0.5|#a:1,b:2"]);
    expect(metric).toMatchObject({ name: "hits", sum: { aggregationTemporality: 1 } });
    const [point, ...others] = pointsOf(metric, "sum");
    expect(others).toEqual([]);
    expect(point).toMatchObject({ asInt: 5n });
    expect(attributesOf(point!)).toEqual({ a: "1", b: "2" });
    expect((metric!["sum"] as { isMonotonic?: boolean }).isMonotonic ?? false).toBe(false);
  });

  it("keeps fractions of counters, and makes them monotonic, if asked to", async () => {
    const [metric] = await aggregated(["hits:0.25|c", "hits:0.5|c"], {
      counter_type: "float",
      is_monotonic_counter: true,
    });
    expect(metric).toMatchObject({ sum: { isMonotonic: true, dataPoints: [{ asDouble: 0.75 }] } });
  });

  it("begins sums with their interval, also after intervals without samples", async () => {
    const { intake, port } = await start({ aggregation_interval: "20ms" });
    const begin = Date.now();
    await expect.poll(() => Date.now() - begin).toBeGreaterThan(200);
    await sendText(port, "hits:1|c\n");
    await expect.poll(() => intake.batches.length).toBe(1);
    const startMs = Number((pointsOf(metricsOf(intake)[0], "sum")[0]!["startTimeUnixNano"] as bigint) / 1_000_000n);
    expect(startMs).toBeGreaterThan(begin + 100);
  });

  it("cuts fractions of counters off by default", async () => {
    const [metric] = await aggregated(["hits:0.9|c", "hits:1.9|c"]);
    expect(pointsOf(metric, "sum")).toMatchObject([{ asInt: 1n }]);
  });

  it("sets gauges, and changes them by values with a sign", async () => {
    const [metric] = await aggregated(["temperature:20|g", "temperature:+3|g", "temperature:-1.5|g"]);
    expect(pointsOf(metric, "gauge")).toMatchObject([{ asDouble: 21.5 }]);
  });

  it("gives timers as one gauge point for each sample by default", async () => {
    const [metric] = await aggregated(["t:3|ms", "t:1|ms", "h:2|h", "d:4|d"]);
    expect(metric?.name).toBe("t");
    expect(pointsOf(metric, "gauge").map((point) => point["asDouble"])).toEqual([3, 1]);
  });

  it("makes summaries with weighted percentiles", async () => {
    const mapping = [{ statsd_type: "timer", observer_type: "summary", summary: { percentiles: [0, 50, 100] } }];
    const [metric, ...others] = await aggregated(["t:3|ms", "t:1|ms|@0.2", "t:9|ms", "h:1|h"], {
      timer_histogram_mapping: mapping,
    });
    expect(others).toEqual([]);
    expect(pointsOf(metric, "summary")).toMatchObject([
      {
        count: 7n,
        sum: 17,
        quantileValues: [{ value: 1 }, { quantile: 0.5, value: 1 }, { quantile: 1, value: 9 }],
      },
    ]);
  });

  it("makes exponential histograms, also of negative values", async () => {
    const mapping = [{ statsd_type: "histogram", observer_type: "histogram", histogram: { max_size: 4 } }];
    const lines = ["h:1|h", "h:2|h", "h:1024|h", "h:-8|h", "h:0|d"];
    const metrics = await aggregated(lines, { timer_histogram_mapping: mapping });
    expect(metrics.map(({ name }) => name)).toEqual(["h"]);
    const points = pointsOf(metrics[0], "exponentialHistogram");
    expect(points).toHaveLength(2); // a histogram and a distribution of the same name are two series
    expect(points[0]).toMatchObject({ count: 4n, sum: 1019, min: -8, max: 1024 });
    const { positive, negative, scale } = points[0] as unknown as {
      positive: { offset: number; bucketCounts: bigint[] };
      negative: { bucketCounts: bigint[] };
      scale: number;
    };
    expect(positive.bucketCounts.length).toBeLessThanOrEqual(4);
    expect(positive.bucketCounts.reduce((a, b) => a + b, 0n)).toBe(3n);
    expect(negative.bucketCounts).toEqual([1n]);
    expect(2 ** (2 ** -scale * (positive.offset + positive.bucketCounts.length))).toBeGreaterThanOrEqual(1024);
    expect(points[1]).toMatchObject({ count: 1n, zeroCount: 1n });
  });

  it("makes histograms with the buckets that match the name", async () => {
    const explicit_buckets = [{ matcher_pattern: "^http\\.", buckets: [1, 10] }];
    const mapping = [{ statsd_type: "timing", observer_type: "histogram", histogram: { explicit_buckets } }];
    const [metric] = await aggregated(["http.time:1|ms", "http.time:5|ms|@0.5", "http.time:50|ms"], {
      timer_histogram_mapping: mapping,
    });
    expect(pointsOf(metric, "histogram")).toMatchObject([
      { count: 4n, sum: 61, min: 1, max: 50, explicitBounds: [1, 10], bucketCounts: [1n, 2n, 1n] },
    ]);
  });

  it("adds the type, the container and the time that lines have", async () => {
    const [metric] = await aggregated(["hits:1|c|c:abc|T1700000000"], { enable_metric_type: true });
    const [point] = pointsOf(metric, "sum");
    expect(point).toMatchObject({ timeUnixNano: 1_700_000_000_000_000_000n });
    expect(attributesOf(point!)).toEqual({ "container.id": "abc", metric_type: "counter" });
  });

  it("skips lines that are no metrics, and takes the others", async () => {
    const bad = ["", "x", "x:1", ":1|c", "x:|c", "x:1|q", "x:nan|c", "x:inf|g", "x:1|c|@a", "x:1|c|#tag", "x:1|ms|T1"];
    const metrics = await aggregated([...bad, "x:1|c|?", "good:1|c\r"]);
    expect(metrics.map(({ name }) => name)).toEqual(["good"]);
    expect(pointsOf((await aggregated(["x:1|c|#tag"], { enable_simple_tags: true }))[0], "sum")).toHaveLength(1);
  });

  it("takes packets over UDP, and keeps senders apart", async () => {
    const { intake, port } = await startUdp({});
    sendTwice(port);
    await expect.poll(() => Math.max(...intake.batches.map(({ count }) => count))).toBe(2);
  });

  it.each([{ enable_ip_only_aggregation: true }, { ignore_host: true }])("adds senders up with %o", async (config) => {
    const { intake, port } = await startUdp(config);
    sendTwice(port);
    await expect
      .poll(() => metricsOf(intake).some((metric) => (pointsOf(metric, "sum")[0]!["asInt"] as bigint) >= 6n))
      .toBe(true);
    expect(Math.max(...intake.batches.map(({ count }) => count))).toBe(1);
  });

  it("takes lines over a Unix socket", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "statsd-")), "s.sock");
    const { intake, stop } = await start({ transport: "unix", endpoint: path });
    await sendText(path, "hits:1|c");
    await stop();
    expect(metricsOf(intake)).toHaveLength(1);
  });

  it("skips a line that is too long, however it arrives, and goes on behind it", async () => {
    const { intake, port, stop } = await start({ max_line_size: 256 });
    await sendText(port, `${"a".repeat(300_000)}:1|c\ngood:1|c\n${"b".repeat(1000)}`);
    await stop();
    expect(metricsOf(intake).map(({ name }) => name)).toEqual(["good"]);
  });

  it("hands on before the interval ends when it holds as many series as allowed", async () => {
    const { intake, port, stop } = await start({ max_series: 100 });
    const lines = Array.from({ length: 5000 }, (_, i) => `hits:1|c|#id:${i}`);
    await sendText(port, `${lines.join("\n")}\n`);
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    await stop();
    expect(metricsOf(intake).flatMap((metric) => pointsOf(metric, "sum"))).toHaveLength(5000);
  });

  it("hands on in batches of bounded size", async () => {
    const { intake, port, stop } = await start({ max_series: 1_000_000 });
    await sendText(port, "t:1|ms\n".repeat(9000));
    await stop();
    expect(intake.batches.reduce((sum, { count }) => sum + count, 0)).toBe(9000);
    expect(Math.max(...intake.batches.map(({ count }) => count))).toBeLessThanOrEqual(2000);
  });

  it("explains why it has no Unix datagram sockets, and what a mapping lacks", () => {
    const parse = (config: object) => () => statsdReceiver.schema.parse(config);
    expect(parse({ transport: "unixgram", endpoint: "/tmp/s" })).toThrow("use udp, or unix");
    expect(parse({ timer_histogram_mapping: [{ statsd_type: "timer" }] })).toThrow("observer_type");
    const summary = { statsd_type: "timer", observer_type: "gauge", summary: { percentiles: [50] } };
    expect(parse({ timer_histogram_mapping: [summary] })).toThrow("summary needs observer_type: summary");
    expect(parse({ aggregation_intervall: "1s" })).toThrow("aggregation_intervall");
  });
});

describe("the statsd receiver as a receiver", () => {
  const config = (port: number) => {
    const timer = setInterval(() => {
      if (port === 0) return;
      const socket = createSocket("udp4");
      socket.on("error", () => {}).send("hits:1|c", port, "127.0.0.1", () => socket.close());
    }, 5);
    onTestFinished(() => clearInterval(timer));
    return { endpoint: `127.0.0.1:${port}`, aggregation_interval: "10ms" };
  };
  for (const { name, run } of receiverConformance(statsdReceiver as ReceiverFactory, { config, patienceMs }))
    it(name, run);
});
