import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { postSpansOf } from "../../../../src/exporters/jaeger/post-spans.js";
import { type Batch, batchFromJson, batchToJson, Refusal } from "../../../../src/plugin.js";
import { type JaegerReceiver, jaegerReceiver } from "../../../../src/receivers/otlp/jaeger/component.js";
import { JAEGER_GRPC_PATH } from "../../../../src/runtime/traces/jaeger-proto.js";
import { type ClientAnswer, receiverConformance, TestIntake } from "../../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../../support/limits.js";
import { decodeJaeger, encodeJaeger } from "../../../support/telemetry/jaeger-proto.js";
import { startReceiver } from "../../started-receiver.js";
import { GrpcJsClient } from "../grpc-client.js";

/** Recorded requests of the Python clients opentelemetry-exporter-jaeger-thrift 1.21 and jaeger-client 4.8. */
const PACKETS: Readonly<Record<"compact" | "http" | "legacyCompact", string[]>> = JSON.parse(
  readFileSync(new URL("packets.json", import.meta.url), "utf8"),
);
const packets = (name: keyof typeof PACKETS) => PACKETS[name].map((each) => Buffer.from(each, "base64"));

const ANYWHERE = { endpoint: "127.0.0.1:0" };
const TRACE = "0af7651916cd43dd8448eb211c80319c";

async function start(protocols: object) {
  const intake = new TestIntake();
  const receiver = (await startReceiver(jaegerReceiver, { protocols }, intake, undefined, "traces")) as JaegerReceiver;
  onTestFinished(() => receiver.stop());
  return { intake, receiver, ports: receiver.ports };
}

const post = (port: number, body: Buffer, headers: Record<string, string> = {}, path = "/api/traces") =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    body: new Uint8Array(body),
    headers: { "content-type": "application/x-thrift", ...headers },
  });

async function sendUdp(port: number, ...list: readonly Buffer[]): Promise<void> {
  const socket = createSocket("udp4");
  for (const packet of list)
    await new Promise<void>((resolve, reject) =>
      socket.send(packet, port, "127.0.0.1", (error) => (error ? reject(error) : resolve())),
    );
  socket.close();
}

/** A call of Jaeger's agent around a batch, in thrift's binary protocol. */
const binaryMessage = (batch: Buffer, name = "emitBatch", head = Buffer.from("80010004", "hex")) => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(name.length);
  return Buffer.concat([
    head,
    length,
    Buffer.from(name),
    Buffer.alloc(4),
    Buffer.from("0c0001", "hex"),
    batch,
    Buffer.alloc(1),
  ]);
};

/** All spans in the order of their names, each with its scope and resource. */
function spansOf(batches: readonly Batch[]) {
  const all = batches.flatMap((batch) =>
    JSON.parse(batchToJson(batch)).resourceSpans.flatMap((container: { resource: object; scopeSpans: object[] }) =>
      container.scopeSpans.flatMap((scoped) =>
        (scoped as { spans: { name: string }[] }).spans.map((span) => ({
          ...span,
          scope: (scoped as { scope?: object }).scope,
          resource: container.resource,
        })),
      ),
    ),
  );
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

const OTEL_SPANS = [
  {
    traceId: TRACE,
    spanId: "b7ad6b7169203333",
    parentSpanId: "b7ad6b7169203332",
    name: "grüße",
    kind: 3,
    startTimeUnixNano: "1700000000123457000",
    endTimeUnixNano: "1700000000128456000",
    scope: { name: "shop", version: "1.2" },
    status: { code: 2, message: "boom" },
    events: [
      {
        timeUnixNano: "1700000000123458000",
        attributes: [text("why", "slow"), { key: "try", value: { intValue: "2" } }, text("message", "retry")],
      },
    ],
    links: [{ traceId: "1234".padStart(32, "0"), spanId: "5678".padStart(16, "0") }],
  },
  {
    traceId: TRACE,
    spanId: "b7ad6b7169203332",
    name: "root",
    kind: 2,
    startTimeUnixNano: "1700000000123456000",
    endTimeUnixNano: "1700000000132456000",
    scope: { name: "shop", version: "1.2" },
    attributes: expect.arrayContaining([
      text("http.route", "/cart"),
      { key: "n", value: { intValue: "-5" } },
      { key: "f", value: { doubleValue: 0.25 } },
      { key: "ok", value: { boolValue: true } },
    ]),
  },
];

describe("the jaeger receiver", () => {
  it("takes thrift over HTTP from a real client, and answers 202 when it is safe", async () => {
    const { intake, ports } = await start({ thrift_http: ANYWHERE });
    for (const body of packets("http"))
      expect((await post(ports["thrift_http"]!, body, {}, "/api/traces?format=jaeger.thrift")).status).toBe(202);
    expect(spansOf(intake.batches)).toMatchObject(OTEL_SPANS);
    expect(intake.reserved).toBe(0);
  });

  it("takes packets of a real client over UDP, in the compact and in the binary protocol", async () => {
    const { intake, ports } = await start({ thrift_compact: ANYWHERE, thrift_binary: ANYWHERE });
    await sendUdp(ports["thrift_compact"]!, ...packets("compact"));
    await expect.poll(() => intake.batches.length, { timeout: patienceMs }).toBe(2);
    expect(spansOf(intake.batches)).toMatchObject(OTEL_SPANS);
    await sendUdp(ports["thrift_binary"]!, ...packets("http").map((body) => binaryMessage(body)));
    await expect.poll(() => intake.batches.length, { timeout: patienceMs }).toBe(4);
    expect(spansOf(intake.batches.slice(2))).toEqual(spansOf(intake.batches.slice(0, 2)));
  });

  it("gives tags of Jaeger's own clients the names of OpenTelemetry", async () => {
    const { intake, ports } = await start({ thrift_compact: ANYWHERE });
    await sendUdp(ports["thrift_compact"]!, ...packets("legacyCompact"));
    await expect.poll(() => intake.batches.length, { timeout: patienceMs }).toBe(1);
    const [child, op] = spansOf(intake.batches);
    expect(child).toMatchObject({ name: "child", parentSpanId: op.spanId, status: { code: 2 }, flags: 1 });
    expect(child).not.toHaveProperty("attributes");
    // A status of HTTP becomes the span's status if there is no other.
    expect(op).toMatchObject({ kind: 3, status: { code: 2 } });
    expect(op.attributes).toContainEqual({ key: "big", value: { intValue: "1099511627776" } });
    expect(op.events).toMatchObject([{ name: "e1", attributes: [text("x", "y")] }]);
    expect(op.resource.attributes).toEqual([
      text("service.name", "legacy"),
      text("ip", "192.0.2.7"),
      text("host.name", "client-1"),
      text("opencensus.exporterversion", "Jaeger-Python-4.8.0"),
    ]);
  });

  it("takes over gRPC what the exporter sends, and gets the same spans", async () => {
    const { intake, ports } = await start({ grpc: ANYWHERE });
    const span = {
      traceId: TRACE,
      spanId: "00000000000000aa",
      parentSpanId: "00000000000000bb",
      traceState: "a=b",
      name: "get",
      kind: 5,
      flags: 1,
      startTimeUnixNano: "1700000000123456789",
      endTimeUnixNano: "1700000001000000001",
      attributes: [
        text("s", "ü"),
        { key: "i", value: { intValue: "-3" } },
        { key: "x", value: { bytesValue: "AQI=" } },
      ],
      events: [
        { timeUnixNano: "1700000000123456790", name: "e", attributes: [{ key: "d", value: { doubleValue: 1.5 } }] },
      ],
      links: [
        { traceId: "1".repeat(32), spanId: "2".repeat(16), attributes: [text("opentracing.ref_type", "follows_from")] },
      ],
      status: { message: "bad", code: 2 },
    };
    const resource = { attributes: [text("service.name", "cart"), text("k", "v")] };
    const json = {
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "lib", version: "1" }, spans: [span] }] }],
    };
    const batch = batchFromJson("traces", JSON.stringify(json));
    const client = new GrpcJsClient(ports["grpc"]!);
    onTestFinished(() => client.close());
    const answer = await client.call(JAEGER_GRPC_PATH, Buffer.from(postSpansOf(batch.bytes).requests[0]!.message()));
    expect(answer).toMatchObject({ code: 0, body: Buffer.alloc(0) });
    expect(JSON.parse(batchToJson(intake.batches[0]!))).toEqual(JSON.parse(batchToJson(batch)));
  });

  it("puts spans that have a process of their own under it", async () => {
    const { intake, ports } = await start({ grpc: ANYWHERE });
    const span = (id: string, more: object = {}) => ({
      traceId: TRACE,
      spanId: id.padStart(16, "0"),
      operationName: id,
      ...more,
    });
    const own = { serviceName: "own", tags: [{ key: "n", vType: 2, vInt64: 1n }] };
    const request = {
      batch: { process: { serviceName: "shared" }, spans: [span("1"), span("2", { process: own }), span("3")] },
    };
    const client = new GrpcJsClient(ports["grpc"]!);
    onTestFinished(() => client.close());
    await client.call(JAEGER_GRPC_PATH, Buffer.from(encodeJaeger("PostSpansRequest", request)));
    expect(
      spansOf(intake.batches).map(({ name, resource }) => [name, resource.attributes[0].value.stringValue]),
    ).toEqual([
      ["1", "shared"],
      ["2", "own"],
      ["3", "shared"],
    ]);
  });

  it("reads references, types and times as they may come", async () => {
    const { intake, ports } = await start({ grpc: ANYWHERE });
    const spans = [
      {
        traceId: TRACE,
        spanId: "1".repeat(16),
        operationName: "a",
        references: [
          { traceId: "f".repeat(32), spanId: "2".repeat(16) },
          { traceId: TRACE, spanId: "3".repeat(16), refType: 1 },
        ],
        startTime: { seconds: -5n, nanos: 0 },
        duration: { seconds: 6n, nanos: 0 },
        tags: [
          { key: "twice", vStr: "first" },
          { key: "twice", vStr: "last" },
          { key: "odd", vType: 9 },
          { key: "error", vStr: "true" },
          { key: "otel.status_code", vStr: "ok" },
        ],
      },
      {},
    ];
    const client = new GrpcJsClient(ports["grpc"]!);
    onTestFinished(() => client.close());
    await client.call(JAEGER_GRPC_PATH, Buffer.from(encodeJaeger("PostSpansRequest", { batch: { spans } })));
    const [none, a] = spansOf(intake.batches).sort((x) => (x.name === "a" ? 1 : -1));
    expect(none).toEqual({ resource: {}, scope: undefined });
    expect(a).toMatchObject({
      parentSpanId: "3".repeat(16),
      endTimeUnixNano: "1000000000",
      status: { code: 1 },
      attributes: [text("twice", "last"), text("odd", '<Unknown Jaeger TagType "9">'), text("error", "true")],
      links: [
        { spanId: "2".repeat(16), attributes: [text("opentracing.ref_type", "child_of")] },
        { spanId: "3".repeat(16), attributes: [text("opentracing.ref_type", "follows_from")] },
      ],
    });
    expect(a).not.toHaveProperty("startTimeUnixNano");
  });

  const [whole = expect.unreachable()] = packets("http");
  it.each([
    ["half of it", whole.subarray(0, whole.length >> 1), "the bytes end within a value"],
    ["something behind it", Buffer.concat([whole, whole]), "something follows the batch"],
    ["text", Buffer.from("not thrift at all"), "no type of thrift has the number"],
    [
      "a list of two billion",
      Buffer.from("0f00020c7fffffff", "hex"),
      "a list of 2147483647 is longer than what is left",
    ],
    ["a negative length", Buffer.from("0c00010b0001ffffffff0000", "hex"), "the bytes end within a value"],
    ["structs in structs", Buffer.alloc(30_000, Buffer.from("0c0009", "hex")), "nested more than 16 deep"],
    [
      "a million spans of a byte",
      Buffer.concat([Buffer.from("0f00020c003d0900", "hex"), Buffer.alloc(4_000_001)]),
      "too many spans",
    ],
    [
      "a list of numbers for spans",
      Buffer.from("0f00020a000000010000000000000000", "hex"),
      "expected a list of structs",
    ],
  ])("answers 400 to %s, and still serves", async (_what, body, message) => {
    const { intake, ports } = await start({ thrift_http: ANYWHERE });
    const answer = await post(ports["thrift_http"]!, body);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(message)]);
    expect((await post(ports["thrift_http"]!, whole)).status).toBe(202);
    expect([intake.batches.length, intake.reserved]).toEqual([1, 0]);
  });

  it("refuses protobuf that is none, and methods that it has not", async () => {
    const { ports } = await start({ grpc: ANYWHERE });
    const client = new GrpcJsClient(ports["grpc"]!);
    onTestFinished(() => client.close());
    const bad = ["0a", "0aff", "0a0a0a080a06010203040506", "0b", "00", "0affffffffffffffffffff01"];
    for (const hex of bad) expect((await client.call(JAEGER_GRPC_PATH, Buffer.from(hex, "hex"))).code).toBe(3);
    const many = Buffer.concat([Buffer.from("0a80897a", "hex"), Buffer.alloc(2_000_000, Buffer.from("0a00", "hex"))]);
    expect(await client.call(JAEGER_GRPC_PATH, many)).toMatchObject({ code: 3 });
    expect((await client.export("traces", Buffer.alloc(0))).code).toBe(12);
    expect((await client.call(JAEGER_GRPC_PATH, Buffer.alloc(0))).code).toBe(0);
  });

  it("refuses other types and paths over HTTP, and tells senders to come back", async () => {
    const { intake, ports } = await start({ thrift_http: ANYWHERE });
    const port = ports["thrift_http"]!;
    expect((await post(port, whole, { "content-type": "application/json" })).status).toBe(415);
    expect((await post(port, whole, {}, "/v1/traces")).status).toBe(404);
    intake.answer = () => ({ ok: false, refusal: new Refusal("throttled", "later", { retryAfterMs: 3000 }) });
    const later = await post(port, whole);
    expect([later.status, later.headers.get("retry-after"), await later.text()]).toEqual([429, "3", "later\n"]);
  });

  it("goes on after packets that it cannot take", async () => {
    const { intake, ports } = await start({ thrift_compact: { ...ANYWHERE, max_packet_size: 600 } });
    const [good = expect.unreachable()] = packets("compact");
    const bad = [
      Buffer.alloc(0),
      Buffer.from("garbage"),
      good.subarray(0, 50),
      Buffer.alloc(601),
      Buffer.from("8281000a656d69745a69706b696e", "hex"),
    ];
    await sendUdp(ports["thrift_compact"]!, ...bad, good);
    await expect.poll(() => intake.batches.length, { timeout: patienceMs }).toBe(1);
  });

  it("takes no more packets than may wait, and waits for those at its end", async () => {
    const { intake, receiver, ports } = await start({ thrift_compact: { ...ANYWHERE, queue_size: 2 } });
    const [good = expect.unreachable()] = packets("compact");
    const holds: (() => void)[] = [];
    intake.answer = () => new Promise((resolve) => holds.push(() => resolve({ ok: true, rejected: 0, message: "" })));
    await sendUdp(ports["thrift_compact"]!, good, good, good, good);
    await expect.poll(() => holds.length, { timeout: patienceMs }).toBe(2);
    let hasStopped = false;
    const stopped = receiver.stop().then(() => {
      hasStopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasStopped).toBe(false);
    for (const release of holds) release();
    await stopped;
    expect(holds.length).toBe(2);
  });
});

describe("the jaeger receiver as a receiver", () => {
  const answerOfCode = (code: number): ClientAnswer => {
    if (code === 0) return "accepted";
    return code === 8 || code === 14 ? "retry" : "rejected";
  };
  const config = (port: number) => ({ protocols: { grpc: { endpoint: `127.0.0.1:${port}` } } });
  const send = async (batch: Batch, port: number) => {
    const client = new GrpcJsClient(port);
    // Spans of several resources are in one request when each has its own process.
    const spans = postSpansOf(batch.bytes).requests.flatMap((request) => {
      const { batch: each } = decodeJaeger("PostSpansRequest", request.message());
      return each.spans.map((span: object) => ({ ...span, process: each.process }));
    });
    const message = Buffer.from(encodeJaeger("PostSpansRequest", { batch: { spans } }));
    const { code } = await client.call(JAEGER_GRPC_PATH, message);
    client.close();
    return answerOfCode(code);
  };
  for (const { name, run } of receiverConformance(jaegerReceiver, { config, send, patienceMs })) it(name, run);
});
