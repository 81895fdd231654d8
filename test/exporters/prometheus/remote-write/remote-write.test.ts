import { describe, expect, it } from "vitest";
import { remoteWriteExporter } from "../../../../src/exporters/prometheus/remote-write/component.js";
import { at, attributes, BASE_MS, gauge, sum } from "../metrics.js";
import { exponential, startExporter } from "./harness.js";
import { startWriteServer } from "./write-server.js";

describe("the prometheus_remote_write exporter", () => {
  it("sends remote write 2.0 with every text once, types and exemplars", async () => {
    const server = await startWriteServer();
    const { send } = await startExporter({ endpoint: server.url, protobuf_message: "io.prometheus.write.v2.Request" });
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

  it("does not trust the success of a server that does not support 2.0", async () => {
    const server = await startWriteServer({ knowsV2: false });
    const { send } = await startExporter({ endpoint: server.url, protobuf_message: "io.prometheus.write.v2.Request" });
    await expect(send({ metrics: [gauge("g", 1)] })).rejects.toMatchObject({ kind: "permanent", status: "HTTP 415" });
  });

  it("sends a large batch in parts, and headers of the config with each", async () => {
    const server = await startWriteServer();
    const config = { headers: { "x-scope-orgid": "a" }, target_info: { enabled: false }, send_metadata: true };
    const { send } = await startExporter({ endpoint: server.url, max_batch_size_bytes: 500, ...config });
    await send({ metrics: Array.from({ length: 50 }, (_, i) => gauge("g", i, { i: `number ${i}` })) });
    expect(server.requests.length).toBeGreaterThan(3);
    expect(server.requests.flatMap(({ series }) => series)).toHaveLength(50);
    expect(server.requests.every(({ headers }) => headers["x-scope-orgid"] === "a")).toBe(true);
    expect(server.requests[0]?.metadata).toEqual([{ type: 2, name: "g", help: "", unit: "" }]);
  });

  it("sends what it can of a batch, and rejects deltas and histograms that are too coarse", async () => {
    const server = await startWriteServer();
    const { send } = await startExporter({ endpoint: server.url });
    const delta = sum("d", 1, {}, {}, { aggregationTemporality: 1 });
    expect(await send({ metrics: [delta, exponential({ scale: -5 }), gauge("g", 1)] })).toMatchObject({
      rejected: 2,
      message: expect.stringContaining("d: remote write does not support deltas"),
    });
    expect(server.requests.flatMap(({ series }) => series)).toHaveLength(1);
  });

  it.each([
    [503, {}, "transient"],
    [429, { "retry-after": "7" }, "throttled"],
    [400, {}, "permanent"],
  ] as const)("treats a %i of the server as %s", async (status, headers, kind) => {
    const server = await startWriteServer({ answer: { status, headers } });
    const { send } = await startExporter({ endpoint: server.url });
    await expect(send({ metrics: [gauge("g", 1)] })).rejects.toMatchObject({ kind, status: `HTTP ${status}` });
  });

  it("accepts the keys of its HTTP client in a section of their own, too", async () => {
    const server = await startWriteServer();
    const { send } = await startExporter({
      http: { endpoint: server.url },
      resource_to_telemetry_conversion: { enabled: true },
    });
    await send({ resource: { zone: "z" }, scope: { attributes: attributes({ k: "v" }) }, metrics: [gauge("g", 1)] });
    expect(server.requests[0]?.series[0]?.labels).toEqual({ __name__: "g", otel_scope_k: "v", zone: "z" });
    expect(() => remoteWriteExporter.schema.parse({})).toThrow("expected an endpoint");
  });
});
