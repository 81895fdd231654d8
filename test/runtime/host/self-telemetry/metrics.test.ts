import { createServer, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { Batch, batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { MetricRegistry } from "../../../../src/runtime/host/self-telemetry/metric-registry.js";
import { read, TLS_FILES } from "../../net/tls/files.js";
import { observe } from "./support.js";

const description = { description: "Number of log records taken", unit: "{records}" };

async function takenPort(port = 0): Promise<{ port: number; release: () => void }> {
  const server = createTcpServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, release: () => server.close() };
}

function prometheusOn(port: number) {
  return { pull: { exporter: { prometheus: { host: "127.0.0.1", port } } } };
}

async function scrape(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(response.status).toBe(200);
  return response.text();
}

describe("for Prometheus", () => {
  test("shows the Collector's metrics under their own names, and other counters with one _total", async () => {
    const port = await freePort();
    const self = observe({ metrics: { readers: [prometheusOn(port)] } });
    const attributes = { receiver: "otlp", transport: 'h"tt\\p' };
    self.metrics.counter("otelcol_receiver_accepted_log_records", description, attributes).add(41);
    const latency = { description: "Seconds of a send", unit: "s", boundaries: [0.1, 1] };
    self.metrics.histogram("sluice_send_duration", latency, { exporter: "a" }).record(0.05);
    await self.start();
    self.metrics.counter("otelcol_receiver_accepted_log_records", description, attributes).add(1);
    self.metrics.histogram("sluice_send_duration", latency, { exporter: "a" }).record(5);
    self.metrics.counter("sluice_replays_total", description).add(3);
    self.metrics.gauge("otelcol_exporter_queue_size", { description: "Size" }, () => 7, { exporter: "a" });
    const text = await scrape(port);
    expect(text).toContain('otelcol_receiver_accepted_log_records{receiver="otlp",transport="h\\"tt\\\\p"} 42\n');
    expect(text).toContain("# TYPE otelcol_receiver_accepted_log_records counter\n");
    expect(text).toContain("sluice_replays_total 3\n");
    expect(text).toContain('otelcol_exporter_queue_size{exporter="a"} 7\n');
    expect(text).toContain('sluice_send_duration_bucket{exporter="a",le="0.1"} 1\n');
    expect(text).toContain('sluice_send_duration_bucket{exporter="a",le="+Inf"} 2\n');
    expect(text).toContain('sluice_send_duration_sum{exporter="a"} 5.05\n');
    expect(text).not.toMatch(/_total_total|_records_records|_s_|otel_scope/);
  });

  test.each(["without_type_suffix", "without_units"])(
    "shows the Collector's metrics with units and _total without %s",
    async (key) => {
      const port = await freePort();
      const reader = { pull: { exporter: { prometheus: { host: "127.0.0.1", port, [key]: false } } } };
      const self = observe({ metrics: { readers: [reader] } });
      const sizes = { description: "Sizes", unit: "By", boundaries: [1] };
      self.metrics.counter("otelcol_receiver_accepted_log_records", description, { receiver: "otlp" }).add(1);
      self.metrics.histogram("otelcol_size", sizes, { exporter: "a" }).record(5);
      self.metrics.counter("sluice_replays", description).add(3);
      await self.start();
      const text = await scrape(port);
      for (const line of [
        "# TYPE otelcol_receiver_accepted_log_records_total counter",
        'otelcol_receiver_accepted_log_records_total{receiver="otlp"} 1',
        'otelcol_size_bytes_count{exporter="a"} 1',
        "# TYPE otelcol_process_uptime_seconds_total counter",
        "# TYPE otelcol_process_cpu_seconds_total counter",
        "# TYPE otelcol_process_memory_rss_bytes gauge",
        "# TYPE otelcol_process_runtime_heap_alloc_bytes gauge",
        "sluice_replays_total 3",
      ])
        expect(text).toContain(`${line}\n`);
    },
  );

  test("answers over TLS when it has a certificate", async () => {
    const port = await freePort();
    const tls = { cert_file: TLS_FILES.serverCert, key_file: TLS_FILES.serverKey };
    const reader = { pull: { exporter: { prometheus: { host: "127.0.0.1", port, tls } } } };
    await observe({ metrics: { readers: [reader] } }).start();
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path: "/metrics", ca: read(TLS_FILES.ca), agent: false };
      httpsGet(options, resolve).on("error", reject);
    });
    answer.resume();
    expect(answer.statusCode).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
  });

  test("names the certificate that it cannot read", async () => {
    const tls = { cert_file: "/nowhere/cert.pem", key_file: TLS_FILES.serverKey };
    const reader = { pull: { exporter: { prometheus: { host: "127.0.0.1", port: 0, tls } } } };
    const path = [
      "service",
      "telemetry",
      "metrics",
      "readers",
      "0",
      "pull",
      "exporter",
      "prometheus",
      "tls",
      "cert_file",
    ];
    await expect(observe({ metrics: { readers: [reader] } }).start()).rejects.toMatchObject({ path });
  });

  test("shows how the process is doing, under the Collector's names", async () => {
    const port = await freePort();
    const self = observe({
      metrics: { readers: [prometheusOn(port)] },
      resource: { "deployment.environment": "test" },
    });
    await self.start();
    const text = await scrape(port);
    for (const name of [
      "process_uptime",
      "process_cpu_seconds",
      "process_memory_rss",
      "process_runtime_heap_alloc_bytes",
      "process_runtime_total_sys_memory_bytes",
    ]) {
      expect(Number(new RegExp(`^otelcol_${name} (\\S+)$`, "m").exec(text)?.[1])).toBeGreaterThan(0);
    }
    expect(text).toMatch(
      /^target_info\{service_name="sluice",service_version="[^"]+",.*deployment_environment="test"\} 1$/m,
    );
  });

  test("takes a gauge away when its component goes, and shows the others when one fails", async () => {
    const port = await freePort();
    const self = observe({ metrics: { readers: [prometheusOn(port)] } });
    const remove = self.metrics.gauge("a_gauge", { description: "a" }, () => 1, { id: "gone" });
    self.metrics.gauge("a_gauge", { description: "a" }, () => 2, { id: "stays" });
    self.metrics.gauge("b_gauge", { description: "b" }, () => {
      throw new Error("broken");
    });
    await self.start();
    remove();
    const text = await scrape(port);
    expect(text).not.toContain('id="gone"');
    expect(text).toContain('a_gauge{id="stays"} 2');
  });

  test("serves several readers, and the old address", async () => {
    const [one, two, three] = [await freePort(), await freePort(), await freePort()];
    const self = observe({
      metrics: { readers: [prometheusOn(one), prometheusOn(two)], address: `127.0.0.1:${three}` },
    });
    self.metrics.counter("x", description).add(1);
    await self.start();
    for (const port of [one, two, three]) expect(await scrape(port)).toContain("x_total 1");
  });

  test("answers other paths and methods plainly, and stops under a client that stays connected", async () => {
    const port = await freePort();
    const self = observe({ metrics: { readers: [prometheusOn(port)] } });
    await self.start();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: "POST" })).status).toBe(405);
    const head = await fetch(`http://127.0.0.1:${port}/metrics`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    await self.stop();
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
  });

  test("keeps the numbers of two agents in one process apart", async () => {
    const ports = [await freePort(), await freePort()];
    const agents = ports.map((port) => observe({ metrics: { readers: [prometheusOn(port)] } }));
    for (const [index, agent] of agents.entries()) {
      agent.metrics.counter("mine", description).add(index + 1);
      await agent.start();
    }
    expect(await scrape(ports[0]!)).toContain("mine_total 1\n");
    expect(await scrape(ports[1]!)).toContain("mine_total 2\n");
  });
});

describe("a port that is taken", () => {
  test("is an error with its place when it is written", async () => {
    const { port } = await takenPort();
    const self = observe({ metrics: { readers: [prometheusOn(port)] } });
    await expect(self.start()).rejects.toMatchObject({
      code: "SLUICE_START",
      path: ["service", "telemetry", "metrics", "readers", "0", "pull", "exporter", "prometheus", "port"],
      problems: [{ severity: "error", place: { file: "test.yaml" }, path: expect.stringMatching(/readers\.0\.pull/) }],
    });
    const old = observe({ metrics: { address: `127.0.0.1:${port}` } });
    await expect(old.start()).rejects.toMatchObject({ path: ["service", "telemetry", "metrics", "address"] });
  });

  test.each([
    ["no reader is written", {}],
    [
      "a reader is written without a port",
      { readers: [{ pull: { exporter: { prometheus: { host: "127.0.0.1" } } } }] },
    ],
  ])("is a warning when %s", async (_, metrics) => {
    await takenPort(8888).catch(() => undefined); // taken by us or by another process
    const self = observe({ metrics });
    await self.start();
    expect(self.stderr.lines).toMatchObject([{ level: "warn", msg: expect.stringContaining("127.0.0.1:8888") }]);
  });
});

test("listens nowhere with level none", async () => {
  const { port } = await takenPort();
  const self = observe({ metrics: { level: "none", address: `127.0.0.1:${port}` } });
  self.metrics.counter("x", description).add(1);
  await self.start();
  expect(self.stderr.text).toBe("");
});

describe("as OTLP", () => {
  test.each([
    ["http/protobuf", "application/x-protobuf"],
    ["http/json", "application/json"],
  ])("sends everything as %s from time to time, and once more when it stops", async (protocol, type) => {
    const bodies: { url: string | undefined; type: string | undefined; bytes: Buffer }[] = [];
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      bodies.push({ url: request.url, type: request.headers["content-type"], bytes: Buffer.concat(chunks) });
      response.writeHead(200, { "content-type": type }).end(protocol === "http/json" ? "{}" : "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const self = observe({
      metrics: { readers: [{ periodic: { interval: 20, exporter: { otlp: { endpoint, protocol } } } }] },
    });
    const counter = self.metrics.counter("otelcol_exporter_sent_spans", description, { exporter: "otlp" });
    await self.start();
    counter.add(5);
    await expect.poll(() => bodies.length).toBeGreaterThan(0);
    counter.add(1);
    await self.stop();
    expect(bodies[0]).toMatchObject({ url: "/v1/metrics", type });
    const { bytes } = bodies.at(-1)!;
    const batch = type === "application/json" ? batchFromJson("metrics", bytes) : Batch.admit("metrics", bytes);
    const { metrics } = JSON.parse(batchToJson(batch)).resourceMetrics[0].scopeMetrics[0];
    const sent = metrics.find((metric: { name: string }) => metric.name === "otelcol_exporter_sent_spans");
    expect(Number(sent.sum.dataPoints[0].asDouble ?? sent.sum.dataPoints[0].asInt)).toBe(6);
  });

  test("says once that a target cannot be reached", async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.writeHead(400).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const endpoint = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const otlp = { endpoint, insecure: true };
    const self = observe({ metrics: { readers: [{ periodic: { interval: 5, exporter: { otlp } } }] } });
    await self.start();
    await expect.poll(() => asked).toBeGreaterThanOrEqual(5);
    await self.stop();
    expect(self.stderr.lines.filter((line) => String(line["msg"]).includes("cannot export"))).toHaveLength(1);
  });
});

describe("the registry", () => {
  test("returns the same instrument for the same name and attributes in any order", () => {
    const registry = new MetricRegistry();
    const counter = registry.counter("c", description, { a: "1", b: "2" });
    expect(registry.counter("c", description, { b: "2", a: "1" })).toBe(counter);
    expect(registry.counter("c", description, { a: "1" })).not.toBe(counter);
  });

  test("does not let one name be two kinds of metric", () => {
    const registry = new MetricRegistry();
    registry.counter("c", description);
    expect(() => registry.gauge("c", description, () => 1)).toThrow("c is a counter, not a gauge");
  });
});
