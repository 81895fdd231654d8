import { describe, expect, it } from "vitest";
import { listenerUrl, logzioExporter } from "../../../src/exporters/vendors/logzio/component.js";
import type { LogzioConfig } from "../../../src/exporters/vendors/logzio/config.js";
import { never, refusalOf } from "../harness.js";
import { logs, recorded, spans } from "./recorded.js";

const parse = (config: object) => logzioExporter.schema.parse({ account_token: "t1", ...config }) as LogzioConfig;
const urls = (config: object) => (["logs", "traces"] as const).map((signal) => listenerUrl(parse(config), signal).href);
const problems = (config: object) =>
  logzioExporter.schema.safeParse(config).error!.issues.map(({ path }) => path.join("."));

const start = (more: object = {}) =>
  recorded(logzioExporter, (url) => ({ account_token: "t1", endpoint: `${url}/listener`, ...more }));

describe("the logzio exporter", () => {
  it("sends the unchanged batch with the token, compressed, to the whole URL of the endpoint", async () => {
    const { sink, exporter, bodies } = await start({ headers: { "X-Team": "a" } });
    const batches = [logs({ a: "b" }, {}), spans({}, {})];
    for (const batch of batches) await exporter.send(batch, never);
    expect(bodies()).toEqual(batches.map(({ bytes }) => Buffer.from(bytes).toString("utf8")));
    expect(sink.requests.map(({ path }) => path)).toEqual(["/listener", "/listener"]);
    expect(sink.requests[0]!.headers).toMatchObject({
      authorization: "Bearer t1",
      "content-type": "application/x-protobuf",
      "content-encoding": "gzip",
      "x-team": "a",
    });
  });

  it("lets a configured header override the token", async () => {
    const { sink, exporter } = await start({ headers: { authorization: "Bearer other" }, compression: "none" });
    await exporter.send(logs({}, {}), never);
    expect(sink.requests[0]!.headers).toMatchObject({ authorization: "Bearer other" });
    expect(sink.requests[0]!.headers["content-encoding"]).toBeUndefined();
  });

  it("retries an overloaded listener, and holds the queue for a wrong token", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(503, { "Retry-After": "7" }).end();
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ kind: "throttled" });
    sink.respond = (response) => response.writeHead(401).end();
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
    sink.respond = (response) => response.writeHead(400).end("bad");
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ kind: "permanent" });
  });

  it("reads which records the listener rejected", async () => {
    const { sink, exporter } = await start();
    // partial_success { rejected_log_records: 1, error_message: "no" }
    const rejection = Buffer.from([0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 0x6e, 0x6f]);
    sink.respond = (response) => response.writeHead(200, { "Content-Type": "application/x-protobuf" }).end(rejection);
    expect(await exporter.send(logs({}, {}, {}), never)).toMatchObject({ rejected: 1 });
  });

  it("finds the listener of a region", () => {
    expect(urls({ region: "EU" })).toEqual([
      "https://otlp-listener-eu.logz.io/v1/logs",
      "https://otlp-listener-eu.logz.io/v1/traces",
    ]);
    expect(urls({ region: "us" })[0]).toBe("https://otlp-listener.logz.io/v1/logs");
    expect(urls({ region: "nl" })[1]).toBe("https://otlp-listener.logz.io/v1/traces");
    expect(urls({ region: "eu", endpoint: "http://here/x" })[0]).toBe("http://here/x");
    expect(urls({ endpoint: "http://here/x", custom_endpoint: "http://old/y" })[0]).toBe("http://old/y");
  });

  it("needs a token, and a region or an endpoint", () => {
    expect(problems({ region: "eu" })).toEqual(["account_token"]);
    expect(problems({ account_token: " ", region: "eu" })).toEqual(["account_token"]);
    expect(problems({ account_token: "t" })).toEqual(["region"]);
  });
});
