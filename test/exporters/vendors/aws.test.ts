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
        { severityText: "INFO", severityNumber: 9, attributes: { user: "u" }, flags: 1, droppedAttributesCount: 2 },
        { timeUnixNano: "1699999999000000000", body: { stringValue: "older" } },
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
    expect(logEvents.map(({ timestamp }) => timestamp)).toEqual([1_699_999_999_000, 1_700_000_000_123]);
    expect(JSON.parse(logEvents[1]!.message)).toEqual({
      body: "hello",
      severity_number: 9,
      severity_text: "INFO",
      dropped_attributes_count: 2,
      flags: 1,
      attributes: { user: "u" },
      resource: RESOURCE,
    });
    expect(JSON.parse(logEvents[0]!.message)).toEqual({ body: "older", resource: RESOURCE });
    const { authorization, "x-amzn-logs-format": format } = sink.requests[4]!.headers;
    expect(format).toBe("json/emf");
    expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-west-1\/logs\/aws4_request/);
    expect(authorization).toContain("SignedHeaders=content-type;host;x-amz-date;x-amz-target");
  });

  it("puts events that are more than 24 hours apart into requests of their own", async () => {
    const { sink, exporter, bodies } = await recorded(awsCloudWatchLogsExporter, config);
    const at = (seconds: number) => ({ timeUnixNano: `${seconds}000000000` });
    await exporter.send(logs({}, at(1_700_086_401), at(1_700_000_000), at(1_700_086_400)), never);
    const times = put(bodies(), sink).map(({ logEvents }) => logEvents.map(({ timestamp }) => timestamp / 1000));
    expect(times).toEqual([[1_700_000_000, 1_700_086_400], [1_700_086_401]]);
  });

  it("sends bodies alone if asked, and a blank for an empty one", async () => {
    const { sink, exporter, bodies } = await recorded(awsCloudWatchLogsExporter, (url) => ({
      ...config(url),
      raw_log: true,
    }));
    const map = { kvlistValue: { values: attributes({ a: 1 }) } };
    await exporter.send(
      logs({}, { body: { stringValue: 'say "é"' } }, { body: { stringValue: "" } }, { body: map }),
      never,
    );
    expect(put(bodies(), sink)[0]!.logEvents.map(({ message }) => message)).toEqual(['say "é"', " ", '{"a":1}']);
  });

  it("refuses only bodies that are longer than CloudWatch takes", async () => {
    const { exporter, sink, bodies } = await recorded(awsCloudWatchLogsExporter, config);
    const body = (length: number) => ({ body: { stringValue: "x".repeat(length) } });
    const refusal = await refusalOf(exporter.send(logs({}, body(1), body(2 ** 20 + 1), body(2 ** 20 - 100)), never));
    expect(refusal.message).toContain("1048577 bytes");
    expect([...refusal.undelivered!.marks]).toEqual([0, 1, 0]);
    expect(put(bodies(), sink).flatMap(({ logEvents }) => logEvents)).toHaveLength(2);
    const alone = await refusalOf(exporter.send(logs({}, body(2 ** 20 + 1)), never));
    expect(alone).toMatchObject({ kind: "permanent", category: "schema" });
  });

  it("makes names that CloudWatch takes of what resources say", async () => {
    const { sink, exporter, bodies } = await recorded(awsCloudWatchLogsExporter, (endpoint) => ({
      ...{ endpoint, region: "eu-west-1", log_group_name: "/a/{ServiceName}", log_stream_name: "{PodName} {NodeName}" },
    }));
    await exporter.send(logs({ "service.name": "my cart!", pod: "p:1", "k8s.node.name": "" }, {}), never);
    expect(put(bodies(), sink)[0]).toMatchObject({ logGroupName: "/a/my_cart_", logStreamName: "p_1 undefined" });
  });

  it.each([
    ["a retention that CloudWatch has not", { log_retention: 8 }, "log_retention"],
    ["an unknown placeholder", { log_group_name: "/a/{Service}" }, "log_group_name"],
    ["a blank in a group's name", { log_group_name: "a b" }, "log_group_name"],
    ["a colon in a stream's name", { log_stream_name: "a:b" }, "log_stream_name"],
    ["a tag with a bad character", { tags: { "a!": "b" } }, "tags.a!"],
  ])("does not take %s", (_name, more, path) => {
    const problems = awsCloudWatchLogsExporter.schema.safeParse({ ...config("http://h"), ...more }).error!.issues;
    expect(problems.map((issue) => issue.path.join("."))).toEqual([path]);
  });

  it.each([
    ["too old", { tooOldLogEventEndIndex: 1 }, [0, 1, 0]],
    ["too old for the group", { expiredLogEventEndIndex: 2 }, [1, 1, 0]],
    ["too new", { tooNewLogEventStartIndex: 2 }, [0, 0, 1]],
  ])("keeps events that are %s as dead letters, and does not send the others again", async (_name, info, marks) => {
    const { sink, exporter } = await recorded(awsCloudWatchLogsExporter, config);
    sink.respond = (response, request) =>
      response.end(
        String(request.headers["x-amz-target"]).endsWith("PutLogEvents")
          ? JSON.stringify({ rejectedLogEventsInfo: info })
          : "{}",
      );
    const batch = logs({}, {}, { timeUnixNano: "1699999999000000000" }, { timeUnixNano: "1700000001000000000" });
    const refusal = await refusalOf(exporter.send(batch, never));
    expect([...refusal.undelivered!.marks]).toEqual(marks);
    expect(refusal).toMatchObject({ category: "business", message: expect.stringMatching(/too (old|far)/) });
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
    answers("OperationAbortedException");
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

  it("keeps labels that CloudWatch does not take as dimensions only as fields", async () => {
    const { sink, exporter, bodies } = await start({ dimension_rollup_option: "NoDimensionRollup" });
    await exporter.send(metrics({}, gauge("a", 1, { room: "x", empty: "", long: "v".repeat(1025) })), never);
    const [{ _aws: directive, ...fields } = expect.unreachable()] = documentsIn(bodies(), sink);
    expect(directive).toMatchObject({ CloudWatchMetrics: [{ Dimensions: [["room", "OTelLib"]] }] });
    expect(fields).toMatchObject({ a: 1, room: "x", empty: "", long: "v".repeat(1025) });
  });

  it.each([
    ["By", "Bytes"],
    ["Count", "Count"],
    ["Kilobytes/Second", "Kilobytes/Second"],
    ["{request}", undefined],
  ])("sends the unit %s as %s", async (unit, expected) => {
    const { sink, exporter, bodies } = await start();
    await exporter.send(metrics({}, { ...gauge("a", 1), unit }), never);
    const [{ _aws: directive } = expect.unreachable()] = documentsIn(bodies(), sink);
    const { CloudWatchMetrics: list } = directive as { CloudWatchMetrics: { Metrics: { Unit?: string }[] }[] };
    expect(list[0]!.Metrics[0]!.Unit).toBe(expected);
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
          attributes: { "peer.service": "db!,", "aws.operation": "Get" },
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
      origin: "AWS::ECS::Container",
      annotations: { "user.id": "u1" },
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
      aws: { operation: "Get" },
    });
    expect(subsegment!["metadata"]).toEqual({ default: { "peer.service": "db!,", "aws.operation": "Get" } });
  });

  it.each([
    [{}, undefined, { n: 1, list: ["a"], "otel.resource.service.name": "cart" }],
    [{ indexed_attributes: ["n", "list"] }, { n: 1 }, { list: ["a"], "otel.resource.service.name": "cart" }],
    [
      { indexed_attributes: ["otel.resource.service.name"] },
      { "otel.resource.service.name": "cart" },
      { n: 1, list: ["a"] },
    ],
    [{ index_all_attributes: true }, { n: 1, "otel.resource.service.name": "cart" }, { list: ["a"] }],
  ])("makes annotations and metadata with %j", async (more, annotations, metadata) => {
    const { exporter, bodies } = await start(more);
    await exporter.send(spans({ "service.name": "cart" }, { attributes: { n: 1, list: ["a"] } }), never);
    const [segment = expect.unreachable()] = documentsIn(bodies()[0]!);
    expect(segment["annotations"]).toEqual(annotations);
    expect(segment["metadata"]).toEqual({ default: metadata });
  });

  it.each([
    [
      {},
      { n: 1 },
      { default: { list: ["a"], "aws.xray.metadata.bad": "[1]", z: "9", "otel.resource.service.name": "cart" } },
    ],
    [
      { index_all_attributes: true },
      { n: 1, "aws.xray.metadata.bad": "[1]", "aws.xray.metadata.default": '{"z":"9"}' },
      { default: { list: ["a"] } },
    ],
  ])("restores annotations and metadata of a received segment with %j", async (more, annotations, metadata) => {
    const { exporter, bodies } = await start(more);
    const received = {
      "aws.xray.annotations": ["n", "absent"],
      "aws.xray.metadata.default": '{"z":"9"}',
      "aws.xray.metadata.bad": "[1]",
    };
    await exporter.send(spans({ "service.name": "cart" }, { attributes: { n: 1, list: ["a"], ...received } }), never);
    const own = { "aws.xray.metadata.own": '{"a":{"b":1}}' };
    await exporter.send(spans({}, { attributes: own }), never);
    const [segment = expect.unreachable()] = documentsIn(bodies()[0]!);
    expect(segment["annotations"]).toMatchObject(annotations);
    expect(segment["metadata"]).toEqual(metadata);
    const [other = expect.unreachable()] = documentsIn(bodies()[1]!);
    const isAll = "index_all_attributes" in more;
    expect(isAll ? other["annotations"] : other["metadata"]).toEqual(isAll ? own : { own: { a: { b: 1 } } });
  });

  it("gives exceptions ids of their own, and spans that have not ended no end", async () => {
    const { exporter, bodies } = await start();
    const event = (message: string) => ({
      name: "exception",
      attributes: attributes({ "exception.type": "E", "exception.message": message }),
    });
    await exporter.send(spans({}, { endTimeUnixNano: "0", events: [event("a"), event("b")] }), never);
    const [segment = expect.unreachable()] = documentsIn(bodies()[0]!);
    expect(segment).toMatchObject({ in_progress: true });
    expect(segment).not.toHaveProperty("end_time");
    const { exceptions } = segment["cause"] as { exceptions: { id: string; message: string }[] };
    expect(exceptions.map(({ message }) => message)).toEqual(["a", "b"]);
    const ids = new Set([segment["id"], ...exceptions.map(({ id }) => id)]);
    expect(ids.size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each([
    [
      { "url.scheme": "https", "server.address": "h", "server.port": 443, "url.path": "/a", "url.query": "b=1" },
      "https://h/a?b=1",
    ],
    [{ "server.address": "h", "server.port": 8080, "url.path": "/a" }, "http://h:8080/a"],
    [{ "url.full": "https://x/y", "server.address": "h" }, "https://x/y"],
    [{ "url.path": "/a" }, "/a"],
  ])("tells the URL of %j", async (own, url) => {
    const { exporter, bodies } = await start();
    await exporter.send(spans({}, { attributes: { "http.request.method": "GET", ...own } }), never);
    expect(documentsIn(bodies()[0]!)[0]!["http"]).toEqual({ request: { method: "GET", url } });
  });

  it("divides many spans into requests", async () => {
    const { sink, exporter } = await start();
    await exporter.send(spans({}, ...Array.from({ length: 120 }, () => ({}))), never);
    expect(sink.requests).toHaveLength(3);
  });

  describe("when X-Ray could not process some segments", () => {
    const ids = ["0000000000000001", "0000000000000002", "0000000000000003"];
    const three = () => spans({}, ...ids.map((spanId) => ({ spanId })));
    const answering = async (...segments: object[]) => {
      const { sink, exporter } = await start();
      sink.respond = (response) => response.end(JSON.stringify({ UnprocessedTraceSegments: segments }));
      return refusalOf(exporter.send(three(), never));
    };

    it("keeps only those as dead letters", async () => {
      const refusal = await answering({ Id: ids[1], ErrorCode: "InvalidName", Message: "bad name" });
      expect([...refusal.undelivered!.marks]).toEqual([0, 1, 0]);
      expect(refusal).toMatchObject({ category: "schema", message: expect.stringContaining("InvalidName bad name") });
    });

    it("sends only those again if the fault is not theirs", async () => {
      const refusal = await answering({ Id: ids[2], ErrorCode: "Throttled" });
      expect(refusal.kind).toBe("transient");
      expect([...refusal.undelivered!.marks]).toEqual([0, 0, 1]);
    });

    it("refuses the whole request if it does not say which", async () => {
      const refusal = await answering({ ErrorCode: "MissingId", Message: "Invalid segment" });
      expect(refusal).toMatchObject({ kind: "permanent", category: "schema" });
      expect(refusal.undelivered).toBeUndefined();
    });
  });
});
