import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { zipkinExporter } from "../../../src/exporters/zipkin/component.js";
import { batchFromJson } from "../../../src/plugin.js";
import { all, numberOf, textOf } from "../../support/telemetry/proto-fields.js";
import { never, refusalOf, startExporter, startSink } from "../harness.js";

const span = (id: string, more: object = {}) => ({
  traceId: id.padStart(32, "0"),
  spanId: id.padStart(16, "0"),
  ...more,
});

const spans = (list: readonly object[], resource: Readonly<Record<string, string>> = {}) =>
  batchFromJson(
    "traces",
    JSON.stringify({
      resourceSpans: [
        {
          resource: {
            attributes: Object.entries(resource).map(([key, value]) => ({ key, value: { stringValue: value } })),
          },
          scopeSpans: [{ spans: list }],
        },
      ],
    }),
  );

async function start(config: object = {}) {
  const sink = await startSink();
  sink.respond = (response) => response.writeHead(202).end();
  const endpoint = `http://127.0.0.1:${sink.port}/api/v2/spans`;
  const exporter = await startExporter(zipkinExporter, { endpoint, ...config });
  onTestFinished(async () => {
    await exporter.stop!();
    await sink.close();
  });
  return { sink, exporter };
}

describe("the zipkin exporter", () => {
  it("POSTs a list of spans", async () => {
    const { sink, exporter } = await start({ default_service_name: "unknown" });
    await exporter.send(spans([span("a", { name: "get" })]), never);
    expect(sink.requests[0]).toMatchObject({ path: "/api/v2/spans", headers: { "content-type": "application/json" } });
    expect(JSON.parse(String(sink.requests[0]!.body))).toEqual([
      { traceId: "000000000000000a", id: "000000000000000a", name: "get", localEndpoint: { serviceName: "unknown" } },
    ]);
  });

  it("sends protobuf", async () => {
    const { sink, exporter } = await start({ format: "proto" });
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const each = span("a", {
      parentSpanId: "000000000000000b",
      name: "get",
      kind: 3,
      startTimeUnixNano: "1700000000000001000",
      endTimeUnixNano: "1700000000000301000",
      events: [{ timeUnixNano: "2000", name: "retry" }],
      attributes: [
        text("network.local.address", "10.0.0.1"),
        text("network.peer.address", "2001:db8::1"),
        text("tag", "v"),
      ],
    });
    await exporter.send(spans([each], { "service.name": "cart" }), never);
    const { headers, body } = sink.requests[0]!;
    expect(headers["content-type"]).toBe("application/x-protobuf");
    const [{ bytes } = expect.unreachable()] = all(body, 1);
    const hexAt = (number: number, within: Uint8Array = bytes) =>
      Buffer.from(all(within, number)[0]!.bytes).toString("hex");
    expect([1, 2, 3].map((number) => hexAt(number))).toEqual([
      "000000000000000a",
      "000000000000000b",
      "000000000000000a",
    ]);
    expect([numberOf(bytes, 4), textOf(bytes, 5), numberOf(bytes, 7)]).toEqual([1, "get", 300]);
    // The 64 bits of a time, which the decoder reads as a double.
    const time = Buffer.alloc(8);
    time.writeDoubleLE(numberOf(bytes, 6));
    expect(time.readBigUInt64LE()).toBe(1_700_000_000_000_001n);
    const [local, remote] = [all(bytes, 8)[0]!.bytes, all(bytes, 9)[0]!.bytes];
    expect([textOf(local, 1), hexAt(2, local)]).toEqual(["cart", "0a000001"]);
    expect(hexAt(3, remote)).toBe("20010db8000000000000000000000001");
    expect(textOf(all(bytes, 10)[0]!.bytes, 2)).toBe("retry");
    const tag = all(bytes, 11)[0]!.bytes;
    expect([textOf(tag, 1), textOf(tag, 2)]).toEqual(["tag", "v"]);
  });

  it("compresses its requests", async () => {
    const { sink, exporter } = await start({ compression: "gzip" });
    await exporter.send(spans([span("a")]), never);
    expect(sink.requests[0]!.headers["content-encoding"]).toBe("gzip");
    expect(JSON.parse(String(gunzipSync(sink.requests[0]!.body)))).toHaveLength(1);
  });

  it("permanently refuses only the spans without ids", async () => {
    const { sink, exporter } = await start();
    const refusal = await refusalOf(exporter.send(spans([span("0"), span("a")]), never));
    expect([...refusal.undelivered!.marks]).toEqual([1, 0]);
    expect(JSON.parse(String(sink.requests[0]!.body))).toHaveLength(1);
    const alone = await refusalOf(exporter.send(spans([span("0")]), never));
    expect([alone.kind, alone.category]).toEqual(["permanent", "schema"]);
  });

  it("splits spans that repeat a large resource into several lists, and repeats only refused ones", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(sink.requests.length === 2 ? 503 : 202).end();
    const list = Array.from({ length: 20 }, (_, i) => span((i + 1).toString(16)));
    const refusal = await refusalOf(exporter.send(spans(list, { large: "x".repeat(300_000) }), never));
    const taken = JSON.parse(String(sink.requests[0]!.body)).length;
    expect(taken * 300_000).toBeLessThan(4 * 1024 * 1024);
    expect([...refusal.undelivered!.marks].indexOf(1)).toBe(taken);
  });

  it.each([
    [429, "transient"],
    [500, "transient"],
    [400, "permanent"],
  ])("reads %d as %s", async (status, kind) => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(status).end();
    expect((await refusalOf(exporter.send(spans([span("a")]), never))).kind).toBe(kind);
  });
});
