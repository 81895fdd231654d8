import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { zipkinExporter } from "../../../src/exporters/zipkin/zipkin.js";
import { batchFromJson } from "../../../src/plugin.js";
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

  it("packs what it sends", async () => {
    const { sink, exporter } = await start({ compression: "gzip" });
    await exporter.send(spans([span("a")]), never);
    expect(sink.requests[0]!.headers["content-encoding"]).toBe("gzip");
    expect(JSON.parse(String(gunzipSync(sink.requests[0]!.body)))).toHaveLength(1);
  });

  it("refuses for good, and by themselves, spans without ids", async () => {
    const { sink, exporter } = await start();
    const refusal = await refusalOf(exporter.send(spans([span("0"), span("a")]), never));
    expect([...refusal.undelivered!.marks]).toEqual([1, 0]);
    expect(JSON.parse(String(sink.requests[0]!.body))).toHaveLength(1);
    const alone = await refusalOf(exporter.send(spans([span("0")]), never));
    expect([alone.kind, alone.category]).toEqual(["permanent", "schema"]);
  });

  it("cuts spans that repeat a large resource into several lists, and sends again only what was not taken", async () => {
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
