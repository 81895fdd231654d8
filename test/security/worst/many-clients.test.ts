import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../../support/agent-process.js";
import { WORST_RECEIVERS } from "./receivers.js";
import { hasSchedulerStatistics, MAX_TURN_MS, meteredEnv, TurnMeter } from "./turn-meter.js";

const CLIENTS = 50;
/** Fifty requests of 20 MB as they are in memory, and the heap. */
const MAX_PEAK_MIB = 1500;
/** Requests that a client sends without waiting for an answer. */
const PIPELINED = 2000;
/** Of each format, a request that costs much, and is small enough that fifty of them fit into the memory of an agent. */
const REQUESTS: readonly (readonly [receiver: string, request: string])[] = [
  ["splunk_hec", "events of a host each"],
  ["splunk_hec", "brackets without an end"],
  ["zipkin", "spans of a service each"],
  ["otlp/logs", "records with attributes"],
  ["otlp/logs", "brackets without an end"],
];
const ENDPOINTS: Readonly<Record<string, string>> = {
  splunk_hec: "/services/collector",
  zipkin: "/api/v2/spans",
  "otlp/logs": "/v1/logs",
};

describe.runIf(hasSchedulerStatistics)(`${CLIENTS} clients at once`, () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-clients-"));
  let agent: AgentProcess;
  let meter: TurnMeter;
  const ports = new Map<string, number>();

  beforeAll(async () => {
    const file = join(folder, "longest-turn.json");
    agent = await startAgentProcess({ yaml: configOf(folder) }, { env: meteredEnv(file) });
    meter = new TurnMeter(agent, file);
    for (const line of agent.output.stderr.split("\n").filter((each) => each.includes('"listening for'))) {
      const { component, port, http } = JSON.parse(line);
      ports.set(component.replace("receiver ", ""), Number(port ?? http.split(":").at(-1)));
    }
  });

  afterAll(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
    rmSync(folder, { recursive: true, force: true });
  });

  const headOf = (path: string, length: number) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${length}\r\n\r\n`;

  async function post(receiver: string, body: Buffer): Promise<void> {
    const socket = connect(ports.get(receiver)!, "127.0.0.1").on("error", () => {});
    socket.write(headOf(ENDPOINTS[receiver]!, body.length));
    socket.write(body);
    await once(socket, "data");
    socket.destroy();
  }

  it.each(REQUESTS)("do not block %s with %s", async (receiver, request) => {
    const body = gzipSync(WORST_RECEIVERS[receiver]!.requests[request]!(), { level: 1 });
    const all = () => Promise.all(Array.from({ length: CLIENTS }, () => post(receiver, body)));
    const turns = await meter.worstOf(`${receiver}, ${request}`, async () => void (await all()));
    expect(turns.longestMs).toBeLessThan(MAX_TURN_MS);
    expect(turns.peakMiB).toBeLessThan(MAX_PEAK_MIB);
  });

  it("do not keep others waiting that send a byte now and then, or never read their answers", async () => {
    const receiver = "otlp/logs";
    const small = gzipSync('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}');
    const port = ports.get(receiver)!;
    const open = (): Socket => connect(port, "127.0.0.1").on("error", () => {});
    const slow = Array.from({ length: CLIENTS }, open);
    for (const socket of slow) socket.write(headOf(ENDPOINTS[receiver]!, small.length).slice(0, -2));
    const requests = Buffer.concat(
      Array.from({ length: PIPELINED }, () => [Buffer.from(headOf(ENDPOINTS[receiver]!, small.length)), small]).flat(),
    );
    const deaf: Socket[] = [];
    const turns = await meter.worstOf("slow and deaf clients", async () => {
      for (let i = 0; i < CLIENTS; i++) {
        const socket = open().pause();
        socket.write(requests);
        deaf.push(socket);
      }
      for (let i = 0; i < 10; i++) {
        for (const socket of slow) socket.write("X");
        await post(receiver, small);
        await setTimeout(50);
      }
      await meter.idle();
    });
    expect(turns.longestMs).toBeLessThan(MAX_TURN_MS);
    expect(turns.peakMiB).toBeLessThan(MAX_PEAK_MIB);
    for (const socket of [...slow, ...deaf]) socket.destroy();
  });
});

function configOf(folder: string): string {
  const endpoint = "127.0.0.1:0";
  return JSON.stringify({
    receivers: { splunk_hec: { endpoint }, zipkin: { endpoint }, "otlp/logs": { protocols: { http: { endpoint } } } },
    exporters: { nop: {} },
    extensions: { reliability: { directory: join(folder, "queue") }, health_check: { endpoint } },
    service: {
      extensions: ["reliability", "health_check"],
      telemetry: { metrics: { level: "none" } },
      pipelines: {
        logs: { receivers: ["splunk_hec", "otlp/logs"], exporters: ["nop"] },
        traces: { receivers: ["zipkin"], exporters: ["nop"] },
      },
    },
  });
}
