import { createSocket } from "node:dgram";
import { describe, expect, it, onTestFinished } from "vitest";
import { Batch, batchToJson, type ReceiverFactory } from "../../../src/plugin.js";
import { awsXrayReceiver } from "../../../src/receivers/aws-xray/component.js";
import { SegmentBatch } from "../../../src/receivers/aws-xray/segment-batch.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { startReceiver } from "../started-receiver.js";

const HEADER = '{"format":"json","version":1}';
const TRACE_ID = "1-5f84c7a1-e7d1852db8c4fd35d88bf49a";
const SEGMENT = { name: "shop", id: "defdfd9912dc5a56", start_time: 1.5, trace_id: TRACE_ID };

type JsonValue = {
  stringValue?: string;
  doubleValue?: number;
  intValue?: string;
  arrayValue?: { values: JsonValue[] };
};
type JsonAttributes = readonly { key: string; value: JsonValue }[];
interface JsonSpan {
  readonly [field: string]: unknown;
  readonly attributes?: JsonAttributes;
}

const packetOf = (segment: unknown) => Buffer.from(`${HEADER}\n${JSON.stringify(segment)}`);

function add(batch: SegmentBatch, packet: Buffer) {
  batch.add(packet);
  // Checks the bytes as if they came from outside.
  return JSON.parse(batchToJson(Batch.admit("traces", new Uint8Array(batch.finish().bytes)))).resourceSpans;
}

/** The resource and the spans of a segment. */
function translated(segment: object) {
  const [{ resource, scopeSpans }] = add(new SegmentBatch(), packetOf({ ...SEGMENT, ...segment }));
  return { resource: plain(resource.attributes), spans: scopeSpans[0].spans as JsonSpan[] };
}

function plain(attributes: JsonAttributes = []): Record<string, unknown> {
  const of = (value: JsonValue): unknown =>
    value.arrayValue ? value.arrayValue.values.map(of) : Object.values(value)[0];
  return Object.fromEntries(attributes.map(({ key, value }) => [key, of(value)]));
}

const attributesOf = (segment: object) => plain(translated(segment).spans[0]!.attributes);

async function start(config: object = {}) {
  const intake = new TestIntake();
  const factory = awsXrayReceiver as ReceiverFactory;
  const receiver = await startReceiver(factory, { endpoint: "127.0.0.1:0", ...config }, intake, silentLogger, "traces");
  onTestFinished(() => receiver.stop());
  const { port } = receiver as unknown as { port: number };
  const socket = createSocket("udp4");
  onTestFinished(() => void socket.close());
  const send = (packet: string | Buffer) =>
    new Promise<void>((resolve, reject) =>
      socket.send(packet, port, "127.0.0.1", (error) => (error ? reject(error) : resolve())),
    );
  return { intake, receiver, send };
}

const countIn = (intake: TestIntake) => intake.batches.reduce((sum, { count }) => sum + count, 0);

describe("the awsxray receiver", () => {
  it("makes a server span of a segment, and spans of its subsegments below it", () => {
    const grandchild = { name: "S3", id: "c".repeat(16), start_time: 3, namespace: "aws" };
    const { spans } = translated({
      end_time: 2.25,
      subsegments: [
        { name: "first", id: "a".repeat(16), start_time: 2, namespace: "remote", subsegments: [grandchild] },
        { name: "second", id: "b".repeat(16), start_time: 3 },
      ],
    });
    expect(spans.map(({ name, kind, parentSpanId }) => [name, kind, parentSpanId])).toEqual([
      ["shop", 2, undefined],
      ["first", 3, SEGMENT.id],
      ["S3", 3, "a".repeat(16)],
      ["second", 1, SEGMENT.id],
    ]);
    expect(spans[0]).toMatchObject({
      traceId: "5f84c7a1e7d1852db8c4fd35d88bf49a",
      spanId: SEGMENT.id,
      startTimeUnixNano: "1500000000",
      endTimeUnixNano: "2250000000",
    });
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(plain(spans[2]!.attributes)).toEqual({ "aws.service": "S3" });
  });

  it("takes the parent and the kind of a subsegment that was sent alone", () => {
    const alone = translated({ type: "SubSegment", parent_id: "53995c3f42cd8ad8", namespace: "remote" });
    expect(alone.spans[0]).toMatchObject({ kind: 3, parentSpanId: "53995c3f42cd8ad8" });
    expect(translated({ parent_id: "53995c3f42cd8ad8", namespace: "remote" }).spans[0]).toMatchObject({ kind: 2 });
    const http = { request: { client_ip: "10.0.0.1" } };
    const served = { name: "s", id: "a".repeat(16), start_time: 1, http };
    expect(translated({ subsegments: [served] }).spans[1]).toMatchObject({ kind: 2 });
    expect(translated({ parent_id: "0".repeat(16) }).spans[0]!["parentSpanId"]).toBeUndefined();
  });

  it("keeps times as the Collector rounds them", () => {
    expect(translated({ start_time: 1632145224.1234567 }).spans[0]!["startTimeUnixNano"]).toBe("1632145224123456768");
  });

  it("describes the service by its resource", () => {
    expect(translated({}).resource).toEqual({ "service.name": "shop", "cloud.provider": "unknown" });
    const aws = {
      account_id: "123",
      cloudwatch_logs: [{ log_group: "g1", arn: "a1" }, { log_group: "g2" }],
      ec2: { availability_zone: "z", instance_id: "i", instance_size: "m5", ami_id: "ami" },
      ecs: { container: "c", container_id: "cid" },
      elastic_beanstalk: { environment_name: "e", version_label: "v1", deployment_id: 32 },
      eks: { cluster_name: "k", pod: "p", container_id: "cid2" },
      xray: { sdk: "X-Ray for Go", sdk_version: "1.0" },
    };
    const service = { version: "7" };
    expect(translated({ aws, service, resource_arn: "arn:aws:x" }).resource).toEqual({
      "service.name": "shop",
      "cloud.provider": "aws",
      "cloud.account.id": "123",
      "aws.log.group.arns": ["a1"],
      "aws.log.group.names": ["g1", "g2"],
      "cloud.availability_zone": "z",
      "host.id": "i",
      "host.type": "m5",
      "host.image.id": "ami",
      "container.name": "c",
      "container.id": "cid2",
      "service.namespace": "e",
      "service.instance.id": "32",
      "service.version": "7",
      "k8s.cluster.name": "k",
      "k8s.pod.name": "p",
      "telemetry.sdk.name": "X-Ray for Go",
      "telemetry.sdk.version": "1.0",
      "telemetry.sdk.language": "Go",
      "aws.xray.resource_arn": "arn:aws:x",
    });
    const cause = { exceptions: [{ id: "1" }] };
    expect(translated({ aws, cause }).resource["telemetry.sdk.language"]).toBe("java");
  });

  it("turns members about the request, AWS and the user into attributes", () => {
    const request = { method: "GET", url: "http://a/", user_agent: "u", client_ip: "10.0.0.1", x_forwarded_for: true };
    expect(
      attributesOf({
        in_progress: true,
        user: "me",
        traced: false,
        http: { request, response: { status: 200, content_length: 12.7 } },
        aws: { operation: "Get", region: "eu", request_id: "r", queue_url: "q", table_name: "t", retries: 2 },
      }),
    ).toEqual({
      "aws.xray.inprogress": true,
      "enduser.id": "me",
      "http.method": "GET",
      "http.client_ip": "10.0.0.1",
      "http.user_agent": "u",
      "http.url": "http://a/",
      "aws.xray.x_forwarded_for": true,
      "http.status_code": "200",
      "http.response_content_length": "12",
      "aws.operation": "Get",
      "aws.region": "eu",
      "aws.request_id": "r",
      "aws.queue_url": "q",
      "aws.table_name": "t",
      "aws.xray.retries": "2",
      "aws.xray.traced": false,
    });
  });

  it.each([
    [100, undefined],
    [398, undefined],
    [399, 2],
    [500, 2],
    [99, 2],
  ])("gives a response with status %d the status code %s", (status, code) => {
    const { spans } = translated({ http: { response: { status } } });
    expect((spans[0]!["status"] as { code?: number } | undefined)?.code).toBe(code);
  });

  it("turns a cause into an error, with an event for each exception", () => {
    const stack = [{ label: "f", path: "a.js", line: 3 }, {}];
    const exception = { id: "e1", message: "m", type: "T", remote: true, truncated: 1, skipped: 2, cause: "e0", stack };
    const [span] = translated({ cause: { exceptions: [exception, { id: "e2" }] } }).spans;
    expect(span!["status"]).toEqual({ code: 2 });
    const events = span!["events"] as { name: string; attributes: JsonAttributes }[];
    expect(events.map(({ name }) => name)).toEqual(["exception", "exception"]);
    expect(plain(events[0]!.attributes)).toEqual({
      "aws.xray.exception.id": "e1",
      "exception.message": "m",
      "exception.type": "T",
      "aws.xray.exception.remote": true,
      "aws.xray.exception.truncated": "1",
      "aws.xray.exception.skipped": "2",
      "aws.xray.exception.cause": "e0",
      "exception.stacktrace": "T: m\n\tat f(a.js: 3)\n\tat (: <unknown>)\n",
    });
    expect(translated({ cause: "de4e9f5a7e1c1234" }).spans[0]!["status"]).toEqual({
      code: 2,
      message: "de4e9f5a7e1c1234",
    });
  });

  it.each([
    ["mysql://host:3306/shop?tls=1", "mysql://host:3306", "shop"],
    ["jdbc:postgresql://host/a/b", "jdbc:postgresql://host", "a/b"],
    ["jdbc:h2:shop", "jdbc:h2:", "shop"],
    ["mysql://host/", "mysql:", "//host/"],
    ["a:b:", "a:", "b:"],
  ])("splits the URL %s of a database", (url, server, database) => {
    const attributes = attributesOf({ sql: { url, database_type: "d", sanitized_query: "q", user: "u" } });
    expect(attributes).toEqual({
      "db.connection_string": server,
      "db.name": database,
      "db.system": "d",
      "db.statement": "q",
      "db.user": "u",
    });
  });

  it("keeps annotations as attributes and metadata as JSON", () => {
    const annotations = { a: "x", n: 1, b: true, o: {} };
    const metadata = { default: { z: 1, a: "<b>", list: [{ y: 1, x: 2 }] }, none: null };
    const [span] = translated({ annotations, metadata }).spans;
    expect(plain(span!.attributes)).toEqual({
      "aws.xray.annotations": ["a", "n", "b", "o"],
      a: "x",
      n: 1,
      b: true,
      "aws.xray.metadata.default": '{"a":"\\u003cb\\u003e","list":[{"x":2,"y":1}],"z":1}',
      "aws.xray.metadata.none": "null",
    });
    expect(span!.attributes!.find(({ key }) => key === "n")!.value).toEqual({ doubleValue: 1 });
  });

  it.each([
    ["no line feed", Buffer.from(HEADER), "no line feed"],
    ["another header", Buffer.from(`{"format":"json","version":2}\n{}`), "the header is not"],
    ["a header that is no JSON", Buffer.from("x\n{}"), "the header is no JSON"],
    ["no segment", Buffer.from(`${HEADER}\n`), "the segment is no JSON"],
    ["a list", packetOf([]), "the segment is not an object"],
    ["no name", packetOf({ ...SEGMENT, name: null }), "name is missing"],
    ["no id", packetOf({ ...SEGMENT, id: undefined }), "id is missing"],
    ["no trace", packetOf({ ...SEGMENT, trace_id: undefined }), "trace_id is missing"],
    ["no start", packetOf({ ...SEGMENT, start_time: undefined }), "start_time is missing"],
    ["a wrong trace", packetOf({ ...SEGMENT, trace_id: TRACE_ID.replace("f", "g") }), "trace_id has a wrong format"],
    ["a wrong id", packetOf({ ...SEGMENT, id: "abc" }), "id has a wrong format"],
    ["a wrong parent", packetOf({ ...SEGMENT, parent_id: "abc" }), "id has a wrong format"],
    ["a wrong time", packetOf({ ...SEGMENT, start_time: -1 }), "start_time is not a time"],
    ["a wrong namespace", packetOf({ ...SEGMENT, namespace: "x" }), "namespace is not"],
    ["a text that is none", packetOf({ ...SEGMENT, user: 7 }), "user is not a text"],
    ["a wrong subsegment", packetOf({ ...SEGMENT, subsegments: [{ name: "a" }] }), "start_time is missing"],
    ["a wrong URL", packetOf({ ...SEGMENT, sql: { url: "x" } }), "no name of a database"],
    ["a wrong cause", packetOf({ ...SEGMENT, cause: 7 }), "cause is not an object"],
    ["wrong metadata", packetOf({ ...SEGMENT, metadata: { a: 1 } }), "metadata is not an object"],
    [
      "more values than a span may have",
      packetOf({ ...SEGMENT, annotations: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [i, 1])) }),
      "too many values",
    ],
  ])("refuses %s, and keeps the segments before it", (_, packet, reason) => {
    const batch = new SegmentBatch();
    batch.add(packetOf(SEGMENT));
    const before = batch.byteLength;
    expect(() => batch.add(packet)).toThrow(reason);
    expect([batch.count, batch.byteLength]).toEqual([1, before]);
  });

  it("takes thousands of nested subsegments, and texts that are not well-formed", () => {
    const head = JSON.stringify(SEGMENT).slice(0, -1);
    const inner = JSON.stringify({ ...SEGMENT, name: "\ud800" });
    const nested = `${`${head},"subsegments":[`.repeat(3000)}${inner}${"]}".repeat(3000)}`;
    const [{ scopeSpans }] = add(new SegmentBatch(), Buffer.from(`${HEADER}\n${nested}`));
    expect(scopeSpans[0].spans).toHaveLength(3001);
    expect(scopeSpans[0].spans.at(-1).name).toBe("\ufffd");
    const deep = `${HEADER}\n${head},"metadata":{"a":${'{"a":'.repeat(9000)}1${"}".repeat(9002)}`;
    expect(() => new SegmentBatch().add(Buffer.from(deep))).toThrow("nested too deep");
  });

  it("hands in the spans of packets, and skips packets that it cannot read", async () => {
    const { intake, send } = await start();
    await send("x");
    for (let i = 0; i < 20; i++) await send(packetOf(SEGMENT));
    await expect.poll(() => countIn(intake)).toBe(20);
    expect(JSON.parse(batchToJson(intake.batches[0]!)).resourceSpans[0].scopeSpans[0].spans[0].name).toBe("shop");
  });

  it("hands in what has arrived when it is stopped", async () => {
    const { intake, receiver, send } = await start();
    await send(packetOf(SEGMENT));
    await expect.poll(() => countIn(intake)).toBe(1);
    await receiver.stop();
    expect(countIn(intake)).toBe(1);
  });

  it("says that it does not fetch sampling rules, and refuses other transports", () => {
    const parse = (config: object) => awsXrayReceiver.schema.parse(config);
    expect(parse({ proxy_server: { endpoint: "0.0.0.0:2000" } })).toMatchObject({ endpoint: "127.0.0.1:2000" });
    expect(() => parse({ transport: "tcp" })).toThrow("udp");
  });
});

describe("the awsxray receiver as a receiver", () => {
  const config = (port: number) => {
    const timer = setInterval(() => {
      if (port === 0) return;
      const socket = createSocket("udp4");
      socket.on("error", () => {}).send(packetOf(SEGMENT), port, "127.0.0.1", () => socket.close());
    }, 5);
    onTestFinished(() => clearInterval(timer));
    return { endpoint: `127.0.0.1:${port}` };
  };
  for (const { name, run } of receiverConformance(awsXrayReceiver as ReceiverFactory, { config, patienceMs }))
    it(name, run);
});
