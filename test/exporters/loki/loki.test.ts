import { describe, expect, it, onTestFinished } from "vitest";
import { lokiExporter } from "../../../src/exporters/loki/component.js";
import { batchFromJson, type Exporter } from "../../../src/plugin.js";
import { refusalOf, startExporter } from "../harness.js";
import { never } from "../support.js";
import { startLokiServer } from "./loki-server.js";

const value = (each: unknown): object => {
  if (typeof each === "string") return { stringValue: each };
  if (typeof each === "number") return { intValue: each };
  if (Array.isArray(each)) return { arrayValue: { values: each.map(value) } };
  return { kvlistValue: { values: attributes(each as object) } };
};
const attributes = (map: object) => Object.entries(map).map(([key, each]) => ({ key, value: value(each) }));

interface TestLog {
  readonly attributes?: object;
  readonly [field: string]: unknown;
}

const log = ({ attributes: own = {}, ...rest }: TestLog = {}) => ({
  timeUnixNano: "1700000000000000001",
  body: { stringValue: "hello" },
  attributes: attributes(own),
  ...rest,
});

const logs = (resource: object, ...records: TestLog[]) =>
  batchFromJson(
    "logs",
    JSON.stringify({
      resourceLogs: [{ resource: { attributes: attributes(resource) }, scopeLogs: [{ logRecords: records.map(log) }] }],
    }),
  );

async function start(config: object): Promise<Exporter> {
  const exporter = await startExporter(lokiExporter, config);
  onTestFinished(() => exporter.stop!());
  return exporter;
}

const NO_DEFAULTS = { exporter: false, job: false, instance: false, level: false };

describe("the loki exporter", () => {
  it("pushes records by their labels, with the default ones and those that hints name", async () => {
    const server = await startLokiServer();
    const exporter = await start({ endpoint: server.url });
    const resource = {
      "service.name": "cart",
      "service.namespace": "shop",
      "service.instance.id": "i1",
      "k8s.pod": { name: "p" },
      "loki.resource.labels": "k8s.pod.name, missing",
    };
    const hinted = { "loki.attribute.labels": ["http.route"], "http.route": '/a"b\\', user: "u" };
    await exporter.send(
      logs(
        resource,
        { severityNumber: 10, attributes: hinted },
        { attributes: { level: "odd" } },
        {
          severityNumber: 10,
          timeUnixNano: "1700000000000000002",
          attributes: hinted,
        },
      ),
      never,
    );
    const common = 'exporter="OTLP", ';
    const rest = 'instance="i1", job="shop/cart", k8s_pod_name="p"';
    const [{ streams, tenant } = expect.unreachable()] = server.taken;
    expect(tenant).toBe("");
    expect(streams.map(({ labels }) => labels)).toEqual([
      `{${common}http_route="/a\\"b\\\\", instance="i1", job="shop/cart", k8s_pod_name="p", level="INFO2"}`,
      `{${common}${rest}}`,
    ]);
    expect(streams[0]!.entries.map(({ time }) => time)).toEqual(["1700000000.000000001", "1700000000.000000002"]);
    expect(JSON.parse(streams[0]!.entries[0]!.line)).toEqual({
      body: "hello",
      attributes: { user: "u" },
      resources: {
        "service.name": "cart",
        "service.namespace": "shop",
        "service.instance.id": "i1",
        "k8s.pod": { name: "p" },
      },
    });
    expect(JSON.parse(streams[1]!.entries[0]!.line)).toMatchObject({ attributes: { level: "odd" } });
  });

  it("writes JSON, logfmt or the body alone, by hint", async () => {
    const server = await startLokiServer();
    const exporter = await start({ endpoint: server.url, default_labels_enabled: { job: false } });
    const ids = { traceId: "0102030405060708090a0b0c0d0e0f10", spanId: "0102030405060708", flags: 1 };
    const formatted = (format: string, more: object = {}) => ({
      ...more,
      attributes: { "loki.format": format, list: ["a", 2] },
    });
    await exporter.send(
      logs(
        { host: "h 1" },
        formatted("json", { ...ids, severityText: "Info", eventName: "e", body: value({ n: 1 }) }),
        formatted("logfmt", { ...ids, severityText: "Info", body: value('a=1 b="x y" severity=other') }),
        formatted("logfmt", { body: value("two words=1") }),
        formatted("logfmt", { body: value({ k: { x: "=" } }) }),
        formatted("raw", { body: value({ k: 1 }) }),
        formatted("raw", { body: undefined }),
      ),
      never,
    );
    const lines = server.taken[0]!.streams.flatMap(({ entries }) => entries.map(({ line }) => line));
    expect(JSON.parse(lines[0]!)).toEqual({
      name: "e",
      body: { n: 1 },
      traceid: ids.traceId,
      spanid: ids.spanId,
      severity: "Info",
      flags: 1,
      attributes: { list: ["a", 2] },
      resources: { host: "h 1" },
    });
    const tail = 'attribute_list_0=a attribute_list_1=2 resource_host="h 1"';
    expect(lines.slice(1)).toEqual([
      `a=1 b="x y" severity=Info traceID=${ids.traceId} spanID=${ids.spanId} flags=1 ${tail}`,
      `msg="two words=1" ${tail}`,
      `k_x="=" ${tail}`,
      '{"k":1}',
      "",
    ]);
  });

  it("sends a request for each tenant, and repeats only refused ones", async () => {
    let isDown = true;
    const server = await startLokiServer((tenant) => ({ status: tenant === "b" && isDown ? 503 : 204 }));
    const exporter = await start({ endpoint: server.url, headers: { "x-scope-orgid": "default" } });
    const batch = logs(
      { "loki.tenant": "customer" },
      { attributes: { customer: "a" } },
      { attributes: { customer: "b" } },
      {},
    );
    const refusal = await refusalOf(exporter.send(batch, never));
    expect(refusal.kind).toBe("transient");
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 1]);
    expect(server.taken.map(({ tenant }) => tenant)).toEqual(["a"]);
    isDown = false;
    await exporter.send(batch, never);
    expect(server.taken.slice(1).map(({ tenant }) => tenant)).toEqual(["a", "b", "default"]);
  });

  it("permanently refuses only the records that Loki cannot accept in any form", async () => {
    const server = await startLokiServer();
    const exporter = await start({ endpoint: server.url, default_labels_enabled: NO_DEFAULTS });
    const labelled = { "loki.attribute.labels": "a", a: "1" };
    const batch = logs(
      {},
      { attributes: labelled },
      {},
      { attributes: { ...labelled, "loki.format": "xml" } },
      { attributes: { ...labelled, "loki.tenant": "t", t: "a\r\nX-Evil: 1" } },
    );
    const refusal = await refusalOf(exporter.send(batch, never));
    expect([...refusal.undelivered!.marks].map((mark) => mark > 0)).toEqual([false, true, true, true]);
    expect(server.taken.flatMap(({ streams }) => streams.map(({ labels }) => labels))).toEqual(['{a="1"}']);
    const alone = await refusalOf(exporter.send(logs({}, {}), never));
    expect([alone.kind, alone.category]).toEqual(["permanent", "schema"]);
  });

  it.each([
    [429, "Ingestion rate limit exceeded", "transient", undefined],
    [500, "", "transient", undefined],
    [400, "entry for stream '{a=\"1\"}' has timestamp too old: 2020-01-01T00:00:00Z", "permanent", "business"],
    [400, "entry with timestamp 1 ignored, reason: 'entry out of order'", "permanent", "business"],
    [400, "entry too far behind, oldest acceptable timestamp is: 1", "permanent", "business"],
    [400, "error parsing labels", "permanent", "schema"],
    [401, "no org id", "permanent", "integration"],
  ])("reads %d %s", async (status, body, kind, category) => {
    const server = await startLokiServer(() => ({ status, body }));
    const exporter = await start({ endpoint: server.url });
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ kind, category });
  });

  it("ignores hints that only look like attributes", async () => {
    const server = await startLokiServer();
    const exporter = await start({ endpoint: server.url, default_labels_enabled: { exporter: true } });
    const hints = { "loki.tenant": "constructor", "loki.attribute.labels": "toString,__proto__.toString,a.b,\u0000" };
    await exporter.send(logs({}, { attributes: { ...hints, a: "text" } }), never);
    expect(server.taken).toMatchObject([{ tenant: "", streams: [{ labels: '{exporter="OTLP"}' }] }]);
  });

  it("waits as long as Loki says", async () => {
    const server = await startLokiServer(() => ({ status: 429, headers: { "retry-after": "7" } }));
    const exporter = await start({ endpoint: server.url });
    const refusal = await refusalOf(exporter.send(logs({}, {}), never));
    expect(refusal).toMatchObject({ kind: "throttled", retryAfterMs: 7000 });
  });

  it("cuts lines that repeat a large resource into several pushes", async () => {
    const server = await startLokiServer();
    const exporter = await start({ endpoint: server.url });
    await exporter.send(logs({ large: "x".repeat(300_000) }, ...Array.from({ length: 20 }, () => ({}))), never);
    const counts = server.taken.map(({ streams }) => streams.reduce((sum, { entries }) => sum + entries.length, 0));
    expect(counts.length).toBeGreaterThan(1);
    expect(Math.max(...counts) * 300_000).toBeLessThan(4 * 1024 * 1024);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20);
  });

  it("supports the old keys labels, format and tenant_id", async () => {
    const server = await startLokiServer();
    const exporter = await start({
      endpoint: server.url,
      default_labels_enabled: NO_DEFAULTS,
      format: "body",
      tenant_id: "t1",
      labels: { attributes: { severity: "" }, resource: { "service.name": "service" } },
    });
    await exporter.send(logs({ "service.name": "cart" }, { attributes: { severity: "high" } }), never);
    expect(server.taken).toEqual([
      {
        tenant: "t1",
        streams: [
          {
            labels: '{service="cart", severity="high"}',
            entries: [{ time: "1700000000.000000001", line: "hello" }],
          },
        ],
      },
    ]);
    const problem = lokiExporter.schema.safeParse({ endpoint: server.url, tenant: { source: "static", value: "t" } });
    expect(problem.error?.issues[0]?.message).toMatch(/X-Scope-OrgID/);
  });
});
