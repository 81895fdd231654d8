import { createSocket } from "node:dgram";
import { writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../../../support/agent-process.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

let directory: string;
let sink: OtlpSink;
let agent: AgentProcess;
let udp: number;
let metrics: number;
const start = () => startAgentProcess({ file: join(directory, "sluice.yaml") });

beforeEach(async () => {
  directory = temporaryFolder();
  sink = await startSink();
  udp = await freePort();
  metrics = await freePort();
  const yaml = `
receivers:
  udp_log: {listen_address: "127.0.0.1:${udp}"}
  fluent_forward: {endpoint: "unix://${directory}/fluent.sock"}
  otlp: {limits: {max_connections: 10}, protocols: {grpc: {endpoint: "127.0.0.1:0"}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions: {reliability: {directory: "${directory}/queue"}}
service:
  workers: 3
  extensions: [reliability]
  telemetry:
    metrics:
      level: detailed
      readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${metrics}}}}}]
  pipelines: {logs: {receivers: [udp_log, fluent_forward, otlp], exporters: [otlp_http]}}
`;
  writeFileSync(join(directory, "sluice.yaml"), yaml);
  agent = await start();
});

afterEach(async () => {
  agent.child.kill("SIGKILL");
  await agent.exited;
  await sink.close();
});

/** Records that were being sent when the agent was killed may arrive twice. */
const received = () => [...new Set(sink.batches.flatMap(bodies))].sort();

function texts(prefix: string): string[] {
  return Array.from({ length: 30 }, (_, i) => `${prefix}-${i}`).sort();
}

/** Waits for each packet, because UDP loses those for which there is no room. */
async function sendPackets(all: readonly string[]): Promise<void> {
  const socket = createSocket("udp4");
  for (const text of all) {
    socket.send(text, udp, "127.0.0.1");
    await expect.poll(received).toContain(text);
  }
  socket.close();
}

/** Each on a connection of its own: a tag, a time and a map with the key `log`, as MessagePack. */
async function sendToUnixSocket(all: readonly string[]): Promise<void> {
  const packed = (text: string) => Buffer.from([0xa0 + text.length, ...Buffer.from(text)]);
  await Promise.all(
    all.map(
      (text) =>
        new Promise((resolve, reject) => {
          const entry = Buffer.concat([
            Buffer.from([0x93]),
            packed("t"),
            Buffer.from([1, 0x81]),
            packed("log"),
            packed(text),
          ]);
          const socket = connect(join(directory, "fluent.sock"), () => socket.end(entry));
          socket.resume().once("close", resolve).once("error", reject);
        }),
    ),
  );
}

it("takes datagrams and connections to a Unix socket, and again after it was killed", async () => {
  await sendPackets(texts("udp"));
  await sendToUnixSocket(texts("unix"));
  const first = [...texts("udp"), ...texts("unix")].sort();
  await expect.poll(received).toEqual(first);
  agent.child.kill("SIGKILL");
  await agent.exited;
  agent = await start();
  await sendPackets(texts("again"));
  await sendToUnixSocket(texts("anew"));
  await expect.poll(received).toEqual([...first, ...texts("again"), ...texts("anew")].sort());
});

it("gives each worker the same number of long-lived gRPC connections", async () => {
  const sessions: ReturnType<typeof connectHttp2>[] = [];
  for (let opened = 0; opened < 9; opened++) {
    const session = connectHttp2(`http://127.0.0.1:${agent.ports.grpc}`);
    sessions.push(session);
    expect(await exportOverGrpc(session)).toBe("0");
  }
  for (let round = 0; round < 3; round++)
    expect(await Promise.all(sessions.map(exportOverGrpc))).toEqual(Array(9).fill("0"));
  for (const session of sessions) session.close();
  const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  for (const worker of [1, 2, 3])
    expect(page).toMatch(new RegExp(`^otelcol_receiver_accepted_log_records\\{.*worker="${worker}"\\} 12$`, "m"));
});

it("closes connections beyond the limit of all workers together", async () => {
  const sockets = Array.from({ length: 30 }, () =>
    connect(agent.ports.grpc, "127.0.0.1")
      .on("error", () => {})
      .resume(),
  );
  const open = () => sockets.filter(({ closed }) => !closed).length;
  await expect.poll(open).toBe(10);
  for (const socket of sockets) socket.destroy();
});

/** Resolves with the gRPC status. */
function exportOverGrpc(session: ReturnType<typeof connectHttp2>): Promise<unknown> {
  const { bytes } = logs("over gRPC");
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ...{ ":method": "POST", "content-type": "application/grpc", te: "trailers" },
      ":path": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    });
    stream.on("trailers", (trailers) => resolve(trailers["grpc-status"])).on("error", reject);
    stream.resume().end(Buffer.concat([head, bytes]));
  });
}
