import { describe, expect, it } from "vitest";
import { awsCloudWatchLogsExporter } from "../../../src/exporters/vendors/awscloudwatchlogs/component.js";
import { awsEmfExporter } from "../../../src/exporters/vendors/awsemf/component.js";
import { awsXrayExporter } from "../../../src/exporters/vendors/awsxray/component.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { never, refusalOf, type Sink } from "../harness.js";
import { attributes, logs, metrics, point, recorded, spans } from "./recorded.js";

useEnvironment({ AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: "secret" });

const RESOURCE = { "service.name": "cart", "service.namespace": "shop", "k8s.cluster.name": "c1" };
const actionOf = ({ headers }: Sink["requests"][number]) => String(headers["x-amz-target"]).split(".")[1];
const put = (bodies: string[], sink: Sink) =>
  bodies
    .filter((_, i) => actionOf(sink.requests[i]!) === "PutLogEvents")
    .map((body) => JSON.parse(body) as { logEvents: { timestamp: number; message: string }[]; [key: string]: unknown });

/** A server whose log groups do not exist yet. */
function answerAsNew(sink: Sink): void {
  let hasGroup = false;
  sink.respond = (response, request) => {
    const action = String(request.headers["x-amz-target"]);
    if (action.endsWith("CreateLogGroup")) hasGroup = true;
    if (action.endsWith("CreateLogStream") && !hasGroup)
      return response.writeHead(400).end('{"__type":"ResourceNotFoundException","message":"no such group"}');
    return response.end("{}");
  };
}

describe("the awscloudwatchlogs exporter", () => {
  const config = (endpoint: string) => ({
    ...{ endpoint, region: "eu-west-1", log_group_name: "/app/{ServiceName}", log_stream_name: "s", log_retention: 7 },
  });

  it("makes missing groups and streams, and puts records as JSON in the order of time", async () => {
    const { sink, exporter, bodies } = await recorded(awsCloudWatchLogsExporter, config);
    answerAsNew(sink);
    await exporter.send(
      logs(
        RESOURCE,
        { severityText: "INFO", severityNumber: 9, attributes: { user: "u" } },
        { timeUnixNano: "1600000000000000000", body: { stringValue: "older" } },
      ),
      never,
    );
    expect(sink.requests.map(actionOf)).toEqual([
      "CreateLogStream",
      "CreateLogGroup",
      "PutRetentionPolicy",
      "CreateLogStream",
      "PutLogEvents",
    ]);
    const [{ logEvents, ...names } = expect.unreachable()] = put(bodies(), sink);
    expect(names).toEqual({ logGroupName: "/app/cart", logStreamName: "s" });
    expect(logEvents.map(({ timestamp }) => timestamp)).toEqual([1_600_000_000_000, 1_700_000_000_123]);
    expect(JSON.parse(logEvents[1]!.message)).toEqual({
      body: "hello",
      severity_number: 9,
      severity_text: "INFO",
      attributes: { user: "u" },
      resource: RESOURCE,
    });
    const { authorization } = sink.requests[4]!.headers;
    expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-west-1\/logs\/aws4_request/);
    expect(authorization).toContain("SignedHeaders=content-type;host;x-amz-date;x-amz-target");
  });

  it("keeps events that are too old as dead letters, and does not send the others again", async () => {
    const { sink, exporter } = await recorded(awsCloudWatchLogsExporter, config);
    sink.respond = (response, request) =>
      response.end(
        String(request.headers["x-amz-target"]).endsWith("PutLogEvents")
          ? '{"rejectedLogEventsInfo":{"tooOldLogEventEndIndex":1}}'
          : "{}",
      );
    const batch = logs({}, {}, { timeUnixNano: "1000000000" }, {});
    const refusal = await refusalOf(exporter.send(batch, never));
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 0]);
    expect(refusal.message).toContain("too old");
  });

  it("tries again when it is throttled, holds the queue for bad keys, and makes a deleted stream again", async () => {
    const { sink, exporter } = await recorded(awsCloudWatchLogsExporter, config);
    const answers = (type: string) => {
      sink.respond = (response, request) =>
        String(request.headers["x-amz-target"]).endsWith("PutLogEvents")
          ? response.writeHead(400).end(`{"__type":"${type}","message":"m"}`)
          : response.end("{}");
    };
    answers("ThrottlingException");
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ kind: "transient" });
    answers("UnrecognizedClientException");
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ category: "integration" });
    answers("InvalidParameterException");
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({
      kind: "permanent",
      category: "schema",
    });
    answers("ResourceNotFoundException");
    expect(await refusalOf(exporter.send(logs({}, {}), never))).toMatchObject({ kind: "transient" });
    sink.requests.length = 0;
    sink.respond = (response) => response.end("{}");
    await exporter.send(logs({}, {}), never);
    expect(sink.requests.map(actionOf)).toEqual(["CreateLogStream", "PutLogEvents"]);
  });
});

describe("the awsemf exporter", () => {
  const start = (more: object = {}) =>
    recorded(awsEmfExporter, (endpoint) => ({ endpoint, region: "eu-west-1", ...more }));
  const gauge = (name: string, value: number, own: object = {}) => ({
    name,
    unit: "ms",
    gauge: { dataPoints: [point(value, { attributes: attributes(own) })] },
  });
  const documentsIn = (bodies: string[], sink: Sink) =>
    put(bodies, sink).flatMap(({ logEvents }) =>
      logEvents.map(({ message }) => JSON.parse(message) as Record<string, unknown>),
    );

  it("joins metrics with the same labels and time, with sets of dimensions", async () => {
    const { sink, exporter, bodies } = await start();
    await exporter.send(
      metrics(RESOURCE, gauge("a", 1, { room: "x" }), gauge("b", 2.5, { room: "x" }), gauge("a", 3, { room: "y" })),
      never,
    );
    expect(put(bodies(), sink)[0]).toMatchObject({ logGroupName: "/metrics/shop/cart", logStreamName: "otel-stream" });
    const documents = documentsIn(bodies(), sink);
    expect(documents).toHaveLength(2);
    expect(documents[0]).toEqual({
      _aws: {
        Timestamp: 1_700_000_000_123,
        CloudWatchMetrics: [
          {
            Namespace: "shop/cart",
            Dimensions: [["room", "OTelLib"], ["OTelLib"], ["OTelLib", "room"]],
            Metrics: [
              { Name: "a", Unit: "Milliseconds" },
              { Name: "b", Unit: "Milliseconds" },
            ],
          },
        ],
      },
      room: "x",
      OTelLib: "meter",
      a: 1,
      b: 2.5,
    });
  });

  it("keeps metrics that no declaration wants as fields, without making metrics of them", async () => {
    const { sink, exporter, bodies } = await start({
      namespace: "n",
      metric_declarations: [{ dimensions: [["room"], ["missing"]], metric_name_selectors: ["^a$"] }],
    });
    await exporter.send(metrics({}, gauge("a", 1, { room: "x" }), gauge("b", 2, { room: "x" })), never);
    const [{ _aws: directive, ...fields } = expect.unreachable()] = documentsIn(bodies(), sink);
    expect(directive).toMatchObject({
      CloudWatchMetrics: [{ Namespace: "n", Dimensions: [["room"]], Metrics: [{ Name: "a", Unit: "Milliseconds" }] }],
    });
    expect(fields).toMatchObject({ a: 1, b: 2 });
  });

  it("sends increases of cumulative sums, and statistics of histograms", async () => {
    const { sink, exporter, bodies } = await start({ dimension_rollup_option: "NoDimensionRollup" });
    const batch = (seconds: string, value: number) => {
      const timeUnixNano = `${seconds}000000000`;
      const sum = { aggregationTemporality: 2, isMonotonic: true, dataPoints: [point(value, { timeUnixNano })] };
      const dataPoints = [
        { timeUnixNano, count: 2, sum: 7, min: 3, max: 4, explicitBounds: [5], bucketCounts: [2, 0] },
      ];
      return metrics({}, { name: "s", sum }, { name: "h", histogram: { aggregationTemporality: 1, dataPoints } });
    };
    await exporter.send(batch("1700000000", 10), never);
    await exporter.send(batch("1700000060", 15), never);
    const documents = documentsIn(bodies(), sink).map(({ s, h }) => ({ s, h }));
    const h = { Max: 4, Min: 3, Count: 2, Sum: 7 };
    expect(documents).toEqual([{ h }, { s: 5, h }]);
  });
});

describe("the awsxray exporter", () => {
  const start = (more: object = {}) =>
    recorded(awsXrayExporter, (endpoint) => ({ endpoint, region: "eu-west-1", ...more }));
  const documentsIn = (body: string) =>
    (JSON.parse(body) as { TraceSegmentDocuments: string[] }).TraceSegmentDocuments.map(
      (text) => JSON.parse(text) as Record<string, unknown>,
    );

  it("sends server spans as segments and the others as subsegments", async () => {
    const { sink, exporter, bodies } = await start({ indexed_attributes: ["user.id"] });
    await exporter.send(
      spans(
        { "service.name": "cart", "cloud.platform": "aws_ecs" },
        { attributes: { "http.request.method": "GET", "http.response.status_code": 503, "user.id": "u1", extra: [1] } },
        {
          kind: 3,
          parentSpanId: "eee19b7ec3c1b174",
          spanId: "0000000000000001",
          attributes: { "peer.service": "db!" },
        },
      ),
      never,
    );
    expect(sink.requests[0]!.path).toBe("/TraceSegments");
    expect(sink.requests[0]!.headers.authorization).toContain("/eu-west-1/xray/aws4_request");
    const [segment, subsegment] = documentsIn(bodies()[0]!);
    expect(segment).toEqual({
      name: "cart",
      id: "eee19b7ec3c1b174",
      trace_id: "1-5b8efff7-98038103d269b633813fc60c",
      start_time: 1_700_000_000.123456,
      end_time: 1_700_000_000.623456,
      fault: true,
      http: { request: { method: "GET" }, response: { status: 503 } },
      aws: {},
      origin: "AWS::ECS::Container",
      annotations: { user_id: "u1" },
      metadata: {
        default: {
          "http.request.method": "GET",
          "http.response.status_code": 503,
          extra: [1],
          "otel.resource.service.name": "cart",
          "otel.resource.cloud.platform": "aws_ecs",
        },
      },
    });
    expect(subsegment).toMatchObject({
      name: "db",
      type: "subsegment",
      parent_id: "eee19b7ec3c1b174",
      namespace: "remote",
    });
  });

  it("divides many spans into requests, and refuses what X-Ray could not process", async () => {
    const { sink, exporter } = await start();
    await exporter.send(spans({}, ...Array.from({ length: 120 }, () => ({}))), never);
    expect(sink.requests).toHaveLength(3);
    sink.respond = (response) =>
      response.end('{"UnprocessedTraceSegments":[{"Id":"1","ErrorCode":"ParseError","Message":"bad"}]}');
    expect(await refusalOf(exporter.send(spans({}, {}), never))).toMatchObject({ kind: "permanent" });
  });
});
