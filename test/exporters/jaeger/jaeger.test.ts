import { status } from "@grpc/grpc-js";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { jaegerExporter } from "../../../src/exporters/jaeger/component.js";
import { clientConfig, jaegerExporterSchema } from "../../../src/exporters/jaeger/config.js";
import { postSpansOf } from "../../../src/exporters/jaeger/post-spans.js";
import { batchFromJson } from "../../../src/plugin.js";
import { JAEGER_GRPC_PATH } from "../../../src/runtime/traces/jaeger-proto.js";
import { anyCharacter } from "../../support/any-character.js";
import { runs } from "../../support/runs.js";
import { decodeJaeger } from "../../support/telemetry/jaeger-proto.js";
import { GrpcJsServer } from "../grpc-server.js";
import { never, refusalOf, startExporter } from "../harness.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "00f067aa0ba902b7";

const span = (id: string, more: object = {}) => ({ traceId: TRACE, spanId: id.padStart(16, "0"), ...more });
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

const containers = (...list: object[]) => batchFromJson("traces", JSON.stringify({ resourceSpans: list }));
const container = (spans: readonly object[], attributes: readonly object[] = [], scope: object = {}) => ({
  resource: { attributes },
  scopeSpans: [{ scope, spans }],
});

async function start(config: object = {}) {
  const server = await new GrpcJsServer({ traces: JAEGER_GRPC_PATH }).start();
  const endpoint = `127.0.0.1:${server.port}`;
  const exporter = await startExporter(jaegerExporter, { endpoint, tls: { insecure: true }, ...config });
  onTestFinished(async () => {
    await exporter.stop!();
    server.kill();
  });
  const batches = () => server.received.map(({ body }) => decodeJaeger("PostSpansRequest", body)["batch"]);
  return { server, exporter, batches };
}

describe("the jaeger exporter", () => {
  it("sends a span with its tags, logs and references", async () => {
    const { exporter, batches } = await start();
    const each = span("a", {
      parentSpanId: PARENT,
      name: "get",
      kind: 3,
      flags: 0x101,
      traceState: "a=b",
      startTimeUnixNano: "1700000000123456789",
      endTimeUnixNano: "1700000001000000000",
      status: { code: 2, message: "no such cart" },
      attributes: [
        text("s", "v"),
        { key: "b", value: { boolValue: true } },
        { key: "i", value: { intValue: "-9007199254740993" } },
        { key: "d", value: { doubleValue: 0.5 } },
        { key: "x", value: { bytesValue: "AQI=" } },
        { key: "l", value: { arrayValue: { values: [{ intValue: "1" }, { stringValue: "a" }] } } },
        { key: "none", value: {} },
      ],
      events: [
        { timeUnixNano: "2000000001", name: "retry", attributes: [text("why", "slow")] },
        { timeUnixNano: "3000000000", name: "unused", attributes: [text("event", "own")] },
      ],
      links: [
        { traceId: "1".repeat(32), spanId: "2".repeat(16) },
        { traceId: "3".repeat(32), spanId: "4".repeat(16), attributes: [text("opentracing.ref_type", "child_of")] },
      ],
    });
    const resource = [text("service.name", "cart"), text("host.name", "h")];
    await exporter.send(containers(container([each], resource, { name: "lib", version: "2" })), never);
    expect(batches()).toEqual([
      {
        process: { serviceName: "cart", tags: [{ key: "host.name", vStr: "h" }] },
        spans: [
          {
            traceId: TRACE,
            spanId: "000000000000000a",
            operationName: "get",
            references: [
              { traceId: TRACE, spanId: PARENT },
              { traceId: "1".repeat(32), spanId: "2".repeat(16), refType: 1 },
              { traceId: "3".repeat(32), spanId: "4".repeat(16) },
            ],
            flags: 1,
            startTime: { seconds: 1_700_000_000n, nanos: 123_456_789 },
            duration: { seconds: 0n, nanos: 876_543_211 },
            tags: [
              { key: "otel.scope.name", vStr: "lib" },
              { key: "otel.scope.version", vStr: "2" },
              { key: "s", vStr: "v" },
              { key: "b", vType: 1, vBool: true },
              { key: "i", vType: 2, vInt64: -9_007_199_254_740_993n },
              { key: "d", vType: 3, vFloat64: 0.5 },
              { key: "x", vType: 4, vBinary: "0102" },
              { key: "l", vStr: '[1,"a"]' },
              { key: "none" },
              { key: "span.kind", vStr: "client" },
              { key: "otel.status_code", vStr: "ERROR" },
              { key: "error", vType: 1, vBool: true },
              { key: "otel.status_description", vStr: "no such cart" },
              { key: "w3c.tracestate", vStr: "a=b" },
            ],
            logs: [
              {
                timestamp: { seconds: 2n, nanos: 1 },
                fields: [
                  { key: "event", vStr: "retry" },
                  { key: "why", vStr: "slow" },
                ],
              },
              { timestamp: { seconds: 3n, nanos: 0 }, fields: [{ key: "event", vStr: "own" }] },
            ],
          },
        ],
      },
    ]);
  });

  it("describes a parent as a link to it does", async () => {
    const { exporter, batches } = await start();
    const link = { traceId: TRACE, spanId: PARENT, attributes: [text("opentracing.ref_type", "follows_from")] };
    await exporter.send(containers(container([span("a", { parentSpanId: PARENT, links: [link] })])), never);
    expect(batches()[0].spans[0].references).toEqual([{ traceId: TRACE, spanId: PARENT, refType: 1 }]);
  });

  it("gives no duration to a span that ends before it begins, and a name to a service that has none", async () => {
    const { exporter, batches } = await start();
    const backwards = span("a", { startTimeUnixNano: "2000", endTimeUnixNano: "1000" });
    await exporter.send(containers(container([backwards], [text("service.name", "")])), never);
    const [{ spans, process }] = batches() as [{ spans: object[]; process: object }];
    expect(spans[0]).not.toHaveProperty("duration");
    expect(process).toEqual({ serviceName: "OTLPResourceNoServiceName" });
  });

  it("accepts TLS keys at their old places, too", async () => {
    const { exporter, batches } = await start({ tls: undefined, insecure: true });
    await exporter.send(containers(container([span("a")])), never);
    expect(batches()).toHaveLength(1);
    const parsed = jaegerExporterSchema.parse({ endpoint: "a:1", insecure: true, ca_file: "x", tls: { ca_file: "y" } });
    expect(clientConfig(parsed).tls).toMatchObject({ ca_file: "y", insecure: false });
  });

  it("sends spans of the same resource together, and others separately", async () => {
    const { exporter, batches } = await start();
    const of = (service: string, id: string) => container([span(id)], [text("service.name", service)]);
    await exporter.send(containers(of("a", "1"), of("b", "2"), of("a", "3")), never);
    expect(batches().map(({ process, spans }) => [process.serviceName, spans.length])).toEqual([
      ["a", 2],
      ["b", 1],
    ]);
  });

  it("permanently refuses only the spans without ids", async () => {
    const { exporter, batches } = await start();
    const refusal = await refusalOf(exporter.send(containers(container([{ name: "x" }, span("a")])), never));
    expect([...refusal.undelivered!.marks]).toEqual([1, 0]);
    expect(batches()[0].spans).toHaveLength(1);
    const alone = await refusalOf(exporter.send(containers(container([span("0")])), never));
    expect([alone.kind, alone.category]).toEqual(["permanent", "schema"]);
  });

  it("splits spans that repeat a large scope into several messages, and repeats only refused ones", async () => {
    const { exporter, server, batches } = await start();
    server.respond = (done) =>
      server.received.length === 2 ? done({ code: status.UNAVAILABLE }) : done(null, Buffer.alloc(0));
    const list = Array.from({ length: 20 }, (_, i) => span((i + 1).toString(16)));
    const scope = { name: "x".repeat(300_000) };
    const refusal = await refusalOf(exporter.send(containers(container(list, [], scope)), never));
    const taken = batches()[0].spans.length;
    expect(taken * 300_000).toBeLessThan(4 * 1024 * 1024);
    expect([...refusal.undelivered!.marks].indexOf(1)).toBe(taken);
  });

  it.each([
    [status.UNAVAILABLE, "server is shutting down", "transient"],
    [status.RESOURCE_EXHAUSTED, "server busy", "transient"],
    [status.RESOURCE_EXHAUSTED, "grpc: received message larger than max (5 vs. 4)", "permanent"],
    [status.INVALID_ARGUMENT, "bad", "permanent"],
  ])("reads %d with %s as %s", async (code, details, kind) => {
    const { exporter, server } = await start();
    server.respond = (done) => done({ code, details });
    expect((await refusalOf(exporter.send(containers(container([span("a")])), never))).kind).toBe(kind);
  });

  it("checks whether Jaeger is reachable with an empty request", async () => {
    const { exporter, server, batches } = await start();
    await exporter.check!(never);
    expect(batches()).toEqual([{ process: { serviceName: "OTLPResourceNoServiceName" } }]);
    server.respond = (done) => done({ code: status.UNAVAILABLE });
    expect((await refusalOf(exporter.check!(never))).kind).toBe("transient");
  });

  it("keeps every text and number of attributes", () => {
    // The batch is made from JSON, which has no infinities and no negative zero.
    const value = fc.oneof(
      fc.string({ unit: anyCharacter }).map((vStr) => [{ stringValue: vStr }, { vStr }] as const),
      fc
        .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
        .map((vInt64) => [{ intValue: String(vInt64) }, { vType: 2, vInt64 }] as const),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .filter((number) => !Object.is(number, -0))
        .map((vFloat64) => [{ doubleValue: vFloat64 }, { vType: 3, vFloat64 }] as const),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ minLength: 1, unit: "grapheme" }), value)), (pairs) => {
        const attributes = pairs.map(([key, [otlp]]) => ({ key, value: otlp }));
        const { requests } = postSpansOf(containers(container([span("a", { attributes })])).bytes);
        const { batch } = decodeJaeger("PostSpansRequest", requests[0]!.message());
        expect(batch.spans[0].tags ?? []).toEqual(pairs.map(([key, [, jaeger]]) => ({ key, ...jaeger })));
      }),
      runs(50),
    );
  });
});
