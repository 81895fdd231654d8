import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { type AgentProcess, startAgentProcess } from "../../support/agent-process.js";
import { LINE_RECEIVERS, type LineReceiver } from "./line-receivers.js";
import { hasSchedulerStatistics, MAX_TURN_MS, meteredEnv, TurnMeter } from "./turn-meter.js";

/** Fifty clients hold no more than a few lines each. */
const MAX_PEAK_MIB = 600;
const CLIENTS = 50;

describe.runIf(hasSchedulerStatistics)("the worst lines, packets and frames a receiver can be given", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-lines-"));
  const ports = new Map<string, number>();
  let agent: AgentProcess;
  let meter: TurnMeter;

  beforeAll(async () => {
    for (const name of Object.keys(LINE_RECEIVERS)) ports.set(name, await freePort());
    writeFileSync(join(folder, "a.log"), "");
    const file = join(folder, "longest-turn.json");
    agent = await startAgentProcess({ yaml: configOf(folder, ports) }, { env: meteredEnv(file) });
    meter = new TurnMeter(agent, file);
  });

  afterAll(async () => {
    agent.child.kill("SIGKILL");
    await agent.exited;
    rmSync(folder, { recursive: true, force: true });
  });

  async function expectShort(name: string, work: () => Promise<void>): Promise<void> {
    const { longestMs, peakMiB } = await meter.worstOf(name, work, MAX_PEAK_MIB);
    expect(longestMs < MAX_TURN_MS || [name, longestMs]).toBe(true);
    expect(peakMiB < MAX_PEAK_MIB || [name, peakMiB]).toBe(true);
  }

  it.each(Object.entries(LINE_RECEIVERS))("%s", async (name, receiver) => {
    for (const [input, data] of Object.entries(receiver.data)) {
      const bytes = data();
      await expectShort(`${name}, ${input}`, () => send(receiver, ports.get(name)!, bytes));
    }
  });

  it.each(["syslog/tcp", "statsd/tcp"])("%s, from many clients at once", async (name) => {
    const receiver = LINE_RECEIVERS[name]!;
    const bytes = receiver.data["very short lines"]!().subarray(0, 64 * 1024);
    const all = () => Promise.all(Array.from({ length: CLIENTS }, () => send(receiver, ports.get(name)!, bytes)));
    await expectShort(`${name}, ${CLIENTS} clients`, async () => void (await all()));
  });

  it("file_log", async () => {
    await expectShort("file_log, very short lines", async () => {
      writeFileSync(join(folder, "a.log"), "a\n".repeat(1_000_000), { flag: "a" });
      await setTimeout(2000);
    });
  });
});

function configOf(folder: string, ports: ReadonlyMap<string, number>): string {
  const receivers: Record<string, object> = { file_log: { include: [`${folder}/*.log`], start_at: "beginning" } };
  const pipelines: Record<string, object> = { "logs/file_log": { receivers: ["file_log"], exporters: ["nop"] } };
  for (const [name, { signal, config }] of Object.entries(LINE_RECEIVERS)) {
    receivers[name] = JSON.parse(JSON.stringify(config).replaceAll("$PORT", String(ports.get(name))));
    pipelines[`${signal}/${name.replace("/", "_")}`] = { receivers: [name], exporters: ["nop"] };
  }
  const extensions = { reliability: { directory: join(folder, "queue") }, health_check: { endpoint: "127.0.0.1:0" } };
  const service = { extensions: Object.keys(extensions), telemetry: { metrics: { level: "none" } }, pipelines };
  return JSON.stringify({ receivers, exporters: { nop: {} }, extensions, service });
}

/** Resolves some time after the data were read. */
async function send({ transport }: LineReceiver, port: number, bytes: Buffer): Promise<void> {
  if (transport === "udp") {
    const socket = createSocket("udp4");
    for (let i = 0; i < 8; i++)
      await new Promise<void>((resolve) => void socket.send(bytes, port, "127.0.0.1", () => resolve()));
    await setTimeout(500);
    return void socket.close();
  }
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  socket.end(bytes);
  socket.resume();
  await once(socket, "close");
  await setTimeout(200);
}
