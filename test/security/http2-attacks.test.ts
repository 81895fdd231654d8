import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { credentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { GrpcJsClient } from "../receivers/otlp/grpc-client.js";
import { wire } from "../receivers/otlp/requests.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = frame(4, 0, 0);

/** Each ends the connection with GOAWAY. */
const VIOLATIONS: readonly (readonly [string, Buffer])[] = [
  ["data on no stream", frame(0, 0, 0, Buffer.from("abc"))],
  ["a frame that is too large", frame(0, 0, 1, Buffer.alloc(20_000))],
  ["headers that cannot be decoded", frame(1, 4, 1, Buffer.alloc(7, 0xff))],
  ["a continuation of nothing", frame(9, 4, 1, Buffer.from([0x82]))],
];

describe("an agent with a limit for idle connections", () => {
  it("closes the connection of a client that sends nothing, or nothing after its greeting", async () => {
    const keepalive = "keepalive: {server_parameters: {max_connection_idle: 100ms}}";
    const agent = await startAgentProcess({
      yaml: `
receivers: {otlp: {protocols: {grpc: {endpoint: 127.0.0.1:0, ${keepalive}}}}}
exporters: {nop: {}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}
`,
    });
    onTestFinished(async () => {
      agent.child.kill("SIGTERM");
      await agent.exited;
    });
    for (const greeting of [Buffer.alloc(0), Buffer.concat([PREFACE, SETTINGS])]) {
      const socket = connect({ port: agent.ports.grpc, host: "127.0.0.1" });
      socket.on("error", () => {}).resume();
      socket.write(greeting);
      await once(socket, "close");
    }
  });
});

// Each waits for seconds in which nothing happens.
describe.concurrent.each([
  ["", "by default"],
  ["keepalive: {server_parameters: {time: 1h}}", "with keepalive parameters"],
])("an agent that speaks HTTP/2 %s", (keepalive) => {
  let agent: AgentProcess;

  beforeAll(async () => {
    const yaml = `
receivers: {otlp: {protocols: {grpc: {endpoint: 127.0.0.1:0, ${keepalive}}}}}
exporters: {nop: {}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [nop]}}
`;
    agent = await startAgentProcess({ yaml });
  });

  afterAll(async () => {
    agent.child.kill("SIGTERM");
    await agent.exited;
  });

  const open = async (...bytes: Buffer[]): Promise<Socket> => {
    const socket = connect({ port: agent.ports.grpc, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    socket.on("error", () => {}).resume();
    socket.write(Buffer.concat([PREFACE, SETTINGS, ...bytes]));
    return socket;
  };

  it.each(VIOLATIONS)("closes the connection of a client that sends %s, though the client does not", async (_, bad) => {
    const socket = await open(bad);
    await once(socket, "end");
    socket.destroy();
  });

  it("closes it too when a call is open", async () => {
    const call = frame(1, 4, 1, Buffer.from([0x83, 0x86, 0x84]));
    const socket = await open(call, VIOLATIONS[0]![1]);
    await once(socket, "end");
    socket.destroy();
  });

  it("keeps a connection that was silent for a while", async () => {
    const client = new GrpcJsClient(agent.ports.grpc, credentials.createInsecure());
    expect((await client.export("logs", wire("logs"))).code).toBe(0);
    const bad = await open(VIOLATIONS[0]![1]);
    await once(bad, "end");
    bad.destroy();
    expect(client.client.getChannel().getConnectivityState(false)).toBe(2);
    expect((await client.export("logs", wire("logs"))).code).toBe(0);
    client.close();
  });
});

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}
