import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { OTLP_SERVICES } from "../../src/runtime/net/otlp/services.js";
import { wire } from "../receivers/otlp/requests.js";
import { type AgentProcess, type AgentProcessOptions, startAgentProcess } from "../support/agent-process.js";

const HEAD = "POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n";

describe("an agent that is sent uploads made to exhaust it", () => {
  let agent: AgentProcess;
  const sockets: Socket[] = [];

  const start = async (receiver: string, options: AgentProcessOptions = {}) => {
    const yaml = `
receivers: {otlp: ${receiver}}
exporters: {nop: {}}
extensions: {health_check: {endpoint: 127.0.0.1:0}}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [nop]}}
`;
    agent = await startAgentProcess({ yaml }, options);
  };

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    agent.child.kill("SIGTERM");
    await agent.exited;
  });

  const open = (port: number): Socket => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    return socket;
  };

  const post = async () => {
    const headers = { "Content-Type": "application/x-protobuf" };
    const body = new Uint8Array(wire("logs"));
    const answer = await fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, { method: "POST", headers, body });
    await answer.arrayBuffer();
    return answer.status;
  };

  it("cuts off a client that sends a byte at a time, before that costs much time or memory", async () => {
    const env = { NODE_OPTIONS: "--max-old-space-size=96" };
    await start("{protocols: {http: {endpoint: 127.0.0.1:0}}}", { env });
    const socket = open(agent.ports.http);
    const answer = once(socket, "data");
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    const chunks = "1\r\n\0\r\n".repeat(10_000);
    while (!socket.destroyed) {
      if (!socket.writableNeedDrain) socket.write(chunks);
      await setImmediate();
    }
    expect(String(await answer)).toMatch(/^HTTP\/1\.1 400 .*Connection: close.*pieces of a few bytes each/s);
    expect(socket.bytesWritten).toBeLessThan(20 * 1024 * 1024);
    expect(await post()).toBe(200);
  });

  it("ends a call whose message comes a byte at a time", async () => {
    await start("{protocols: {grpc: {endpoint: 127.0.0.1:0}, http: {endpoint: 127.0.0.1:0}}}");
    const session = connectHttp2(`http://127.0.0.1:${agent.ports.grpc}`);
    const call = session.request({
      ":method": "POST",
      ":path": OTLP_SERVICES.logs.grpcPath,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const headers = once(
      call.on("error", () => {}),
      "response",
    );
    call.write(Buffer.from([0, 0, 1, 0, 0]));
    let isAnswered = false;
    call.once("response", () => {
      isAnswered = true;
    });
    while (!isAnswered) {
      if (!call.writableNeedDrain) call.write(Buffer.alloc(1));
      await setImmediate();
    }
    const [answer] = await headers;
    expect([answer["grpc-status"], decodeURIComponent(answer["grpc-message"])]).toEqual([
      "3",
      "the body arrived in pieces of a few bytes each; send larger pieces",
    ]);
    session.destroy();
    expect(await post()).toBe(200);
  });

  it("reads a body that comes in many pieces of reasonable size", async () => {
    await start("{protocols: {http: {endpoint: 127.0.0.1:0}}}");
    const socket = open(agent.ports.http);
    const answer = once(socket, "data");
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    const body = wire("logs");
    const pieces = Array.from({ length: Math.ceil(body.length / 5) }, (_, i) => body.subarray(i * 5, i * 5 + 5));
    for (const piece of pieces)
      socket.write(Buffer.concat([Buffer.from(`${piece.length}\r\n`), piece, Buffer.from("\r\n")]));
    socket.write("0\r\n\r\n");
    expect(String(await answer)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("serves others while unfinished uploads fill its room, and lets the slowest of them give way", async () => {
    await start("{protocols: {http: {endpoint: 127.0.0.1:0, max_request_body_size: 64MiB}}}");
    const part = Buffer.alloc(6 * 1024 * 1024);
    const answers = Array.from({ length: 5 }, async () => {
      const socket = open(agent.ports.http);
      socket.write(`${HEAD}Content-Length: ${64 * 1024 * 1024}\r\n\r\n`);
      await new Promise((resolve) => socket.write(part, resolve));
      return socket;
    });
    const uploads = await Promise.all(answers);
    const first = Promise.race(uploads.map((socket) => once(socket, "data")));
    const request = Buffer.alloc(8 * 1024 * 1024);
    const send = async () => {
      const headers = { "Content-Type": "application/x-protobuf" };
      const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
      const answer = await fetch(url, { method: "POST", headers, body: new Uint8Array(request) });
      await answer.arrayBuffer();
      return answer.status;
    };
    // It is not a valid request, but it was read. A request that gets 503 was not read.
    await expect.poll(send).toBe(400);
    expect(String(await first)).toMatch(/^HTTP\/1\.1 503 .*others needed its memory/s);
    expect(await post()).toBe(200);
  });

  it("answers its health check, and clients again, when all its open files are asked for", async () => {
    const limited = 'ulimit -n 200; exec "$0" "$@"';
    const command = [
      "/bin/sh",
      "-c",
      limited,
      process.execPath,
      join(import.meta.dirname, "../../bin/sluice.js"),
    ] as const;
    await start("{protocols: {http: {endpoint: 127.0.0.1:0}, grpc: {endpoint: 127.0.0.1:0}}}", {
      command: [...command],
    });
    const ports = Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? agent.ports.http : agent.ports.grpc));
    await Promise.all(ports.map(async (port) => once(open(port), "connect")));
    const health = /"endpoint":"([^"]+)","msg":"health check/.exec(agent.output.stderr)![1];
    expect((await fetch(`http://${health}/`)).status).toBe(200);
    await expect
      .poll(() => agent.output.stderr)
      .toContain("connections are refused: more would leave too few open files");
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(() => post().catch(() => 0)).toBe(200);
  });
});
