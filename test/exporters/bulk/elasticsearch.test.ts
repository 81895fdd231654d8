import { describe, expect, it, onTestFinished } from "vitest";
import { elasticsearchExporter } from "../../../src/exporters/bulk/elasticsearch/component.js";
import { parseCloudId } from "../../../src/exporters/bulk/elasticsearch/config.js";
import { batchFromJson } from "../../../src/plugin.js";
import { refusalOf, startExporter, startSink } from "../harness.js";
import { never } from "../support.js";
import { startBulkServer } from "./bulk-server.js";
import { attributes, logsOf, metricsOf, spansOf } from "./records.js";

async function start(config: object, ...server: Parameters<typeof startBulkServer>) {
  const bulk = await startBulkServer(...server);
  onTestFinished(() => bulk.close());
  const exporter = await startExporter(elasticsearchExporter, { endpoint: bulk.url, ...config });
  onTestFinished(() => exporter.stop!());
  return { ...bulk, exporter };
}

const sourcesOf = ({ stored }: { readonly stored: readonly { readonly source: object }[] }) =>
  stored.map(({ source }) => source);

describe("the elasticsearch exporter", () => {
  it("stores log records as documents of the mode otel, in data streams by their attributes", async () => {
    const server = await start({ api_key: "abc", pipeline: "p" });
    await server.exporter.send(
      logsOf(
        { body: { stringValue: "hello" }, attributes: { user: "u" } },
        { body: { kvlistValue: { values: attributes({ a: "b" }) } }, attributes: { "data_stream.dataset": "My-Set" } },
        { body: { arrayValue: { values: [{ intValue: 1 }] } }, attributes: { "elasticsearch.index": "_Odd index" } },
      ),
      never,
    );
    expect(server.requests[0]!.headers["authorization"]).toBe("ApiKey abc");
    expect(server.requests[0]!.url.pathname).toBe("/_bulk");
    expect(server.requests[0]!.url.searchParams.get("pipeline")).toBe("p");
    expect(server.stored.map(({ action, target }) => [action, target])).toEqual([
      ["create", { _index: "logs-generic.otel-default" }],
      ["create", { _index: "logs-my_set.otel-default" }],
      ["create", { _index: "odd_index" }],
    ]);
    const [first, second, third] = sourcesOf(server);
    expect(first).toEqual({
      "@timestamp": "1700000000000.000001",
      data_stream: { type: "logs", dataset: "generic.otel", namespace: "default" },
      severity_text: "INFO",
      severity_number: 9,
      trace_id: "0102030405060708090a0b0c0d0e0f10",
      attributes: { user: "u" },
      resource: { attributes: { "service.name": "cart", "k8s.pod.name": "p1" } },
      scope: { name: "lib", version: "1", attributes: {} },
      body: { text: "hello" },
    });
    expect(second).toMatchObject({ attributes: {}, body: { structured: { a: "b" } } });
    expect(third).toMatchObject({ body: { structured: { value: [1] } } });
  });

  it("stores spans, and their events among the logs", async () => {
    const server = await start({});
    await server.exporter.send(spansOf({ events: [{ timeUnixNano: "1700000000000000005", name: "boom" }] }), never);
    expect(server.stored.map(({ target }) => target)).toEqual([
      { _index: "traces-generic.otel-default" },
      { _index: "logs-generic.otel-default" },
    ]);
    const [span, event] = sourcesOf(server);
    expect(span).toMatchObject({
      name: "GET /",
      kind: "Server",
      duration: 500,
      status: { code: "Error", message: "no" },
      links: [],
    });
    expect(event).toMatchObject({
      event_name: "boom",
      attributes: { "event.name": "boom" },
      span_id: "0102030405060708",
    });
  });

  it("puts data points of one time and set of attributes into one document, with a template for each metric", async () => {
    const server = await start({});
    await server.exporter.send(
      metricsOf(
        { name: "g", gauge: { dataPoints: [{ asInt: "7" }, { asDouble: 1.5, attributes: attributes({ a: "b" }) }] } },
        { name: "s", sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [{ asDouble: 2.5 }] } },
        {
          name: "h",
          histogram: {
            dataPoints: [{ count: "6", sum: 9, bucketCounts: ["1", "2", "0", "3"], explicitBounds: [2, 4, 8] }],
          },
        },
        {
          name: "e",
          exponentialHistogram: {
            dataPoints: [{ scale: 0, zeroCount: "1", positive: { offset: 1, bucketCounts: ["2"] } }],
          },
        },
        { name: "q", summary: { dataPoints: [{ count: "2", sum: 5 }] } },
        { name: "gone", gauge: { dataPoints: [{ flags: 1 }] } },
      ),
      never,
    );
    const [all, alone] = server.stored;
    expect(all!.target).toEqual({
      _index: "metrics-generic.otel-default",
      dynamic_templates: {
        "metrics.g": "gauge_long",
        "metrics.s": "counter_double",
        "metrics.h": "histogram",
        "metrics.e": "histogram",
        "metrics.q": "summary",
      },
    });
    expect(all!.source["metrics"]).toEqual({
      g: 7,
      s: 2.5,
      h: { counts: [1, 2, 3], values: [1, 3, 8] },
      e: { counts: [1, 2], values: [0, 3] },
      q: { sum: 5, value_count: 2 },
    });
    expect(alone!.source).toMatchObject({ attributes: { a: "b" }, metrics: { g: 1.5 } });
    expect(server.stored).toHaveLength(2);
    expect(alone!.source["_metric_names_hash"]).not.toBe(all!.source["_metric_names_hash"]);
  });

  it("refuses a data point that Elasticsearch cannot store, and stores the others", async () => {
    const server = await start({});
    const batch = metricsOf({ name: "g", gauge: { dataPoints: [{ asDouble: "NaN" }, { asDouble: 1 }] } });
    const refusal = await refusalOf(server.exporter.send(batch, never));
    expect([...refusal.undelivered!.marks]).toEqual([1, 0]);
    expect(server.stored).toHaveLength(1);
  });

  it("stores the document of each mapping mode", async () => {
    const log = { body: { stringValue: "hello" }, attributes: { a: "1", "a.b": "2", "exception.type": "E" } };
    const ecs = await start({ mapping: { mode: "ECS" } });
    await ecs.exporter.send(logsOf(log), never);
    expect(ecs.stored[0]!.target).toEqual({ _index: "logs-generic-default" });
    expect(sourcesOf(ecs)[0]).toMatchObject({
      "@timestamp": "2023-11-14T22:13:20.000000001Z",
      message: "hello",
      "log.level": "INFO",
      "kubernetes.pod.name": "p1",
      "error.type": "E",
      "a.value": "1",
      "a.b": "2",
      "data_stream.dataset": "generic",
    });
    const none = await start({ mapping: { mode: "none" }, logs_index: "mine" });
    await none.exporter.send(logsOf(log), never);
    expect(none.stored[0]!.target).toEqual({ _index: "mine" });
    expect(sourcesOf(none)[0]).toMatchObject({
      Body: "hello",
      "Attributes.a.value": "1",
      "Resource.service.name": "cart",
      "Scope.name": "lib",
    });
    const raw = await start({ mapping: { mode: "raw" } });
    await raw.exporter.send(spansOf({ events: [{ name: "e", attributes: attributes({ k: "v" }) }] }), never);
    expect(sourcesOf(raw)[0]).toMatchObject({ Name: "GET /", Kind: "SPAN_KIND_SERVER", "e.k": "v", Duration: 0 });
    const bodymap = await start({ mapping: { mode: "bodymap" } });
    const batch = logsOf(
      { body: { kvlistValue: { values: attributes({ x: "y" }) } } },
      { body: { stringValue: "no" } },
    );
    const refusal = await refusalOf(bodymap.exporter.send(batch, never));
    expect(sourcesOf(bodymap)).toEqual([{ x: "y" }]);
    expect([...refusal.undelivered!.marks]).toEqual([0, 1]);
  });

  it("reports which records were refused, grouped by reason", async () => {
    const answers: Record<string, number> = { busy: 429, bad: 400, worse: 400, there: 409 };
    const server = await start({}, ({ source }) => {
      const text = (source["body"] as { text: string }).text;
      const status = answers[text] ?? 201;
      return status < 300 ? { status } : { status, error: { type: text, reason: "because" } };
    });
    const texts = ["ok", "busy", "bad", "worse", "there", "bad"];
    const batch = logsOf(...texts.map((text) => ({ body: { stringValue: text } })));
    const refusal = await refusalOf(server.exporter.send(batch, never));
    expect(refusal.kind).toBe("transient");
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 2, 3, 0, 2]);
    const bad = await refusalOf(server.exporter.send(logsOf({ body: { stringValue: "bad" } }), never));
    expect(bad).toMatchObject({ kind: "permanent", category: "schema", undelivered: undefined });
    expect(bad.message).toContain("bad: because");
  });

  it("cuts a large batch into requests, and does not repeat those that succeeded", async () => {
    let left = 1;
    const server = await start({ compression: "none" }, undefined, () => (left-- > 0 ? 200 : 503));
    const batch = logsOf(...["a", "b", "c"].map((text) => ({ body: { stringValue: text.repeat(3 * 1024 * 1024) } })));
    const refusal = await refusalOf(server.exporter.send(batch, never));
    expect(server.stored).toHaveLength(2);
    expect([...refusal.undelivered!.marks]).toEqual([0, 0, 1]);
  });

  it("does not treat an answer as success unless it covers every document", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    sink.respond = (response) => response.writeHead(200).end('{"errors":false,"items":[]}');
    const exporter = await startExporter(elasticsearchExporter, { endpoint: `http://127.0.0.1:${sink.port}/es/` });
    onTestFinished(() => exporter.stop!());
    const refusal = await refusalOf(exporter.send(logsOf({}), never));
    expect(refusal).toMatchObject({ kind: "transient", code: "SLUICE_UNREADABLE_ANSWER" });
    expect(sink.requests[0]!.path).toMatch(/^\/es\/_bulk\?/);
  });

  it("sends no request if there is nothing to store", async () => {
    const server = await start({});
    await server.exporter.send(batchFromJson("logs", "{}"), never);
    expect(server.requests).toHaveLength(0);
  });

  it("gives documents the configured id, pipeline and date", async () => {
    const server = await start({
      ...{ logs_dynamic_id: { enabled: true }, logs_dynamic_pipeline: { enabled: true }, logs_index: "app" },
      logstash_format: { enabled: true, date_format: "%Y.%m" },
    });
    const own = { "elasticsearch.document_id": "7", "elasticsearch.document_pipeline": "geo", kept: "k" };
    await server.exporter.send(logsOf({ attributes: own }), never);
    const [{ target, source } = expect.unreachable()] = server.stored;
    expect(target).toEqual({ _index: expect.stringMatching(/^app-\d{4}\.\d{2}$/), _id: "7", pipeline: "geo" });
    expect(source["attributes"]).toEqual({ kept: "k" });
  });
});

it("finds the server behind a cloud id", () => {
  const id = `name:${Buffer.from("eu.example.com:9243$abc$kib").toString("base64")}`;
  expect(String(parseCloudId(id))).toBe("https://abc.eu.example.com:9243/");
  expect(parseCloudId("nothing")).toBeUndefined();
});
