import { inspect } from "node:util";
import { status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { coralogixExporter } from "../../../src/exporters/vendors/coralogix/component.js";
import type { CoralogixConfig } from "../../../src/exporters/vendors/coralogix/config.js";
import { Batch, type Exporter, type Signal } from "../../../src/plugin.js";
import { decodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { listOf } from "../../support/telemetry/trees.js";
import { GrpcJsServer } from "../grpc-server.js";
import { never, refusalOf, startExporter } from "../harness.js";
import { logs, metrics, point, recorded, spans } from "./recorded.js";

const BASE = { private_key: "k1", application_name: "shop" };

async function start(more: object = {}): Promise<{ readonly server: GrpcJsServer; readonly exporter: Exporter }> {
  const server = await new GrpcJsServer().start();
  onTestFinished(() => server.kill());
  const transport = { endpoint: `127.0.0.1:${server.port}`, tls: { insecure: true } };
  const signals = { logs: transport, traces: transport, metrics: transport };
  const exporter = await startExporter(coralogixExporter, { ...BASE, ...signals, ...more });
  onTestFinished(() => exporter.stop!());
  return { server, exporter };
}

/** The attributes of the first resource. */
function resourceOf(signal: Signal, body: Buffer): Record<string, unknown> {
  const lists = { logs: "resourceLogs", traces: "resourceSpans", metrics: "resourceMetrics" };
  const [container] = listOf(decodeTree(Batch.admit(signal, body)), lists[signal]);
  const attributes = listOf(container!["resource"] as Tree, "attributes");
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value as Tree)[0]]));
}

const gauge = metrics({}, { name: "temp", gauge: { dataPoints: [point(1)] } });
const parse = (config: object) => coralogixExporter.schema.parse({ ...BASE, ...config }) as CoralogixConfig;
const problems = (config: object) =>
  coralogixExporter.schema.safeParse(config).error!.issues.map(({ path }) => path.join("."));

describe("the coralogix exporter", () => {
  it("sends all signals over gRPC, with the key and the names of application and subsystem", async () => {
    const { server, exporter } = await start({ subsystem_name: "cart" });
    for (const batch of [logs({ a: "b" }, {}), spans({}, {}), gauge]) await exporter.send(batch, never);
    expect(server.received.map(({ metadata }) => metadata.get("authorization"))).toEqual([
      ["Bearer k1"],
      ["Bearer k1"],
      ["Bearer k1"],
    ]);
    const names = { "cx.application.name": "shop", "cx.subsystem.name": "cart" };
    expect(server.received.map(({ signal, body }) => [signal, resourceOf(signal, body)])).toEqual([
      ["logs", { a: "b", ...names }],
      ["traces", names],
      ["metrics", names],
    ]);
  });

  it("takes the names from attributes first, then the defaults, then what the resource has", async () => {
    const { server, exporter } = await start({
      application_name_attributes: ["missing", "service.namespace"],
      subsystem_name_attributes: ["service.name"],
    });
    await exporter.send(
      logs({ "service.namespace": "eu", "service.name": "api", "cx.application.name": "x" }, {}),
      never,
    );
    await exporter.send(logs({ "service.namespace": "", "cx.subsystem.name": "own" }, {}), never);
    expect(server.received.map(({ body }) => resourceOf("logs", body))).toMatchObject([
      { "cx.application.name": "eu", "cx.subsystem.name": "api" },
      { "cx.application.name": "shop", "cx.subsystem.name": "own" },
    ]);
  });

  it("does not remember long names, which come from the data", async () => {
    const { server, exporter } = await start({ application_name_attributes: ["service.name"] });
    const [short, long] = ["a short name", "a long name".repeat(1000)];
    for (const name of [short, long]) await exporter.send(logs({ "service.name": name }, {}), never);
    expect(resourceOf("logs", server.received[1]!.body)).toMatchObject({ "cx.application.name": long });
    const remembered = inspect(exporter, { depth: 3, maxStringLength: null });
    expect([short, long].map((name) => remembered.includes(name))).toEqual([true, false]);
  });

  it("sends OTLP over HTTP if asked to", async () => {
    const { sink, exporter, bodies } = await recorded(coralogixExporter, (url) => ({
      ...BASE,
      protocol: "http",
      logs: { endpoint: url, headers: { "X-Team": "a" } },
    }));
    await exporter.send(logs({}, {}), never);
    const [{ path, headers } = expect.unreachable()] = sink.requests;
    expect([path, headers["authorization"], headers["x-team"], headers["content-type"]]).toEqual([
      "/v1/logs",
      "Bearer k1",
      "a",
      "application/x-protobuf",
    ]);
    expect(bodies()[0]).toContain("cx.application.name");
    sink.respond = (response) => response.writeHead(503).end();
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ kind: "transient" });
  });

  it("holds the queue for a wrong key", async () => {
    const { server, exporter } = await start();
    server.respond = (done) => done({ code: status.UNAUTHENTICATED, details: "unknown key" });
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
  });

  it("finds the endpoint of a domain, also that of its private link", () => {
    const endpointOf = (config: object) => parse(config).transports.logs?.endpoint;
    const at = (host: string) => ({ address: { host, port: 443 }, secure: true });
    expect(endpointOf({ domain: "eu2.coralogix.com" })).toEqual(at("ingress.eu2.coralogix.com"));
    const link = { domain: "eu2.coralogix.com", private_link: true };
    expect(endpointOf(link)).toEqual(at("ingress.private.eu2.coralogix.com"));
    expect(endpointOf({ ...link, domain: "private.coralogix.com" })).toEqual(at("ingress.private.coralogix.com"));
  });

  it("merges the settings of a signal into those of the domain, unless it has an endpoint", () => {
    const { transports } = parse({
      domain: "eu2.coralogix.com",
      domain_settings: { compression: "none", headers: { a: "domain", b: "domain" } },
      logs: { headers: { a: "logs" } },
      metrics: { compression: "snappy" },
      traces: { endpoint: "other:4317" },
    });
    expect(transports.logs).toMatchObject({ compression: "none", headers: { a: "logs", b: "domain" } });
    expect(transports.metrics).toMatchObject({ compression: "snappy", headers: { a: "domain" } });
    expect(transports.traces).toMatchObject({ compression: "gzip", endpoint: { address: { host: "other" } } });
    expect(transports.traces!.headers).toBeUndefined();
  });

  it("needs a key, an application and a place to send to, and refuses signals without one", () => {
    expect(problems({})).toEqual(["private_key", "application_name", "domain"]);
    expect(problems({ ...BASE, domain: "a b" })).toContain("domain");
    const config = parse({ logs: { endpoint: "here:4317" }, traces: { endpoint: "https://" } });
    const refused = (signal: Signal) => coralogixExporter.refusesSignal!(config, signal);
    expect([refused("logs"), refused("traces")]).toEqual([undefined, 'it has neither "domain" nor "traces.endpoint"']);
  });
});
