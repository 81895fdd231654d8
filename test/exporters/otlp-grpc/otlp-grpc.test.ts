import { getEventListeners } from "node:events";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { Metadata } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { otlpGrpcExporter } from "../../../src/exporters/otlp-grpc/component.js";
import { Batch, type Exporter } from "../../../src/plugin.js";
import { parseGrpcTarget } from "../../../src/runtime/net/endpoint.js";
import { grpcFrame, grpcFrameHeader } from "../../../src/runtime/net/otlp/grpc-frame.js";
import { encodeResponse } from "../../../src/runtime/net/otlp/response.js";
import { encodeStatus } from "../../../src/runtime/net/otlp/rpc-status.js";
import { SIGNALS } from "../../../src/runtime/otlp/signals/signal.js";
import { until } from "../../receivers/otlp/harness.js";
import { wire } from "../../receivers/otlp/requests.js";
import { GrpcJsServer } from "../grpc-server.js";
import { never, refusalOf, startExporter } from "../harness.js";

const logs = (count = 3) => Batch.admit("logs", wire("logs", count));

describe("otlp_grpc exporter", () => {
  let server: GrpcJsServer;
  let exporter: Exporter;
  const start = async (config: object = {}) => {
    exporter = await startExporter(otlpGrpcExporter, {
      endpoint: `127.0.0.1:${server.port}`,
      tls: { insecure: true },
      ...config,
    });
  };
  const restart = async (config: object) => {
    await exporter.stop?.();
    await start(config);
  };
  beforeEach(async () => {
    server = await new GrpcJsServer().start();
    await start();
  });
  afterEach(async () => {
    await exporter.stop?.();
    server.kill();
    expect(getEventListeners(never, "abort")).toEqual([]);
  });

  it.each(SIGNALS)("sends %s to its service", async (signal) => {
    expect(await exporter.send(Batch.admit(signal, wire(signal, 3)), never)).toBeUndefined();
    expect(server.received.map(({ signal, body }) => [signal, body])).toEqual([[signal, wire(signal, 3)]]);
  });

  it("sends the pieces of a batch without compression", async () => {
    await restart({ compression: "none" });
    await exporter.send(Batch.merge([logs(2), logs(3)]), never);
    expect(server.received[0]!.body).toEqual(Buffer.concat([wire("logs", 2), wire("logs", 3)]));
  });

  it("sends a large message", async () => {
    await restart({ compression: "none" });
    const large = wire("logs", 60_000);
    await exporter.send(Batch.admit("logs", large), never);
    expect(server.received[0]!.body.equals(large)).toBe(true);
  });

  it("sends headers as metadata", async () => {
    await restart({ headers: { "X-Tenant": "blue", "key-bin": "raw" } });
    await exporter.send(logs(), never);
    expect(server.received[0]!.metadata.get("x-tenant")).toEqual(["blue"]);
    expect(server.received[0]!.metadata.get("key-bin")).toEqual([Buffer.from("raw")]);
  });

  it("marks replayed data", async () => {
    await exporter.send(logs(), never, { idempotencyKey: "a-1", replayed: { id: "a-1", attempt: 2 } });
    await exporter.send(logs(), never, { idempotencyKey: "a-2" });
    const names = ["sluice-idempotency-key", "x-replayed", "x-original-id", "x-replay-attempt"];
    const told = server.received.map(({ metadata }) => names.map((name) => metadata.get(name)[0]));
    expect(told).toEqual([
      ["a-1", "true", "a-1", "2"],
      ["a-2", undefined, undefined, undefined],
    ]);
  });

  it("understands http:// as without TLS", async () => {
    await restart({ endpoint: `http://127.0.0.1:${server.port}`, tls: undefined });
    await exporter.send(logs(), never);
    expect(server.received).toHaveLength(1);
  });

  it("sends many at once over one connection", async () => {
    await Promise.all(Array.from({ length: 300 }, () => exporter.send(logs(20), never)));
    expect(server.received).toHaveLength(300);
  });

  it("reports a partial success", async () => {
    server.respond = (done) => done(null, encodeResponse("logs", "proto", { rejected: 2, message: "too old" }));
    expect(await exporter.send(logs(), never)).toEqual({ rejected: 2, message: "too old" });
  });

  it("reads a partial success to its end, however long", async () => {
    const message = "x".repeat(1_000_000);
    server.respond = (done) => done(null, encodeResponse("logs", "proto", { rejected: 2, message }));
    expect(await exporter.send(logs(), never)).toEqual({ rejected: 2, message });
  });

  it("treats a success with an unreadable message as doubtful, and sends again", async () => {
    const cut = encodeResponse("logs", "proto", { rejected: 2, message: "too old" }).subarray(0, -1);
    for (const body of [Buffer.alloc(5_000_000, 0x0a), Buffer.alloc(100, 0xff), Buffer.from("<html>"), cut]) {
      server.respond = (done) => done(null, body);
      const refusal = await refusalOf(exporter.send(logs(), never));
      expect(refusal).toMatchObject({ kind: "transient", code: "SLUICE_UNREADABLE_ANSWER" });
    }
  });

  const RETRYABLE = [1, 4, 10, 11, 14, 15];
  it.each(Array.from({ length: 16 }, (_, i) => i + 1))("treats status %i as OTLP's table says", async (code) => {
    server.respond = (done) => done({ code, details: "größer 100 %" });
    const refusal = await refusalOf(exporter.send(logs(), never));
    expect(refusal.kind).toBe(RETRYABLE.includes(code) ? "transient" : "permanent");
    expect(refusal.message).toMatch(/^[A-Z_]+: größer 100 %$/);
    expect(server.received).toHaveLength(1);
  });

  it.each([8, 14])("waits as long as RetryInfo asks after status %i", async (code) => {
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", encodeStatus({ code, message: "", retryAfterMs: 2500 }, "proto"));
    server.respond = (done) => done({ code, details: "busy", metadata });
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "throttled", retryAfterMs: 2500 });
  });

  it('gives "too large" a code of its own', async () => {
    await restart({ compression: "none" });
    const record = wire("logs", 1);
    const huge = Batch.admit("logs", Buffer.concat(Array.from({ length: 200_000 }, () => record)));
    expect(await refusalOf(exporter.send(huge, never))).toMatchObject({ kind: "permanent", code: "SLUICE_TOO_LARGE" });
    await exporter.send(logs(), never);
  });

  it("opens a new connection after the server has restarted", async () => {
    await exporter.send(logs(), never);
    const { port } = server;
    await server.drain();
    expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient", status: "ECONNREFUSED" });
    server = await new GrpcJsServer().start(undefined, port);
    await exporter.send(logs(), never);
    expect(server.received).toHaveLength(1);
  });

  it("lets calls finish on a connection that the server closes gracefully", async () => {
    let answer = () => {};
    server.respond = (done) => {
      answer = () => done(null, Buffer.alloc(0));
    };
    const sending = exporter.send(logs(), never);
    await until(() => server.received.length === 1);
    const drained = server.drain();
    answer();
    expect(await sending).toBeUndefined();
    await drained;
  });

  it("cancels a call that hangs, and the connection stays usable", async () => {
    let cancelled = false;
    server.respond = (_, call) => {
      call.on("cancelled", () => {
        cancelled = true;
      });
    };
    const abort = new AbortController();
    const sending = refusalOf(exporter.send(logs(), abort.signal));
    await until(() => server.received.length === 1);
    abort.abort();
    expect(await sending).toMatchObject({ kind: "transient", code: "SLUICE_ABORTED" });
    await until(() => cancelled);
    server.respond = (done) => done(null, Buffer.alloc(0));
    await exporter.send(logs(), never);
  });

  it("sends nothing when aborted before", async () => {
    expect(await refusalOf(exporter.send(logs(), AbortSignal.abort()))).toMatchObject({ kind: "transient" });
    expect(server.received).toEqual([]);
  });

  describe("against broken servers", () => {
    let broken: Server | Http2Server;
    const open = new Set<Socket>();
    const serve = async (made: Server | Http2Server) => {
      broken = made;
      broken.on("connection", (socket: Socket) => {
        open.add(socket);
        socket.on("error", () => {}).on("close", () => open.delete(socket));
      });
      await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
      await restart({ endpoint: `127.0.0.1:${(broken.address() as { port: number }).port}` });
    };
    afterEach(() => {
      for (const socket of open) socket.destroy();
      broken.close();
    });

    it.each([
      ["closes at once", (socket: Socket) => void socket.destroy()],
      ["resets after the first bytes", (socket: Socket) => void socket.once("data", () => socket.resetAndDestroy())],
      ["speaks HTTP/1.1", (socket: Socket) => void socket.once("data", () => socket.end("HTTP/1.1 400 Bad\r\n\r\n"))],
    ])("is refused transiently by one that %s", async (_, talk) => {
      await serve(createServer(talk));
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient" });
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient" });
    });

    const answering = (answer: (stream: ServerHttp2Stream) => void) => {
      const http2 = createHttp2Server();
      http2.on("stream", (stream) => {
        stream.on("error", () => {}).resume();
        answer(stream);
      });
      return http2;
    };

    it.each([
      [503, { "retry-after": "3" }, "throttled"],
      [500, {}, "transient"],
      [403, {}, "permanent"],
    ])("maps a proxy's HTTP %i", async (status, headers, kind) => {
      await serve(answering((stream) => stream.respond({ ":status": status, ...headers }, { endStream: true })));
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind });
      if (kind === "permanent") await exporter.check!(never);
      else expect(await refusalOf(exporter.check!(never))).toMatchObject({ kind });
    });

    it.each([
      ["refuses the stream", (stream: ServerHttp2Stream) => stream.close(7)],
      ["ends without a status", (stream: ServerHttp2Stream) => stream.respond({ ":status": 200 }, { endStream: true })],
    ])("is refused transiently by one that %s", async (_, answer) => {
      await serve(answering(answer));
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient" });
    });

    it.each(["", " ", "0x0", "0.0", "-0.0", "OK"])(
      'is refused transiently by one whose status is "%s"',
      async (status) => {
        const headers = { ":status": 200, "grpc-status": status };
        await serve(answering((stream) => stream.respond(headers, { endStream: true })));
        expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient" });
      },
    );

    it.each([
      ["is cut", grpcFrame(encodeResponse("logs", "proto", { rejected: 2, message: "too old" })).subarray(0, -1)],
      ["is compressed", Buffer.concat([grpcFrameHeader(1, true), Buffer.alloc(1)])],
      ["has no known form", Buffer.from([7, 0, 0, 0, 0])],
    ])("treats a success whose frame %s as doubtful", async (_, frame) => {
      await serve(
        answering((stream) => {
          stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
          stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
          stream.end(frame);
        }),
      );
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ code: "SLUICE_UNREADABLE_ANSWER" });
    });

    it("sends again on a new connection when one that worked breaks", async () => {
      let calls = 0;
      const trailersOnly = { ":status": 200, "content-type": "application/grpc", "grpc-status": "0" };
      const breaking = (broken: number[]) =>
        answering((stream) => {
          calls += 1;
          if (broken.includes(calls)) stream.session?.destroy();
          else stream.respond(trailersOnly, { endStream: true });
        });
      await serve(breaking([2, 4, 5]));
      await exporter.send(logs(), never);
      await exporter.send(logs(), never);
      expect(calls).toBe(3);
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient" });
      expect(calls).toBe(5);
    });

    it("times out on a server that accepts the connection and never answers", async () => {
      await serve(createServer((socket) => void socket.resume()));
      const abort = new AbortController();
      const sending = refusalOf(exporter.send(logs(), abort.signal));
      await until(() => open.size === 1);
      abort.abort();
      expect(await sending).toMatchObject({ kind: "transient", code: "SLUICE_ABORTED" });
    });

    it("closes a connection that answers no pings", async () => {
      await serve(createServer((socket) => void socket.resume()));
      await restart({
        endpoint: `127.0.0.1:${(broken.address() as { port: number }).port}`,
        keepalive: { time: "10ms", timeout: "20ms", permit_without_stream: true },
      });
      expect(await refusalOf(exporter.send(logs(), never))).toMatchObject({ kind: "transient" });
    });

    it("closes it even if connecting took longer than the time between pings", async () => {
      await serve(createServer((socket) => void socket.resume()));
      await restart({
        endpoint: `127.0.0.1:${(broken.address() as { port: number }).port}`,
        keepalive: { time: "10ms", timeout: "20ms", permit_without_stream: true },
        compression: "none",
      });
      const refused = refusalOf(exporter.send(logs(), never));
      await Promise.resolve();
      // The connection is being established, and nothing is read from it meanwhile.
      for (const end = performance.now() + 50; performance.now() < end; );
      expect(await refused).toMatchObject({ kind: "transient" });
    });
  });
});

describe("otlp_grpc config", () => {
  const problems = (config: object) =>
    otlpGrpcExporter.schema.safeParse(config).error?.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);

  it.each([
    ["tempo:4317", "tempo", 4317, undefined],
    ["http://tempo:4317", "tempo", 4317, false],
    ["https://otlp.example.com", "otlp.example.com", 443, true],
    ["https://otlp.example.com:4317/", "otlp.example.com", 4317, true],
    ["dns:///tempo:4317", "tempo", 4317, undefined],
    ["dns://8.8.8.8/tempo:4317", "tempo", 4317, undefined],
    ["[::1]:4317", "::1", 4317, undefined],
  ])("reads %s", (text, host, port, secure) => {
    expect(parseGrpcTarget(text)).toEqual({ address: { host, port }, secure });
  });

  it("says what is wrong", () => {
    expect(problems({})).toEqual(["endpoint: expected host:port such as localhost:4317"]);
    for (const endpoint of ["tempo", "tempo:port", "https://x/path", ""]) {
      expect(problems({ endpoint })).toEqual(["endpoint: expected host:port such as localhost:4317"]);
    }
    expect(problems({ endpoint: "tempo:99999" })).toEqual(["endpoint: there is no port 99999; expected at most 65535"]);
    expect(problems({ endpoint: "x:1", auth: {} })?.[0]).toMatch(/^auth.authenticator: /);
    expect(problems({ endpoint: "x:1", compression: "lz4" })?.[0]).toMatch(/^compression: /);
    for (const headers of [
      { key: "secret\n" },
      { "a b": "secret" },
      { connection: "close" },
      { "grpc-timeout": "1S" },
    ]) {
      const [problem] = problems({ endpoint: "x:1", headers })!;
      expect(problem).toMatch(/^headers\.(key|a b|connection|grpc-timeout): expected /);
      expect(problem).not.toContain("secret");
    }
    expect(problems({ endpoint: "x:1", balancer_name: "pick_first", wait_for_ready: true })).toBeUndefined();
  });
});
