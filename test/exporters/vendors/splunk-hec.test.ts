import { describe, expect, it } from "vitest";
import { splunkHecExporter } from "../../../src/exporters/vendors/splunkhec/component.js";
import { Batch } from "../../../src/plugin.js";
import { never, refusalOf } from "../harness.js";
import { attributes, logs, metrics, point, recorded, spans } from "./recorded.js";

const start = (more: object = {}) =>
  recorded(splunkHecExporter, (url) => ({ endpoint: url, token: "t1", source: "otel", ...more }));

/** The events of a body, which follow each other without separators. */
const eventsOf = (body: string): Record<string, unknown>[] => JSON.parse(`[${body.replaceAll("}{", "},{")}]`);
const TIME = 1_700_000_000.1234567;
const gauge = (name: string, value: number, own: object = {}) => ({
  name,
  gauge: { dataPoints: [point(value, { attributes: attributes(own) })] },
});

describe("the splunk_hec exporter", () => {
  it("sends log records as events, with attributes as fields and metadata", async () => {
    const { sink, exporter, bodies } = await start();
    const record = {
      severityText: "WARN",
      severityNumber: 13,
      traceId: "5b8efff798038103d269b633813fc60c",
      spanId: "eee19b7ec3c1b174",
      attributes: { "com.splunk.sourcetype": "cart", user: { id: 5, tags: ["a"] }, list: [{ a: 1 }] },
    };
    await exporter.send(logs({ "host.name": "h", "service.name": "shop" }, record, { body: { intValue: 7 } }), never);
    const [{ path, headers } = expect.unreachable()] = sink.requests;
    expect([path, headers["authorization"], headers["__splunk_app_name"]]).toEqual([
      "/services/collector",
      "Splunk t1",
      "OpenTelemetry Collector Contrib",
    ]);
    expect(eventsOf(bodies()[0]!)).toEqual([
      {
        event: "hello",
        host: "h",
        source: "otel",
        sourcetype: "cart",
        time: TIME,
        fields: {
          "service.name": "shop",
          span_id: "eee19b7ec3c1b174",
          trace_id: "5b8efff798038103d269b633813fc60c",
          "otel.log.severity.text": "WARN",
          "otel.log.severity.number": 13,
          "user.id": 5,
          "user.tags": ["a"],
          list: '[{"a":1}]',
        },
      },
      { event: 7, host: "h", source: "otel", time: TIME, fields: { "service.name": "shop" } },
    ]);
  });

  it("sends a field once: that of the record hides that of its resource, which hides what a record is", async () => {
    const { exporter, bodies } = await start();
    const resource = { trace_id: "resource", both: "resource", rest: 1 };
    const record = { traceId: "5b8efff798038103d269b633813fc60c", attributes: { both: "record", own: true } };
    await exporter.send(logs(resource, record, { attributes: { trace_id: "record" } }), never);
    const texts = bodies().join("");
    expect(eventsOf(texts).map(({ fields }) => fields)).toEqual([
      { trace_id: "resource", both: "record", rest: 1, own: true },
      { trace_id: "record", both: "resource", rest: 1 },
    ]);
    expect(texts.match(/"(trace_id|both)":/g)).toHaveLength(4);
  });

  it("does not send log records without a body, and sends raw bodies if asked to", async () => {
    const { sink, exporter } = await start();
    await exporter.send(logs({}, { body: { stringValue: "" } }, { body: {} }), never);
    expect(sink.requests).toHaveLength(0);
    const raw = await start({ export_raw: true, disable_compression: true });
    await raw.exporter.send(logs({}, {}, { body: { kvlistValue: { values: attributes({ a: 1 }) } } }), never);
    expect(raw.bodies()).toEqual(['hello\n{"a":1}\n']);
    expect(raw.sink.requests[0]!.headers["content-encoding"]).toBeUndefined();
  });

  it("sends data points as metrics, with sums, counts and buckets of histograms", async () => {
    const { exporter, bodies } = await start();
    const at = { timeUnixNano: "1700000000000000000" };
    const dataPoints = [{ ...at, count: 3, sum: 12, explicitBounds: [5, 1e6], bucketCounts: [2, 1, 0] }];
    const quantiles = [{ ...at, count: 2, sum: 3, quantileValues: [{ quantile: 0.5, value: 1.5 }] }];
    await exporter.send(
      metrics(
        { "host.name": "h", zone: 1 },
        gauge("temp", 1.5, { room: "a" }),
        { name: "odd", sum: { aggregationTemporality: 2, dataPoints: [point(Number.NaN, { asDouble: "NaN" })] } },
        { name: "h", histogram: { aggregationTemporality: 2, dataPoints } },
        { name: "s", summary: { dataPoints: quantiles } },
      ),
      never,
    );
    const events = eventsOf(bodies()[0]!);
    expect(events[0]).toEqual({
      event: "metric",
      host: "h",
      source: "otel",
      time: 1_700_000_000.123,
      fields: { zone: "1", room: "a", metric_type: "Gauge", "metric_name:temp": 1.5 },
    });
    expect(events.slice(1).map(({ fields }) => fields)).toEqual([
      { zone: "1", metric_type: "Sum", "metric_name:odd": "NaN" },
      { zone: "1", metric_type: "Histogram", "metric_name:h_sum": 12 },
      { zone: "1", metric_type: "Histogram", "metric_name:h_count": 3 },
      { zone: "1", metric_type: "Histogram", "metric_name:h_bucket": 2, le: "5" },
      { zone: "1", metric_type: "Histogram", "metric_name:h_bucket": 3, le: "1e+06" },
      { zone: "1", metric_type: "Histogram", "metric_name:h_bucket": 3, le: "+Inf" },
      { zone: "1", metric_type: "Summary", "metric_name:s_sum": 3 },
      { zone: "1", metric_type: "Summary", "metric_name:s_count": 2 },
      { zone: "1", metric_type: "Summary", "metric_name:s_0.5": 1.5, qt: "0.5" },
    ]);
  });

  it("joins values with the same time and dimensions in the format for several metrics", async () => {
    const { exporter, bodies } = await start({ use_multi_metric_format: true });
    const room = { room: "a" };
    await exporter.send(
      metrics({}, gauge("temp", 1, room), gauge("noise", 2, room), gauge("temp", 3), gauge("temp", 4, room)),
      never,
    );
    expect(eventsOf(bodies()[0]!).map(({ fields }) => fields)).toEqual([
      { room: "a", metric_type: "Gauge", "metric_name:temp": 1, "metric_name:noise": 2 },
      { metric_type: "Gauge", "metric_name:temp": 3 },
      { room: "a", metric_type: "Gauge", "metric_name:temp": 4 },
    ]);
  });

  it("sends spans with all digits of their times", async () => {
    const { exporter, bodies } = await start();
    const events = [{ name: "retry", timeUnixNano: "1700000000223456789", attributes: attributes({ n: 1 }) }];
    const links = [{ traceId: "5b8efff798038103d269b633813fc60d", spanId: "eee19b7ec3c1b175", traceState: "a=b" }];
    await exporter.send(
      spans({ "service.name": "shop" }, { events, links, status: { code: 2, message: "no" } }),
      never,
    );
    const [body] = bodies();
    expect(body).toContain('"start_time":1700000000123456789,"end_time":1700000000623456789');
    expect(body).toContain('"timestamp":1700000000223456789');
    expect(eventsOf(body!.replaceAll("},{", "}, {"))).toMatchObject([
      {
        time: TIME,
        host: "unknown",
        fields: { "service.name": "shop" },
        event: {
          trace_id: "5b8efff798038103d269b633813fc60c",
          span_id: "eee19b7ec3c1b174",
          parent_span_id: "",
          name: "GET /cart",
          kind: "SPAN_KIND_SERVER",
          status: { code: "STATUS_CODE_ERROR", message: "no" },
          events: [{ name: "retry", attributes: { n: 1 } }],
          links: [{ trace_id: "5b8efff798038103d269b633813fc60d", span_id: "eee19b7ec3c1b175", trace_state: "a=b" }],
        },
      },
    ]);
  });

  it("uses the token of a resource, and does not send it as a field", async () => {
    const { sink, exporter, bodies } = await start();
    const token = { "com.splunk.hec.access_token": "t2" };
    await exporter.send(logs(token, {}), never);
    await exporter.send(metrics(token, gauge("temp", 1)), never);
    expect(sink.requests.map(({ headers }) => headers["authorization"])).toEqual(["Splunk t2", "Splunk t2"]);
    expect(bodies().join()).not.toContain("t2");
  });

  it("divides a batch by the length of requests, and refuses events that are too long for good", async () => {
    const { sink, exporter, bodies } = await start({ max_content_length_logs: 300, max_event_size: 200 });
    const body = (length: number) => ({ body: { stringValue: "x".repeat(length) } });
    const batch = logs({}, body(100), body(100), body(100), body(250));
    const refusal = await refusalOf(exporter.send(batch, never));
    expect([...refusal.undelivered!.marks]).toEqual([0, 0, 0, 1]);
    const alone = await refusalOf(exporter.send(logs({}, body(250)), never));
    expect(alone).toMatchObject({ kind: "permanent", category: "schema" });
    expect(alone.message).toContain("max_event_size");
    expect(bodies().every((each) => Buffer.byteLength(each) <= 300)).toBe(true);
    expect(bodies().flatMap((each) => eventsOf(each))).toHaveLength(3);
    expect(sink.requests.length).toBeGreaterThan(1);
  });

  it("drops logs or profiles if they are not wanted", async () => {
    const { sink, exporter } = await start({ log_data_enabled: false });
    await exporter.send(logs({}, {}), never);
    expect(sink.requests).toHaveLength(0);
  });

  it("holds the queue for a wrong token", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response) => response.writeHead(403).end('{"text":"Invalid token","code":4}');
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
  });

  it("refuses only the records of a resource whose token Splunk does not know or no header may have", async () => {
    const { sink, exporter } = await start();
    sink.respond = (response, { headers }) =>
      response.writeHead(headers.authorization === "Splunk unknown" ? 403 : 200).end();
    for (const token of ["unknown", "a\r\nX-Other: b"]) {
      const parts = [logs({}, {}), logs({ "com.splunk.hec.access_token": token }, {}), logs({}, {})];
      const batch = Batch.admit("logs", Buffer.concat(parts.map(({ bytes }) => bytes)));
      const refusal = await refusalOf(exporter.send(batch, never));
      expect([...refusal.undelivered!.marks]).toEqual([0, 1, 0]);
      expect(refusal).toMatchObject({ category: "schema", message: expect.stringContaining("access_token") });
    }
    expect(sink.requests.every(({ headers }) => headers["x-other"] === undefined)).toBe(true);
  });

  it("needs an endpoint and a token", () => {
    const problems = (config: object) =>
      splunkHecExporter.schema.safeParse(config).error!.issues.map(({ path }) => path.join("."));
    expect(problems({ endpoint: "http://s" })).toEqual(["token"]);
    expect(problems({ token: "t" })).toEqual(["endpoint"]);
    const none = { log_data_enabled: false, profiling_data_enabled: false };
    expect(problems({ endpoint: "http://s", token: "t", ...none })).toEqual(["log_data_enabled"]);
  });

  it("sends each record once, however often its long resource is repeated, and tells which were refused", async () => {
    const resource = { "host.name": "h", text: "x".repeat(500_000) };
    const bodiesOf = (all: string) => eventsOf(all).map(({ event }) => event);
    const records = Array.from({ length: 11 }, (_, i) => ({ body: { stringValue: `record ${i}` } }));
    const { exporter, bodies } = await start({ max_content_length_logs: 1_200_000, disable_compression: true });
    await exporter.send(logs(resource, ...records), never);
    expect(bodies().flatMap(bodiesOf)).toEqual(records.map((_, i) => `record ${i}`));
    expect(bodies().length).toBeGreaterThan(4);
    records[9] = { body: { stringValue: "y".repeat(800_000) } };
    const refused = await refusalOf(exporter.send(logs(resource, ...records), never));
    expect([...refused.undelivered!.marks]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
  });
});
