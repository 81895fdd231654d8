import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
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
service:
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

  it("holds little more than what has come when it comes a byte at a time", async () => {
    const env = { NODE_OPTIONS: "--max-old-space-size=96" };
    await start("{protocols: {http: {endpoint: 127.0.0.1:0}}}", { env });
    const socket = open(agent.ports.http);
    const answer = once(socket, "data");
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    const chunks = "1\r\n\0\r\n".repeat(10_000);
    for (let sent = 0; sent < 300; sent++) await new Promise((resolve) => socket.write(chunks, resolve));
    socket.write("0\r\n\r\n");
    expect(String(await answer)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await post()).toBe(200);
  });
});
