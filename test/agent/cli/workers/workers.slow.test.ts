import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";

let directory: string;
let backend: Server;
let received = 0;
let isDown = false;
let agent: AgentProcess | undefined;
let admin: string;
let metrics: number;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-workers-"));
  received = 0;
  isDown = false;
  backend = createServer((request, response) => {
    request.resume().on("end", () => {
      if (!isDown) received += 1;
      response.writeHead(isDown ? 400 : 200).end();
    });
  });
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  admin = `http://127.0.0.1:${await freePort()}`;
  metrics = await freePort();
  const { port } = backend.address() as AddressInfo;
  const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:${port}"}}
extensions:
  reliability: {directory: "${directory}/queue"}
  admin: {endpoint: "${new URL(admin).host}", token_file: "${directory}/token"}
  health_check: {endpoint: "127.0.0.1:0"}
service:
  workers: 2
  extensions: [reliability, admin, health_check]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${metrics}}}}}]}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;
  agent = await startAgentProcess({ yaml });
});

afterEach(async () => {
  agent?.child.kill("SIGKILL");
  await agent?.exited;
  backend.closeAllConnections();
  backend.close();
  rmSync(directory, { recursive: true, force: true });
});

async function api(path: string, method = "GET"): Promise<Record<string, never>> {
  const headers = { authorization: `Bearer ${await adminToken(admin)}`, "content-type": "application/json" };
  const answer = await fetch(`${admin}/api/v1${path}`, { method, headers, ...(method === "POST" && { body: "{}" }) });
  return (await answer.json()) as Record<string, never>;
}

interface ListedWorker {
  readonly worker: number;
  readonly pid: number;
  readonly state: string;
  readonly restarts: number;
}

async function workers(): Promise<readonly ListedWorker[]> {
  return (await api("/workers"))["workers"] as unknown as ListedWorker[];
}

/** Each on a connection of its own, so that the workers take them in turn. */
async function send(requests: number): Promise<readonly number[]> {
  const record = { body: { stringValue: "a record" } };
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
  const headers = { "content-type": "application/json", connection: "close" };
  const url = `http://127.0.0.1:${agent!.ports.http}/v1/logs`;
  const one = async () => (await fetch(url, { method: "POST", headers, body })).status;
  return Promise.all(Array.from({ length: requests }, one));
}

async function metric(start: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(start));
  return Number(line?.split(" ").at(-1));
}

describe("an agent with two workers", () => {
  it("looks like one agent: its metrics are sums, and it lists its workers", async () => {
    expect(await send(8)).toEqual(Array(8).fill(200));
    await expect.poll(() => received).toBeGreaterThan(0);
    expect(await metric("otelcol_receiver_accepted_log_records_total{")).toBe(8);
    expect(await workers()).toMatchObject([
      { worker: 1, state: "ready", restarts: 0 },
      { worker: 2, state: "ready", restarts: 0 },
    ]);
    await expect.poll(async () => metric("otelcol_exporter_sent_log_records_total{")).toBe(8);
  });

  it("pauses an exporter in all workers, and shows the sum of their queues", async () => {
    await api("/exporters/otlp_http/pause", "POST");
    expect(await send(6)).toEqual(Array(6).fill(200));
    const read = async () =>
      (await api("/exporters"))["exporters"] as unknown as { paused: boolean; queue: { items: number } }[];
    expect(await read()).toMatchObject([{ paused: true, queue: { items: 6 } }]);
    expect(received).toBe(0);
    await api("/exporters/otlp_http/resume", "POST");
    await expect.poll(async () => (await read())[0]!.queue.items).toBe(0);
    expect(received).toBeGreaterThan(0);
  });

  it("lists the dead letters of all workers, and replays them together", async () => {
    isDown = true;
    await send(6);
    const letters = async () => (await api("/dead-letters?limit=100"))["entries"] as unknown as { items: number }[];
    const records = async () => (await letters()).reduce((total, { items }) => total + items, 0);
    await expect.poll(records).toBe(6);
    isDown = false;
    const answer = await fetch(`${admin}/api/v1/dead-letters/replay`, {
      method: "POST",
      headers: { authorization: `Bearer ${await adminToken(admin)}`, "content-type": "application/json" },
      body: JSON.stringify({ all: true, by: "test", approved: true }),
    });
    expect(answer.status, await answer.text()).toBeLessThan(300);
    await expect.poll(records).toBe(0);
  });

  it("restarts a worker that was killed, while the other one serves", async () => {
    const [first] = await workers();
    process.kill(first!.pid, "SIGKILL");
    await expect.poll(async () => (await workers())[0]).toMatchObject({ worker: 1, state: "ready", restarts: 1 });
    expect((await workers())[1]).toMatchObject({ restarts: 0 });
    expect(await send(4)).toEqual(Array(4).fill(200));
  });

  it("ends with all its workers, drained, on SIGTERM", async () => {
    const pids = (await workers()).map(({ pid }) => pid);
    await send(4);
    agent!.child.kill("SIGTERM");
    expect(await agent!.exited).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(received).toBeGreaterThan(0);
  });
});
