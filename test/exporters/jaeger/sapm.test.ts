import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { sapmExporter } from "../../../src/exporters/jaeger/sapm/component.js";
import { batchFromJson } from "../../../src/plugin.js";
import { decodeJaeger } from "../../support/telemetry/jaeger-proto.js";
import { never, refusalOf, startExporter, startSink } from "../harness.js";

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const span = (id: string) => ({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: id, name: `span ${id}` });
const ID = "00f067aa0ba902b7";

const batchOf = (...containers: { readonly attributes: object[]; readonly spans: object[] }[]) =>
  batchFromJson(
    "traces",
    JSON.stringify({
      resourceSpans: containers.map(({ attributes, spans }) => ({ resource: { attributes }, scopeSpans: [{ spans }] })),
    }),
  );

async function start(config: object = {}) {
  const sink = await startSink();
  const endpoint = `http://127.0.0.1:${sink.port}/v2/trace`;
  const exporter = await startExporter(sapmExporter, { endpoint, access_token: "t1", ...config });
  onTestFinished(async () => {
    await exporter.stop!();
    await sink.close();
  });
  return { sink, exporter };
}

describe("the sapm exporter", () => {
  it("sends the batches of all resources in one request, without tokens in attributes", async () => {
    const { sink, exporter } = await start();
    const token = text("com.splunk.signalfx.access_token", "secret");
    await exporter.send(
      batchOf(
        { attributes: [text("service.name", "cart"), token, text("host.name", "h")], spans: [span(ID)] },
        { attributes: [text("service.name", "shop")], spans: [span("1".repeat(16)), span("2".repeat(16))] },
      ),
      never,
    );
    expect(sink.requests).toHaveLength(1);
    const [{ path, headers, body } = expect.unreachable()] = sink.requests;
    expect([path, headers["x-sf-token"], headers["content-type"], headers["content-encoding"]]).toEqual([
      "/v2/trace",
      "t1",
      "application/x-protobuf",
      "gzip",
    ]);
    const plain = gunzipSync(body);
    expect(plain.includes("secret")).toBe(false);
    const { batches } = decodeJaeger("SapmRequest", plain) as unknown as {
      batches: { process: object; spans: { operationName: string }[] }[];
    };
    expect(batches.map(({ process, spans }) => [process, spans.map(({ operationName }) => operationName)])).toEqual([
      [{ serviceName: "cart", tags: [{ key: "host.name", vStr: "h" }] }, [`span ${ID}`]],
      [{ serviceName: "shop" }, [`span ${"1".repeat(16)}`, `span ${"2".repeat(16)}`]],
    ]);
  });

  it("sends without compression and without a token if the config says so", async () => {
    const { sink, exporter } = await start({ disable_compression: true, access_token: "" });
    await exporter.send(batchOf({ attributes: [], spans: [span(ID)] }), never);
    const [{ headers, body } = expect.unreachable()] = sink.requests;
    expect([headers["x-sf-token"], headers["content-encoding"]]).toEqual([undefined, undefined]);
    expect(body.includes(`span ${ID}`)).toBe(true);
  });

  it("divides many spans into requests, and keeps those that were not taken", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(sink.requests.length === 2 ? 429 : 200).end();
    const long = { ...span(ID), name: "x".repeat(400_000) };
    const many = Array.from({ length: 12 }, () => ({ attributes: [], spans: [long] }));
    const refusal = await refusalOf(exporter.send(batchOf(...many), never));
    expect(sink.requests).toHaveLength(2);
    expect(refusal.message).toContain("429");
    const left = refusal.undelivered!.marks.filter((mark) => mark > 0).length;
    expect([left > 0, left < 12]).toEqual([true, true]);
  });

  it("makes a dead letter of a span without ids, and sends the others", async () => {
    const { sink, exporter } = await start();
    const batch = batchOf({ attributes: [], spans: [{ name: "no ids" }, span(ID)] });
    const refusal = await refusalOf(exporter.send(batch, never));
    expect(sink.requests).toHaveLength(1);
    expect(refusal.message).toContain("no trace id");
    expect([...refusal.undelivered!.marks]).toEqual([1, 0]);
  });

  it("takes an endpoint without a scheme as https, and refuses one that is no URL", () => {
    const parse = (endpoint: string) => sapmExporter.schema.safeParse({ endpoint });
    expect(String((parse("ingest.us1.signalfx.com/v2/trace").data as { endpoint: URL }).endpoint)).toBe(
      "https://ingest.us1.signalfx.com/v2/trace",
    );
    expect(parse("").success).toBe(false);
    expect(parse("ftp://x").success).toBe(false);
  });
});
