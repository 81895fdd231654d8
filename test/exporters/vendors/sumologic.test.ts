import { describe, expect, it } from "vitest";
import { sumologicExporter } from "../../../src/exporters/vendors/sumologic/component.js";
import { never, refusalOf } from "../harness.js";
import { logs, recorded, spans } from "./recorded.js";

const start = (path = "/source", more: object = {}) =>
  recorded(sumologicExporter, (url) => ({ endpoint: `${url}${path}`, ...more }));

describe("the sumologic exporter", () => {
  it("sends the unchanged batch to the path of its signal, compressed, with the client's name", async () => {
    const { sink, exporter, bodies } = await start("/source/", { headers: { "X-Team": "a" } });
    const batches = [logs({ a: "b" }, {}), spans({}, {})];
    for (const batch of batches) await exporter.send(batch, never);
    expect(bodies()).toEqual(batches.map(({ bytes }) => Buffer.from(bytes).toString("utf8")));
    expect(sink.requests.map(({ path }) => path)).toEqual(["/source/v1/logs", "/source/v1/traces"]);
    expect(sink.requests[0]!.headers).toMatchObject({
      "content-type": "application/x-protobuf",
      "content-encoding": "gzip",
      "x-sumo-client": "otelcol",
      "x-team": "a",
    });
  });

  it("adds nothing to an endpoint that has the path of the signal", async () => {
    const { sink, exporter } = await start("/source/v1/logs");
    await exporter.send(logs({}, {}), never);
    expect(sink.requests[0]!.path).toBe("/source/v1/logs");
  });

  it("counts data as delivered if the answer reports errors as JSON", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) =>
      response.writeHead(200).end('{"id":"1","status":200,"errors":[{"code":"internal.error","message":"no"}]}');
    expect(await exporter.send(logs({}, {}), never)).toBeUndefined();
  });

  it("reads which records were rejected", async () => {
    const { sink, exporter } = await start();
    const rejection = Buffer.from([0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 0x6e, 0x6f]);
    sink.respond = (response) => response.writeHead(200, { "Content-Type": "application/x-protobuf" }).end(rejection);
    expect(await exporter.send(logs({}, {}, {}), never)).toMatchObject({ rejected: 1 });
  });

  it("retries an overloaded source, and holds the queue for a wrong token", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(429, { "Retry-After": "7" }).end();
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ kind: "throttled" });
    sink.respond = (response) => response.writeHead(401).end();
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
  });

  it.each([
    [{}, "endpoint"],
    [{ log_format: "json" }, "log_format"],
    [{ metric_format: "prometheus" }, "metric_format"],
    [{ sticky_session_enabled: true }, "sticky_session_enabled"],
  ])("refuses %j", (config, key) => {
    const written = key === "endpoint" ? config : { endpoint: "https://x.example", ...config };
    const { error } = sumologicExporter.schema.safeParse(written);
    expect(error?.issues.map(({ path }) => path.join("."))).toEqual([key]);
  });
});
