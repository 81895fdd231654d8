import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { connect as connectSocket } from "node:net";
import { gzipSync } from "node:zlib";
import { credentials } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Outcome, Refusal } from "../../../src/plugin.js";
import { compress } from "../../../src/runtime/codecs/compression/compress.js";
import { grpcFrame, grpcFrameHeader } from "../../../src/runtime/net/otlp/grpc-frame.js";
import { decodeResponse } from "../../../src/runtime/net/otlp/response.js";
import { decodeStatus } from "../../../src/runtime/net/otlp/rpc-status.js";
import { OTLP_SERVICES } from "../../../src/runtime/net/otlp/services.js";
import { SIGNALS } from "../../../src/runtime/otlp/signals/signal.js";
import { availableHere } from "../../support/telemetry/with-zstd.js";
import { GrpcJsClient } from "./grpc-client.js";
import { type Running, startReceiver, until } from "./harness.js";
import { wire } from "./requests.js";

const LOGS = OTLP_SERVICES.logs.grpcPath;
const GZIP = { "grpc.default_compression_algorithm": 2 };

describe("OTLP over gRPC", () => {
  let running: Running;
  let client: GrpcJsClient;
  const sessions: ClientHttp2Session[] = [];
  const start = async (grpc: object = {}, signals = SIGNALS) => {
    running = await startReceiver({ grpc: { endpoint: "127.0.0.1:0", ...grpc } }, signals);
    client = new GrpcJsClient(running.grpc);
  };
  const restart = async (...how: Parameters<typeof start>) => {
    client.close();
    await running.receiver.stop();
    await start(...how);
  };
  beforeEach(() => start());
  afterEach(async () => {
    // After any input, the next valid request is accepted and no memory stays reserved.
    running.intakes.logs.room = Number.POSITIVE_INFINITY;
    expect((await client.export("logs", wire("logs"))).code).toBe(0);
    await until(() => running.intakes.logs.reserved === 0);
    client.close();
    for (const session of sessions.splice(0)) session.destroy();
    await running.receiver.stop();
  });

  /** A bare HTTP/2 session to send what no gRPC library would. */
  const session = () => {
    const opened = connect(`http://127.0.0.1:${running.grpc}`).on("error", () => {});
    sessions.push(opened);
    return opened;
  };
  const HEADERS = { ":method": "POST", ":path": LOGS, "content-type": "application/grpc", te: "trailers" };
  const bare = (headers: Record<string, string>, ...pieces: Uint8Array[]) =>
    new Promise<IncomingHttpHeaders>((resolve, reject) => {
      const stream = session().request({ ...HEADERS, ...headers });
      let all: IncomingHttpHeaders = {};
      const add = (more: IncomingHttpHeaders) => {
        all = { ...all, ...more };
      };
      stream.on("response", add).on("trailers", add).on("error", reject).resume();
      stream.on("close", () => resolve(all));
      for (const piece of pieces) stream.write(piece);
      stream.end();
    });

  it.each(SIGNALS)("takes %s", async (signal) => {
    const answer = await client.export(signal, wire(signal, 3));
    expect([answer.code, answer.body?.length]).toEqual([0, 0]);
    expect(Buffer.from(running.intakes[signal].batches[0]!.bytes)).toEqual(wire(signal, 3));
    expect(running.intakes[signal].origins[0]).toMatchObject({ receiver: "otlp", transport: "grpc" });
  });

  it("takes gzip", async () => {
    const packed = new GrpcJsClient(running.grpc, credentials.createInsecure(), GZIP);
    expect((await packed.export("logs", wire("logs", 1000))).code).toBe(0);
    expect(running.intakes.logs.records).toBe(1000);
    packed.close();
  });

  it.each(availableHere(["zstd", "snappy", "lz4", "deflate"] as const))("takes %s", async (name) => {
    const compression = name === "snappy" ? "x-snappy-framed" : name;
    const packed = await compress(compression, wire("logs", 10));
    const headers = { "grpc-encoding": name };
    expect((await bare(headers, grpcFrameHeader(packed.length, true), packed))["grpc-status"]).toBe("0");
    expect(running.intakes.logs.records).toBe(10);
    const cut = packed.subarray(0, packed.length - 1);
    expect((await bare(headers, grpcFrameHeader(cut.length, true), cut))["grpc-status"]).toBe("3");
  });

  it("takes a message in any pieces", async () => {
    const frame = grpcFrame(wire("logs", 2));
    const bytes = Array.from(frame, (byte) => Uint8Array.of(byte));
    expect((await bare({}, ...bytes))["grpc-status"]).toBe("0");
    expect((await bare({}, frame.subarray(0, 3), frame.subarray(3, 9), frame.subarray(9)))["grpc-status"]).toBe("0");
    expect(running.intakes.logs.records).toBe(4);
  });

  it("takes many calls on one connection at once", async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, () => client.export("logs", wire("logs", 10))));
    expect(answers.every((answer) => answer.code === 0)).toBe(true);
    expect(running.intakes.logs.records).toBe(3000);
  });

  it("takes a message just under the limit and refuses one over it", async () => {
    await restart({ max_recv_msg_size_mib: 1 });
    const record = wire("logs", 1);
    const fits = Buffer.concat(Array.from({ length: Math.floor((1024 * 1024) / record.length) }, () => record));
    expect((await client.export("logs", fits)).code).toBe(0);
    const answer = await client.export("logs", Buffer.concat([fits, record]));
    expect([answer.code, answer.details]).toEqual([8, expect.stringContaining("larger than max")]);
    expect(answer.metadata?.get("grpc-status-details-bin")).toEqual([]);
  });

  it("refuses from the announced length alone", async () => {
    const headers = await new Promise<IncomingHttpHeaders>((resolve) => {
      const stream = session().request(HEADERS);
      stream.on("response", resolve).on("error", () => {});
      stream.write(grpcFrameHeader(0xffffffff, false));
    });
    expect(headers["grpc-status"]).toBe("8");
  });

  it("stops a gzip bomb at the limit", async () => {
    const packed = new GrpcJsClient(running.grpc, credentials.createInsecure(), GZIP);
    const answer = await packed.export("logs", Buffer.alloc(30 * 1024 * 1024));
    expect([answer.code, running.intakes.logs.batches.length]).toEqual([8, 0]);
    expect(running.intakes.logs.mostReserved).toBeLessThan(5 * 1024 * 1024);
    packed.close();
  });

  it("tells a partial success", async () => {
    running.intakes.metrics.answer = () => ({ ok: true, rejected: 2, message: "too old" });
    const answer = await client.export("metrics", wire("metrics", 5));
    expect(decodeResponse("metrics", "proto", answer.body!)).toEqual({ rejected: 2, message: "too old" });
    expect(running.metrics.sums.get("otelcol_receiver_accepted_metric_points{otlp,grpc}")).toBe(3);
  });

  it.each([
    [new Refusal("permanent", "kein Schlüssel, 100 %"), 3, undefined],
    [new Refusal("transient", "the backend is down"), 14, 1000],
    [new Refusal("throttled", "slow down", { retryAfterMs: 2500 }), 14, 2500],
  ])("answers a refusal with its status and RetryInfo (%s)", async (refusal, code, retryAfterMs) => {
    running.intakes.logs.answer = () => ({ ok: false, refusal });
    const answer = await client.export("logs", wire("logs"));
    expect([answer.code, answer.details]).toEqual([code, refusal.message]);
    const details = answer.metadata?.get("grpc-status-details-bin")[0] as Buffer | undefined;
    expect(details && decodeStatus(details, "proto").retryAfterMs).toBe(retryAfterMs);
    running.intakes.logs.answer = () => ({ ok: true, rejected: 0, message: "" });
  });

  it("keeps metadata only when told to", async () => {
    await restart({ include_metadata: true });
    await client.export("logs", wire("logs"), { headers: { "X-Tenant": "blue", "client.address": "203.0.113.7" } });
    expect(running.intakes.logs.origins[0]?.metadata?.get("x-tenant")).toEqual(["blue"]);
    expect(running.intakes.logs.origins[0]?.metadata?.get("client.address")).toEqual([
      expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
    ]);
  });

  it("answers UNIMPLEMENTED to unknown methods and to signals without a pipeline", async () => {
    await restart({}, ["logs"]);
    expect((await client.call("/grpc.health.v1.Health/Check", Buffer.alloc(0))).code).toBe(12);
    const answer = await client.export("traces", wire("traces"));
    expect([answer.code, answer.details]).toEqual([12, expect.stringContaining("service.pipelines.traces.receivers")]);
  });

  it("answers requests that are not gRPC in HTTP", async () => {
    expect((await bare({ "content-type": "application/json" }))[":status"]).toBe(415);
    expect((await bare({ ":method": "GET" }))[":status"]).toBe(405);
  });

  it.each([
    ["garbage", [grpcFrame(Buffer.from("no protobuf, just words"))], {}, "3"],
    ["a wrong wire type", [grpcFrame(Buffer.from([0x08, 0x01]))], {}, "3"],
    ["no message", [], {}, "12"],
    ["two messages", [grpcFrame(wire("logs")), grpcFrame(wire("logs"))], {}, "12"],
    ["half a message", [grpcFrame(wire("logs", 9)).subarray(0, 40)], {}, "3"],
    ["half a header", [Buffer.from([0, 0])], {}, "3"],
    ["a strange flag", [Buffer.from([7, 0, 0, 0, 0])], {}, "13"],
    ["an unknown encoding", [grpcFrame(wire("logs"))], { "grpc-encoding": "br" }, "12"],
    ["compressed without saying how", [grpcFrameHeader(1, true), Buffer.from("x")], {}, "13"],
    ["damaged gzip", [grpcFrameHeader(20, true), Buffer.alloc(20, 7)], { "grpc-encoding": "gzip" }, "3"],
    ["cut gzip", half(gzipSync(wire("logs", 500))), { "grpc-encoding": "gzip" }, "3"],
  ])("answers %s with a status", async (_, pieces, headers, status) => {
    expect((await bare(headers as Record<string, string>, ...pieces))["grpc-status"]).toBe(status);
    expect(running.intakes.logs.batches).toEqual([]);
  });

  it("names the offset of malformed data", async () => {
    expect((await client.export("logs", Buffer.from([0x0a, 0x7f]))).details).toMatch(/at byte \d+/);
  });

  it("refuses retryably while the intake has no room", async () => {
    running.intakes.logs.room = 1000;
    const answer = await client.export("logs", wire("logs", 5000));
    expect(answer.code).toBe(14);
    const details = answer.metadata?.get("grpc-status-details-bin")[0] as Buffer;
    expect(decodeStatus(details, "proto").retryAfterMs).toBe(1000);
  });

  it("answers when the client's deadline passes before the outcome", async () => {
    let settle = (_: Outcome) => {};
    running.intakes.logs.answer = () => new Promise((resolve) => (settle = resolve));
    const answer = await bare({ "grpc-timeout": "50m" }, grpcFrame(wire("logs")));
    expect(answer["grpc-status"]).toBe("4");
    settle({ ok: true, rejected: 0, message: "" });
    running.intakes.logs.answer = () => ({ ok: true, rejected: 0, message: "" });
  });

  it("releases what was reserved when a stream is reset or a connection breaks", async () => {
    const opened = session();
    const streams = Array.from({ length: 3 }, () => opened.request(HEADERS).on("error", () => {}));
    for (const stream of streams) stream.write(Buffer.alloc(1000));
    await until(() => running.intakes.logs.reserved === 3000);
    streams[0]!.close(constants.NGHTTP2_CANCEL);
    await until(() => running.intakes.logs.reserved === 2000);
    opened.destroy();
    await until(() => running.intakes.logs.reserved === 0);
  });

  it("answers pings", async () => {
    const opened = session();
    await new Promise((resolve) => opened.once("connect", resolve));
    await new Promise<void>((resolve, reject) => opened.ping((error) => (error ? reject(error) : resolve())));
  });

  it("bounds the calls of one connection", async () => {
    await restart({ max_concurrent_streams: 7 });
    const opened = session();
    await new Promise((resolve) => opened.once("remoteSettings", resolve));
    expect(opened.remoteSettings.maxConcurrentStreams).toBe(7);
    expect(opened.remoteSettings.initialWindowSize).toBeGreaterThan(1024 * 1024);
  });

  it("survives clients that speak no HTTP/2", async () => {
    const socket = connectSocket(running.grpc, "127.0.0.1").on("error", () => {});
    socket.write("POST /v1/logs HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.resume();
    await new Promise((resolve) => socket.on("close", resolve));
  });

  it("ends idle connections after max_connection_idle", async () => {
    await restart({ keepalive: { server_parameters: { max_connection_idle: "10ms" } } });
    const opened = session();
    await new Promise((resolve) => opened.on("close", resolve));
  });
});

function half(packed: Buffer): Uint8Array[] {
  const part = packed.subarray(0, packed.length / 2);
  return [grpcFrameHeader(part.length, true), part];
}
