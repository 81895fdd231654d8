import { describe, expect, it, onTestFinished } from "vitest";
import { sampleIds } from "../../../src/agent/testing/samples.js";
import { remoteWriteExporter } from "../../../src/exporters/prometheus/remote-write/component.js";
import { type Batch, type ReceiverFactory, Refusal } from "../../../src/plugin.js";
import { remoteWriteReceiver } from "../../../src/receivers/prometheus-remote-write/component.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { gauge, histogram, sum } from "../../exporters/prometheus/metrics.js";
import { startExporter } from "../../exporters/prometheus/remote-write/harness.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { clientAnswer, type ItemNode, postHalf, postTo, resourcesOf, valuesOf } from "../http-client.js";
import { startReceiver } from "../started-receiver.js";
import { encoded, field, number, v1Request, v2Request } from "./write-request.js";

const factory = remoteWriteReceiver as ReceiverFactory;
const PATH = "/api/v1/write";
const V2 = { "content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request" };
const V1 = { "content-type": "application/x-protobuf" };
const NOW = 1_700_000_000_000;

async function start(config: object = {}) {
  const intake = new TestIntake();
  const receiver = await startReceiver(factory, { endpoint: "127.0.0.1:0", ...config }, intake, undefined, "metrics");
  onTestFinished(() => receiver.stop?.());
  const { port } = receiver as unknown as { readonly port: number };
  return {
    intake,
    port,
    post: (body: Buffer, headers: Record<string, string> = V2) => postTo(port, PATH, body, headers),
  };
}

const pointsOf = ({ gauge: gauges, sum: sums }: ItemNode) => (gauges ?? sums)!.dataPoints;
const metricsOf = (batch: Batch) =>
  resourcesOf(batch).map(({ resource, items }) => ({
    resource,
    metrics: items.map((item) => [
      item.name,
      ...pointsOf(item).map(({ asDouble, attributes }) => [asDouble, valuesOf(attributes)]),
    ]),
  }));

describe("the prometheus_remote_write receiver", () => {
  it("makes metrics of series, and tells how many samples it has taken", async () => {
    const { intake, post } = await start();
    const answer = await post(
      v2Request([
        {
          labels: { __name__: "n_total", job: "eu/shop", instance: "a:1", code: "200" },
          samples: [[5, NOW]],
          type: 1,
          help: "All.",
          unit: "seconds",
        },
        {
          labels: { __name__: "g", job: "eu/shop", instance: "a:1" },
          samples: [
            [1, NOW],
            [2, NOW + 1],
          ],
          type: 2,
        },
      ]),
    );
    expect([answer.status, answer.headers.get("x-prometheus-remote-write-samples-written")]).toEqual([204, "3"]);
    const [{ resource, scope, items }] = resourcesOf(intake.batches[0]!) as [ReturnType<typeof resourcesOf>[0]];
    expect(resource).toEqual({ "service.instance.id": "a:1", "service.namespace": "eu", "service.name": "shop" });
    expect(scope.name).toBe("Sluice");
    expect(items[0]).toMatchObject({ name: "n_total", unit: "s", description: "All.", sum: { isMonotonic: true } });
    expect(pointsOf(items[0]!)[0]).toMatchObject({ asDouble: 5, timeUnixNano: BigInt(NOW) * 1_000_000n });
    expect(metricsOf(intake.batches[0]!)[0]!.metrics).toEqual([
      ["n_total", [5, { code: "200" }]],
      ["g", [1, {}], [2, {}]],
    ]);
    expect([intake.batches[0]!.count, intake.reserved]).toEqual([3, 0]);
  });

  it("takes version 1.0 too", async () => {
    const { intake, post } = await start();
    const series = [{ labels: { __name__: "up", job: "j", a: "b" }, samples: [[1, NOW]] as const }];
    expect((await post(v1Request(series), V1)).status).toBe(204);
    expect(metricsOf(intake.batches[0]!)).toEqual([
      { resource: { "service.name": "j" }, metrics: [["up", [1, { a: "b" }]]] },
    ]);
  });

  it("remembers the attributes of target_info for later requests", async () => {
    const { intake, post } = await start();
    const owner = { job: "j", instance: "i" };
    const info = { labels: { __name__: "target_info", ...owner, host_name: "h" }, samples: [[1, NOW]] as const };
    expect((await post(v2Request([info]))).status).toBe(204);
    expect(intake.batches).toEqual([]);
    await post(v2Request([{ labels: { __name__: "a", ...owner }, samples: [[1, NOW]] }]));
    await post(v2Request([{ labels: { __name__: "a", job: "k" }, samples: [[1, NOW]] }]));
    expect(intake.batches.map((batch) => metricsOf(batch)[0]!.resource)).toEqual([
      { "service.instance.id": "i", "service.name": "j", host_name: "h" },
      { "service.name": "k" },
    ]);
  });

  it.each(["prometheus.WriteRequest", "io.prometheus.write.v2.Request"])(
    "takes what the exporter sends as %s",
    async (protobuf_message) => {
      const { intake, port } = await start();
      const { send } = await startExporter(
        { endpoint: `http://127.0.0.1:${port}${PATH}`, protobuf_message },
        remoteWriteExporter,
      );
      const metrics = [gauge("g", -0.25, { a: "x" }), sum("n", 7), histogram("h", [1, 2], 12.5)];
      const resource = { "service.name": "cart", "service.instance.id": "1" };
      expect(await send({ resource, scope: { name: "lib", version: "1" }, metrics })).toBeUndefined();
      const received = intake.batches.flatMap(metricsOf);
      expect(received.map((each) => each.resource)).toEqual([{ "service.instance.id": "1", "service.name": "cart" }]);
      const names = received.flatMap((each) => each.metrics.map(([name]) => name));
      expect(names).toEqual(
        expect.arrayContaining(["g", "n_total", "h_seconds_bucket", "h_seconds_sum", "h_seconds_count"]),
      );
      expect(received[0]!.metrics).toContainEqual(["g", [-0.25, expect.objectContaining({ a: "x" })]]);
    },
  );

  const oneSeries = (labels: Record<string, string>) => v2Request([{ labels, samples: [[1, NOW]], type: 2 }]);
  const histogramOf = (write: (writer: Parameters<Parameters<typeof encoded>[0]>[0]) => void) =>
    v2Request([{ labels: { __name__: "h" }, type: 3, histograms: [encoded(write)] }]);
  const span = (offset: number, length: number) =>
    encoded((writer) => {
      number(writer, 1, offset * 2);
      number(writer, 2, length);
    });
  const wideHistogram = encoded((writer) => {
    number(writer, 4, 16);
    field(writer, 8, span(0, 1));
    field(writer, 8, span(19_000, 1));
    field(writer, 9, Buffer.from([2, 0]));
  });
  it.each([
    ["bytes that are no protobuf", Buffer.from("hello"), "expected a request of remote write"],
    ["a cut request", oneSeries({ __name__: "a" }).subarray(0, -3), "expected a request of remote write"],
    ["a series without a name", oneSeries({ job: "j" }), "missing metric name"],
    [
      "a symbol that there is not",
      encoded((w) =>
        field(
          w,
          5,
          encoded((s) => field(s, 1, Buffer.from([7, 8]))),
        ),
      ),
      "there is no symbol 7",
    ],
    [
      "half a label",
      encoded((w) =>
        field(
          w,
          5,
          encoded((s) => field(s, 1, Buffer.from([0]))),
        ),
      ),
      "a name and no value",
    ],
    ["fewer counts than buckets", histogramOf((w) => field(w, 11, span(0, 2))), "fewer counts than buckets"],
    [
      "a gap of a billion buckets",
      histogramOf((w) => {
        number(w, 4, 16);
        field(w, 11, span(0, 1));
        field(w, 11, span(1_000_000_000, 1));
        field(w, 12, Buffer.from([2, 2]));
      }),
      "too many buckets",
    ],
    [
      "labels that grow beyond all measure",
      v2Request([
        {
          labels: { __name__: "a", long: "x".repeat(1_000_000) },
          samples: Array.from({ length: 100 }, () => [1, NOW] as const),
        },
      ]),
      "too many points and labels",
    ],
    [
      "a long help text that a thousand series name",
      v2Request(
        Array.from({ length: 1000 }, (_, i) => ({
          labels: { __name__: `m${i}` },
          samples: [[1, NOW] as const],
          help: "x".repeat(100_000),
        })),
      ),
      "too many points and labels",
    ],
    [
      "many gaps between negative buckets",
      v2Request([{ labels: { __name__: "h" }, type: 3, histograms: Array.from({ length: 500 }, () => wideHistogram) }]),
      "too many points and labels",
    ],
  ])("answers 400 to %s, takes nothing, and still serves", async (_name, body, message) => {
    const { intake, post } = await start();
    const answer = await post(body);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(message)]);
    expect((await post(oneSeries({ __name__: "a" }))).status).toBe(204);
    expect([intake.batches.length, intake.reserved]).toEqual([1, 0]);
  });

  it("passes over gaps behind the last possible bucket at once", async () => {
    const { post } = await start();
    const answer = await post(
      histogramOf((w) => {
        number(w, 4, 7);
        for (let i = 0; i < 100_000; i++) field(w, 11, span(20_000, 0));
      }),
    );
    expect([answer.status, answer.headers.get("x-prometheus-remote-write-histograms-written")]).toEqual([204, "1"]);
  });

  it("adds an exemplar once if several series have the same labels", async () => {
    const { intake, post } = await start();
    const exemplar = encoded((w) => {
      w.varint(17);
      w.double(0.5);
    });
    const counter = { labels: { __name__: "n_total" }, samples: [[1, NOW] as const], type: 1, exemplars: [exemplar] };
    const answer = await post(v2Request([counter, counter, counter]));
    expect(answer.headers.get("x-prometheus-remote-write-exemplars-written")).toBe("3");
    const points = resourcesOf(intake.batches[0]!).flatMap(({ items }) => items.flatMap(pointsOf));
    expect(points.map(({ exemplars = [] }) => exemplars.length)).toEqual([3, 0, 0]);
  });

  it("refuses other types, paths and methods", async () => {
    const { port, post } = await start();
    const body = oneSeries({ __name__: "a" });
    for (const type of ["", "application/json", "application/x-protobuf;proto=x", "application/x-protobuf;proto"])
      expect((await post(body, { "content-type": type })).status).toBe(415);
    expect((await postTo(port, "/", body, V2)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}${PATH}`)).status).toBe(405);
  });

  it("never answers 429, for which Prometheus drops samples", async () => {
    const { intake, post } = await start();
    intake.answer = () => ({ ok: false, refusal: new Refusal("throttled", "later", { retryAfterMs: 3000 }) });
    const answer = await post(oneSeries({ __name__: "a" }));
    expect([answer.status, answer.headers.get("retry-after"), await answer.text()]).toEqual([503, "3", "later\n"]);
  });
});

describe("the prometheus_remote_write receiver as a receiver", () => {
  const bodyOf = (batch: Batch) =>
    v2Request(sampleIds(batch).map((id) => ({ labels: { __name__: "a", "sample.id": id }, samples: [[1, NOW]] })));
  const send = async (batch: Batch, port: number) => clientAnswer((await postTo(port, PATH, bodyOf(batch), V2)).status);
  const sendPart = (batch: Batch, port: number) => postHalf(port, PATH, bodyOf(batch), V2);
  const config = (port: number) => ({ endpoint: `127.0.0.1:${port}` });
  for (const { name, run } of receiverConformance(factory, { config, send, sendPart, patienceMs })) it(name, run);
});
