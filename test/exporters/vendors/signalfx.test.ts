import { describe, expect, it } from "vitest";
import { signalFxExporter } from "../../../src/exporters/vendors/signalfx/component.js";
import { never, refusalOf } from "../harness.js";
import { attributes, metrics, point, recorded, spans } from "./recorded.js";

const start = (more: object = {}) =>
  recorded(signalFxExporter, (url) => ({ access_token: "t1", ingest_url: url, ...more }));

describe("the signalfx exporter", () => {
  it("sends points by kind, with attributes and resource as dimensions", async () => {
    const { sink, exporter, bodies } = await start();
    const sum = (aggregationTemporality: number, value: number) => ({
      sum: { aggregationTemporality, isMonotonic: true, dataPoints: [point(value)] },
    });
    const dataPoints = [
      { timeUnixNano: "1700000000000000000", count: 3, sum: 12, explicitBounds: [5], bucketCounts: [2, 1] },
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
      gauge: [{ metric: "temp", dimensions: { ...dimensions, room_no: "a" }, value: 1.5, timestamp }],
      counter: [{ metric: "hits", dimensions, value: 3, timestamp }],
      cumulative_counter: [
        { metric: "total", dimensions, value: 9, timestamp },
        { metric: "h_count", dimensions, value: 3, timestamp: at },
        { metric: "h_sum", dimensions, value: 12, timestamp: at },
        { metric: "h_bucket", dimensions: { ...dimensions, upper_bound: "5" }, value: 2, timestamp: at },
        { metric: "h_bucket", dimensions: { ...dimensions, upper_bound: "+Inf" }, value: 3, timestamp: at },
      ],
    });
  });

  it("sends nothing of spans, and holds the queue for a wrong token", async () => {
    const { sink, exporter } = await start();
    await exporter.send(spans({}, {}), never);
    expect(sink.requests).toHaveLength(0);
    sink.respond = (response) => response.writeHead(401).end();
    const gauge = metrics({}, { name: "temp", gauge: { dataPoints: [point(1)] } });
    expect(await refusalOf(exporter.send(gauge, never))).toMatchObject({ category: "integration" });
  });

  it("needs a token, and a realm or a URL", () => {
    const problems = signalFxExporter.schema.safeParse({}).error!.issues.map(({ path }) => path.join("."));
    expect(problems).toEqual(["access_token", "realm"]);
  });
});
