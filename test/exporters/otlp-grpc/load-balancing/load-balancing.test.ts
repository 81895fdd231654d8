import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadBalancingExporter } from "../../../../src/exporters/otlp-grpc/load-balancing/component.js";
import { Batch, batchFromJson, type Exporter, readRecords } from "../../../../src/plugin.js";
import { type DnsServer, startDnsServer } from "../../../support/servers/dns.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../../support/servers/kubernetes-api.js";
import { GrpcJsServer } from "../../grpc-server.js";
import { never, refusalOf, startExporter } from "../../harness.js";
import { listeningLogger } from "../../support.js";

let servers: GrpcJsServer[];
let exporters: Exporter[];
beforeEach(() => {
  servers = [];
  exporters = [];
});
afterEach(async () => {
  for (const exporter of exporters) await exporter.stop?.();
  for (const server of servers) server.kill();
});

async function startServers(count: number): Promise<GrpcJsServer[]> {
  for (let i = 0; i < count; i++) servers.push(await new GrpcJsServer().start());
  return servers;
}

async function start(config: object, logger = listeningLogger()): Promise<Exporter> {
  const keys = { protocol: { otlp: { tls: { insecure: true }, compression: "none" } }, ...config };
  const exporter = await startExporter(loadBalancingExporter, keys, undefined, logger);
  exporters.push(exporter);
  return exporter;
}

const hostnames = () => servers.map(({ port }) => `127.0.0.1:${port}`);
const balanced = () => start({ resolver: { static: { hostnames: hostnames() } } });

function traces(count: number, spansEach = 3): Batch {
  const spans = Array.from({ length: count * spansEach }, (_, i) => ({
    traceId: ((i % count) + 1).toString(16).padStart(32, "0"),
    spanId: (i + 1).toString(16).padStart(16, "0"),
    name: `span ${i}`,
  }));
  return batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
}

/** Trace ids that a server has received, one for each span. */
function tracesAt({ received }: GrpcJsServer): string[] {
  const ids: string[] = [];
  for (const { signal, body } of received)
    readRecords(Batch.admit(signal, body), (record) => void (record.signal === "traces" && ids.push(record.traceId)));
  return ids;
}

const allTraces = () => servers.flatMap(tracesAt);

describe("several endpoints", () => {
  it("get each trace complete, and each endpoint gets some traces", async () => {
    await startServers(4);
    const exporter = await balanced();
    await exporter.send(traces(200), never);
    await exporter.send(traces(200), never);
    const sets = servers.map((server) => new Set(tracesAt(server)));
    expect(sets.reduce((sum, { size }) => sum + size, 0)).toBe(200);
    for (const { size } of sets) expect(size).toBeGreaterThan(0);
    expect(allTraces().length).toBe(1200);
  });

  it("do not make the others wait or fail: the queue is told which records are left", async () => {
    const [first] = await startServers(4);
    const exporter = await balanced();
    first!.respond = (done) => done({ code: status.UNAVAILABLE, details: "not now" });
    const batch = traces(200);
    const refusal = await refusalOf(exporter.send(batch, never));
    expect(refusal).toMatchObject({ kind: "transient", status: "UNAVAILABLE" });
    expect(refusal.message).toContain(`127.0.0.1:${first!.port}`);
    const left = refusal.undelivered!.marks.filter((mark) => mark !== 0).length;
    expect(left).toBe(tracesAt(first!).length);
    expect(left).toBeGreaterThan(0);
    expect(new Set(refusal.undelivered!.marks).size).toBe(2);
    expect(refusal.undelivered!.isOutage).toBe(false);
  });

  it("are not tried for a while when they are down, which is not blamed on the data", async () => {
    const [first] = await startServers(2);
    const exporter = await balanced();
    first!.respond = (done) => done({ code: status.UNAVAILABLE, details: "not now" });
    for (let i = 0; i < 3; i++) await refusalOf(exporter.send(traces(50), never));
    const calls = first!.received.length;
    const refusal = await refusalOf(exporter.send(traces(50), never));
    expect(refusal).toMatchObject({ kind: "throttled", undelivered: { isOutage: true } });
    expect(refusal.retryAfterMs).toBeGreaterThan(0);
    expect(first!.received.length).toBe(calls);
  });

  it("are an outage of the exporter when all of them fail", async () => {
    for (const server of await startServers(2))
      server.respond = (done) => done({ code: status.UNAVAILABLE, details: "not now" });
    const exporter = await balanced();
    const refusal = await refusalOf(exporter.send(traces(50), never));
    expect(refusal).toMatchObject({ kind: "transient", undelivered: undefined });
  });

  it("refuse a request permanently if it is theirs alone; a request for several endpoints is sent again share by share", async () => {
    for (const server of await startServers(2))
      server.respond = (done) => done({ code: status.INVALID_ARGUMENT, details: "bad" });
    const exporter = await balanced();
    expect(await refusalOf(exporter.send(traces(1), never))).toMatchObject({
      kind: "permanent",
      undelivered: undefined,
    });
    const refusal = await refusalOf(exporter.send(traces(50), never));
    expect(refusal.kind).toBe("transient");
    expect(new Set(refusal.undelivered!.marks)).toEqual(new Set([1, 2]));
  });

  it("are healthy as long as one of them is", async () => {
    const [first, second] = await startServers(2);
    const exporter = await balanced();
    first!.kill();
    await exporter.check!(never);
    second!.kill();
    await expect(exporter.check!(never)).rejects.toThrow();
  });

  it("add up what they rejected", async () => {
    await startServers(2);
    // partial_success {rejected_spans: 1, error_message: "x"}
    for (const server of servers) server.respond = (done) => done(null, Buffer.from([10, 5, 8, 1, 18, 1, 120]));
    const exporter = await balanced();
    expect(await exporter.send(traces(50), never)).toEqual({ rejected: 2, message: "x; x" });
  });

  it("keep rejected records also when another one fails: their share is sent again too", async () => {
    const [first, second] = await startServers(3);
    first!.respond = (done) => done({ code: status.UNAVAILABLE, details: "not now" });
    second!.respond = (done) => done(null, Buffer.from([10, 5, 8, 1, 18, 1, 120]));
    const exporter = await balanced();
    const refusal = await refusalOf(exporter.send(traces(200), never));
    expect(refusal.kind).toBe("transient");
    const left = refusal.undelivered!.marks.filter((mark) => mark !== 0).length;
    expect(left).toBe(tracesAt(first!).length + tracesAt(second!).length);
    expect(new Set(refusal.undelivered!.marks).size).toBe(3);
    expect(refusal.undelivered!.isOutage).toBe(false);
  });
});

describe("the dns resolver", () => {
  let dns: DnsServer;
  beforeEach(async () => {
    dns = await startDnsServer();
  });
  afterEach(() => dns.close());

  const resolver = () => ({
    dns: {
      hostname: "gateways.test",
      port: servers[0]!.port,
      servers: [dns.address],
      interval: "20ms",
      timeout: "500ms",
    },
  });

  /** Servers at 127.0.0.1, 127.0.0.2 and so on with the same port, like pods. */
  it("follows a name, keeps the last addresses when a lookup fails, and starts without an answer", async () => {
    await startServers(1);
    const logger = listeningLogger();
    dns.fault = "silent";
    const exporter = await start({ resolver: resolver() }, logger);
    expect(await refusalOf(exporter.send(traces(1), never))).toMatchObject({
      code: "SLUICE_NO_ENDPOINTS",
      kind: "transient",
    });
    dns.fault = "none";
    dns.names.set("gateways.test", ["127.0.0.1"]);
    await expect
      .poll(() =>
        exporter.send(traces(1), never).then(
          () => "sent",
          () => "refused",
        ),
      )
      .toBe("sent");
    const known = () => logger.lines.filter(({ message }) => message.includes("have changed")).at(-1)!.fields;
    dns.names.set("gateways.test", ["127.0.0.1", "127.0.0.9"]);
    await expect.poll(known).toMatchObject({ endpoints: [expect.any(String), `127.0.0.9:${servers[0]!.port}`] });
    dns.names.set("gateways.test", ["127.0.0.1"]);
    await expect.poll(known).toMatchObject({ endpoints: [`127.0.0.1:${servers[0]!.port}`] });
    for (const fault of ["servfail", "silent"] as const) {
      dns.fault = fault;
      const warned = logger.lines.length;
      await expect.poll(() => logger.lines.length).toBeGreaterThanOrEqual(warned);
      await exporter.send(traces(1), never);
    }
    dns.fault = "none";
    dns.names.delete("gateways.test");
    await exporter.send(traces(1), never);
    expect(logger.lines.some(({ message }) => message.includes("the last known ones are used"))).toBe(true);
  });
});

it("resolves names as the system does if no DNS servers are configured", async () => {
  await startServers(1);
  const exporter = await start({ resolver: { dns: { hostname: "localhost", port: servers[0]!.port } } });
  // localhost may also be ::1, where nothing listens: its share is left, and the rest has arrived.
  await exporter.send(traces(50), never).catch(() => {});
  expect(allTraces().length).toBeGreaterThan(0);
});

describe("the k8s resolver", () => {
  let api: KubernetesApiServer;
  beforeEach(async () => {
    api = await startKubernetesApi();
  });
  afterEach(() => api.close());

  const slice = (name: string, ...endpoints: object[]) => ({ metadata: { name, namespace: "shop" }, endpoints });

  it("sends to the ready endpoints of a service, at each of its ports, as they appear and disappear", async () => {
    await startServers(1);
    const logger = listeningLogger();
    api.put(slice("one", { addresses: ["127.0.0.1"] }, { addresses: ["127.0.0.3"], conditions: { ready: false } }));
    const ports = [servers[0]!.port];
    const k8s = { service: "gateways.shop", ports, api_server: api.url };
    const exporter = await start({ resolver: { k8s } }, logger);
    await exporter.send(traces(20), never);
    expect(new Set(allTraces()).size).toBe(20);
    const known = () =>
      (logger.lines.findLast(({ message }) => message.includes("have changed"))!.fields as { endpoints: string[] })
        .endpoints;
    api.put(slice("two", { addresses: ["fd00::1"], conditions: { ready: true } }));
    await expect.poll(known).toEqual([`127.0.0.1:${ports[0]}`, `[fd00::1]:${ports[0]}`]);
    api.remove("two");
    api.forget();
    await expect.poll(known).toEqual([`127.0.0.1:${ports[0]}`]);
    expect(api.requests[0]).toMatchObject({ path: "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices" });
    expect(api.requests[0]!.query.get("labelSelector")).toBe("kubernetes.io/service-name=gateways");
    await exporter.send(traces(20), never);
  });

  it("names pods by their hostnames if configured, and leaves out and reports those without one", async () => {
    const logger = listeningLogger();
    api.put(slice("one", { addresses: ["127.0.0.1"], hostname: "gateway-0" }, { addresses: ["127.0.0.2"] }));
    const k8s = { service: "gateways.shop", ports: [4317, 4319], return_hostnames: true, api_server: api.url };
    await start({ resolver: { k8s } }, logger);
    const changed = logger.lines.find(({ message }) => message.includes("have changed"));
    expect(changed!.fields).toMatchObject({
      endpoints: ["gateway-0.gateways.shop:4317", "gateway-0.gateways.shop:4319"],
    });
    expect(logger.lines.some(({ message }) => message.includes("pods without a hostname"))).toBe(true);
  });
});

describe("its config", () => {
  const problems = (config: object) =>
    (loadBalancingExporter.schema.safeParse(config).error?.issues ?? []).map(({ message }) => message);

  it("needs one resolver, endpoints that are addresses, and attributes where it routes by them", () => {
    expect(problems({ resolver: {} })).toEqual(["expected one of static, dns and k8s"]);
    expect(problems({ resolver: { static: { hostnames: ["a"] }, dns: { hostname: "b" } } })).toHaveLength(1);
    expect(problems({ resolver: { static: { hostnames: ["a b"] } } })).toEqual([expect.stringContaining("host:port")]);
    expect(problems({ resolver: { static: { hostnames: [] } } })).toHaveLength(1);
    expect(problems({ resolver: { static: { hostnames: ["a"] } }, routing_key: "attributes" })).toHaveLength(1);
    expect(problems({ resolver: { static: { hostnames: ["a", "b:1", "[::1]:2"] } } })).toEqual([]);
  });

  it("rejects signals without such a key", () => {
    const config = (routing_key: string) =>
      loadBalancingExporter.schema.parse({ resolver: { static: { hostnames: ["a"] } }, routing_key });
    expect(loadBalancingExporter.refusesSignal!(config("metric"), "traces")).toMatch(/choose another/);
    expect(loadBalancingExporter.refusesSignal!(config("traceID"), "metrics")).toMatch(/choose another/);
    expect(loadBalancingExporter.refusesSignal!(config("service"), "metrics")).toBeUndefined();
  });
});
