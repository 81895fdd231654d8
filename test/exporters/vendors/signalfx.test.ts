import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { signalFxExporter } from "../../../src/exporters/vendors/signalfx/component.js";
import { signalFxSchema } from "../../../src/exporters/vendors/signalfx/config.js";
import { SignalFxDataPoints } from "../../../src/exporters/vendors/signalfx/data-points.js";
import type { Destination } from "../../../src/exporters/vendors/vendor-exporter.js";
import { loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/config/resolve/registry.js";
import { problemMessage } from "../../../src/runtime/config/text/problem.js";
import { builtins } from "../../support/builtins.js";
import { never, refusalOf } from "../harness.js";
import { attributes, metrics, point, recorded, TIME } from "./recorded.js";

const start = (more: object = {}) =>
  recorded(signalFxExporter, (url) => ({ access_token: "t1", ingest_url: url, ...more }));

function loadTraces(exporters: string) {
  const text = `
receivers: {otlp: {protocols: {http: }}}
exporters: {signalfx: {access_token: t, realm: us1}, debug: }
service: {pipelines: {traces: {receivers: [otlp], exporters: ${exporters}}}}
`;
  return loadConfig({ sources: [{ text, name: "c.yaml" }], registry: new Registry(builtins), addDefaults: true });
}

describe("the signalfx exporter", () => {
  it("sends points by kind, with attributes and resource as dimensions", async () => {
    const { sink, exporter, bodies } = await start();
    const sum = (aggregationTemporality: number, value: number) => ({
      sum: { aggregationTemporality, isMonotonic: true, dataPoints: [point(value)] },
    });
    const dataPoints = [
      {
        ...{ timeUnixNano: "1700000000000000000", count: 3, sum: 12, min: 1, max: 2e6 },
        ...{ explicitBounds: [5, 1_000_000], bucketCounts: [2, 0, 1] },
      },
    ];
    await exporter.send(
      metrics(
        { "host.name": "h" },
        { name: "temp", gauge: { dataPoints: [point(1.5, { attributes: attributes({ "room/no": "a" }) })] } },
        { name: "hits", ...sum(1, 3) },
        { name: "total", ...sum(2, 9) },
        { name: "h", histogram: { aggregationTemporality: 2, dataPoints } },
      ),
      never,
    );
    const [{ path, headers } = expect.unreachable()] = sink.requests;
    expect([path, headers["x-sf-token"]]).toEqual(["/v2/datapoint", "t1"]);
    const dimensions = { "host.name": "h" };
    const timestamp = 1_700_000_000_123;
    const at = 1_700_000_000_000;
    expect(JSON.parse(bodies()[0]!)).toEqual({
      gauge: [
        { metric: "temp", dimensions: { ...dimensions, room_no: "a" }, value: 1.5, timestamp },
        { metric: "h_min", dimensions, value: 1, timestamp: at },
        { metric: "h_max", dimensions, value: 2e6, timestamp: at },
      ],
      counter: [{ metric: "hits", dimensions, value: 3, timestamp }],
      cumulative_counter: [
        { metric: "total", dimensions, value: 9, timestamp },
        { metric: "h_count", dimensions, value: 3, timestamp: at },
        { metric: "h_sum", dimensions, value: 12, timestamp: at },
        { metric: "h_bucket", dimensions: { ...dimensions, le: "5" }, value: 2, timestamp: at },
        { metric: "h_bucket", dimensions: { ...dimensions, le: "1e+06" }, value: 2, timestamp: at },
        { metric: "h_bucket", dimensions: { ...dimensions, le: "+Inf" }, value: 3, timestamp: at },
      ],
    });
  });

  it("sends counts, sums and quantiles of summaries", async () => {
    const { exporter, bodies } = await start();
    const quantileValues = [{ quantile: 0.5, value: 3 }];
    const summary = { dataPoints: [{ timeUnixNano: "1700000000000000000", count: 2, sum: 7, quantileValues }] };
    await exporter.send(metrics({}, { name: "s", summary }), never);
    const { gauge, cumulative_counter: counters } = JSON.parse(bodies()[0]!) as Record<string, object[]>;
    expect(gauge).toMatchObject([{ metric: "s_quantile", dimensions: { quantile: "0.5" }, value: 3 }]);
    expect(counters).toMatchObject([
      { metric: "s_count", value: 2 },
      { metric: "s_sum", value: 7 },
    ]);
  });

  const histogram = (bound: number, more: object = {}) => ({
    name: "h",
    histogram: {
      aggregationTemporality: 1,
      dataPoints: [{ timeUnixNano: TIME, count: 3, sum: 12, explicitBounds: [bound], bucketCounts: [2, 1], ...more }],
    },
  });

  it("sends all items of a histogram in one request, because a refused one is sent again", async () => {
    const { exporter, bodies } = await start();
    const points = Array.from({ length: 4998 }, (_, i) => point(i, { attributes: attributes({ i: String(i) }) }));
    await exporter.send(metrics({}, { name: "g", gauge: { dataPoints: points } }, histogram(5)), never);
    const [first, second, ...others] = bodies().map((body) => JSON.parse(body) as Record<string, object[]>);
    expect([first!["gauge"]!.length, first!["counter"], second!["counter"]!.length]).toEqual([4998, undefined, 4]);
    expect(others).toEqual([]);
  });

  it("replaces a dimension of the name le by the bound of a bucket", async () => {
    const { exporter, bodies } = await start();
    await exporter.send(metrics({}, histogram(5, { attributes: attributes({ le: "mine", a: "b" }) })), never);
    const items = JSON.parse(bodies()[0]!) as { counter: { metric: string; dimensions: object }[] };
    const dimensions = items.counter.filter(({ metric }) => metric === "h_bucket").map((item) => item.dimensions);
    expect(dimensions).toEqual([
      { le: "5", a: "b" },
      { le: "+Inf", a: "b" },
    ]);
  });

  it("does not remember the bounds of histograms, which may change with every point", () => {
    const points = new SignalFxDataPoints(signalFxSchema.parse({ access_token: "t", realm: "us1" }));
    for (const bound of [123.25, 7]) points.requests(metrics({}, histogram(bound)), 1, {} as Destination);
    expect(inspect(points, { depth: null, maxArrayLength: null, maxStringLength: null })).not.toContain("123.25");
  });

  it("holds the queue for a wrong token", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(401).end();
    const gauge = metrics({}, { name: "temp", gauge: { dataPoints: [point(1)] } });
    expect(await refusalOf(exporter.send(gauge, never))).toMatchObject({ category: "integration" });
  });

  it("keeps points beyond Splunk's limits as dead letters, and sends the others", async () => {
    const { exporter, bodies } = await start();
    const many = Object.fromEntries(Array.from({ length: 37 }, (_, i) => [`k${i}`, "v"]));
    const gauge = (name: string, own: object = {}) => ({
      name,
      gauge: { dataPoints: [point(1, { attributes: attributes(own) })] },
    });
    const batch = metrics({}, gauge("a"), gauge("n".repeat(257)), gauge("b", many), gauge("c"));
    const refusal = await refusalOf(exporter.send(batch, never));
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 1, 0]);
    expect(refusal).toMatchObject({ category: "schema", message: expect.stringContaining("36 dimensions") });
    const sent = JSON.parse(bodies()[0]!) as { gauge: { metric: string }[] };
    expect(sent.gauge.map(({ metric }) => metric)).toEqual(["a", "c"]);
  });

  it("never sends the token of Splunk's own receivers as a dimension", async () => {
    const { exporter, bodies } = await start();
    const resource = { "com.splunk.signalfx.access_token": "secret", "host.name": "h" };
    await exporter.send(metrics(resource, { name: "temp", gauge: { dataPoints: [point(1)] } }), never);
    expect(bodies()[0]).not.toContain("secret");
    expect(bodies()[0]).toContain('"host.name":"h"');
  });

  it("is refused in a pipeline of traces that has nothing else, with the exporter to write instead", () => {
    const { problems } = loadTraces("[signalfx]");
    const [problem = expect.unreachable()] = problems.filter(({ code }) => code === "unsupported_signal");
    expect(problem.severity).toBe("error");
    expect(problemMessage(problem)).toContain("otlp_http/splunk: {traces_endpoint:");
    expect(problemMessage(problem)).toContain("/v2/trace/otlp");
  });

  it("is left out of a pipeline of traces that has another exporter", () => {
    const { config, problems } = loadTraces("[signalfx, debug]");
    const [problem = expect.unreachable()] = problems.filter(({ code }) => code === "unsupported_signal");
    expect([problem.severity, problem.path]).toEqual(["warning", "service.pipelines.traces.exporters.0"]);
    expect(config!.pipelines.map(({ exporters }) => exporters)).toEqual([["debug"]]);
  });

  it("needs a token, and a realm or a URL", () => {
    const problems = signalFxExporter.schema.safeParse({}).error!.issues.map(({ path }) => path.join("."));
    expect(problems).toEqual(["access_token", "realm"]);
  });
});
