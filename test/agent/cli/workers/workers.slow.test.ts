import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";

let directory: string;
let backend: Server;
let received = 0;
/** The paths of the requests at the backend. */
let paths: Set<string>;
let isDown = false;
let agent: AgentProcess | undefined;
let admin: string;
let metrics: number;
let health: number;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-workers-"));
  received = 0;
  paths = new Set();
  isDown = false;
  backend = createServer((request, response) => {
    request.resume().on("end", () => {
      paths.add(request.url!);
      if (!isDown) received += 1;
      response.writeHead(isDown ? 400 : 200).end();
    });
  });
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  admin = `http://127.0.0.1:${await freePort()}`;
  metrics = await freePort();
  health = await freePort();
  writeFileSync(`${directory}/gate.js`, GATE);
  writeConfig("/v1/logs");
  agent = await startAgentProcess({ file: configFile() }, { env: { TMPDIR: directory } });
});

/** An extension whose start waits as long as there is a file named `closed`. */
const GATE = `
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineExtension } from "sluice/plugin";
const closed = new URL("./closed", import.meta.url);
export default defineExtension({
  type: "gate",
  create: (_, { metrics }) => ({
    async start() {
      if (existsSync(closed)) writeFileSync(new URL("./waiting", import.meta.url), "");
      while (existsSync(closed)) await delay(5);
    },
    stop: async () => metrics.counter("test_gates_closed", { description: "Counted at the end." }).add(1),
  }),
});
`;

const configFile = () => `${directory}/sluice.yaml`;

function writeConfig(path: string, count = 2): void {
  const { port } = backend.address() as AddressInfo;
  const yaml = `
plugins: [./gate.js]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {logs_endpoint: "http://127.0.0.1:${port}${path}"}}
extensions:
  reliability: {directory: "${directory}/queue"}
  admin: {endpoint: "${new URL(admin).host}", token_file: "${directory}/token"}
  health_check: {endpoint: "127.0.0.1:${health}"}
  gate: {}
service:
  workers: ${count}
  extensions: [reliability, admin, health_check, gate]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${metrics}}}}}]}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;
  writeFileSync(configFile(), yaml);
}

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

async function healthStatus(): Promise<number> {
  return (await fetch(`http://127.0.0.1:${health}/`)).status;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
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

/** Resolves while the second worker waits at the gate. */
async function startSecondAgainSlowly(): Promise<void> {
  writeFileSync(`${directory}/closed`, "");
  process.kill((await workers())[1]!.pid, "SIGKILL");
  await expect.poll(() => existsSync(`${directory}/waiting`)).toBe(true);
}

describe("an agent with two workers", () => {
  it("looks like one agent: its metrics are sums, and it lists its workers", async () => {
    expect(await send(8)).toEqual(Array(8).fill(200));
    await expect.poll(() => received).toBeGreaterThan(0);
    expect(await metric("otelcol_receiver_accepted_log_records{")).toBe(8);
    expect(await workers()).toMatchObject([
      { worker: 1, state: "ready", restarts: 0 },
      { worker: 2, state: "ready", restarts: 0 },
    ]);
    await expect.poll(async () => metric("otelcol_exporter_sent_log_records{")).toBe(8);
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

  it("keeps an exporter paused in a worker that was started again", async () => {
    await api("/exporters/otlp_http/pause", "POST");
    const [, second] = await workers();
    process.kill(second!.pid, "SIGKILL");
    await expect.poll(async () => (await workers())[1]).toMatchObject({ state: "ready", restarts: 1 });
    expect(await send(6)).toEqual(Array(6).fill(200));
    const read = async () => (await api("/exporters"))["exporters"] as unknown as { queue: { items: number } }[];
    await expect.poll(async () => (await read())[0]!.queue.items).toBe(6);
    expect(received).toBe(0);
  });

  it("gives a worker the new config that was starting during the reload", async () => {
    await startSecondAgainSlowly();
    writeConfig("/new");
    agent!.child.kill("SIGHUP");
    await expect.poll(() => agent!.output.stderr).toContain("config reloaded");
    rmSync(`${directory}/closed`);
    await expect.poll(async () => (await workers())[1]).toMatchObject({ state: "ready" });
    expect(await send(8)).toEqual(Array(8).fill(200));
    await expect.poll(() => received).toBeGreaterThanOrEqual(2);
    expect([...paths]).toEqual(["/new"]);
  });

  it("ends the connection of a client whose worker ended before it took it", async () => {
    const [, second] = await workers();
    process.kill(second!.pid, "SIGSTOP");
    const request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    const clients = Array.from({ length: 4 }, () => {
      const socket = connect(agent!.ports.http, "127.0.0.1", () => socket.write(request));
      return socket.resume().on("error", () => {});
    });
    const waiting = () => clients.filter(({ closed }) => !closed).length;
    await expect.poll(waiting).toBe(1);
    process.kill(second!.pid, "SIGKILL");
    await expect.poll(waiting).toBe(0);
  });

  it("shows the metrics of the others while a worker hangs", async () => {
    const [, second] = await workers();
    process.kill(second!.pid, "SIGSTOP");
    const sent = send(4); // one of them waits for the worker
    await expect.poll(async () => metric("otelcol_receiver_accepted_log_records{")).toBe(3);
    expect((await workers())[1]).toEqual(second); // it was not killed yet
    process.kill(second!.pid, "SIGCONT");
    expect(await sent).toEqual(Array(4).fill(200));
    await expect.poll(async () => metric("otelcol_receiver_accepted_log_records{")).toBe(4);
  });

  it("leaves no worker and no folder of sockets behind when it is killed, and removes old ones of others", async () => {
    const folders = () => readdirSync(directory).filter((name) => name.startsWith("sluice-workers-"));
    const pids = (await workers()).map(({ pid }) => pid);
    agent!.child.kill("SIGKILL");
    await agent!.exited;
    await expect.poll(folders).toEqual([]);
    for (const pid of pids) await expect.poll(() => isRunning(pid)).toBe(false);
    const killed = `sluice-workers-${pids[0]}-abc`;
    const running = `sluice-workers-${process.pid}-abc`;
    for (const folder of [killed, running]) {
      mkdirSync(join(directory, folder));
      utimesSync(join(directory, folder), 0, 0);
    }
    agent = await startAgentProcess({ file: configFile() }, { env: { TMPDIR: directory } });
    await expect.poll(folders).not.toContain(killed);
    expect(folders()).toHaveLength(2);
    expect(folders()).toContain(running);
  });

  it("is not ready while all workers are down, and starts them though the folder of their sockets was removed", async () => {
    const [folder] = readdirSync(directory).filter((name) => name.startsWith("sluice-workers-"));
    rmSync(join(directory, folder!), { recursive: true });
    writeFileSync(`${directory}/closed`, "");
    for (const { pid } of await workers()) process.kill(pid, "SIGKILL");
    await expect.poll(() => existsSync(`${directory}/waiting`)).toBe(true);
    expect(await healthStatus()).toBe(503);
    rmSync(`${directory}/closed`);
    await expect.poll(healthStatus).toBe(200);
    await expect.poll(async () => (await workers()).map(({ state }) => state)).toEqual(["ready", "ready"]);
  });

  it("counts what workers did until their end when another number of them is started", async () => {
    writeConfig("/v1/logs", 1);
    agent!.child.kill("SIGHUP");
    await expect.poll(() => agent!.output.stderr).toContain("config reloaded");
    expect(await metric("test_gates_closed")).toBe(2);
  });

  it("stops while a worker is being started", async () => {
    await startSecondAgainSlowly();
    agent!.child.kill("SIGTERM");
    expect(await agent!.exited, agent!.output.stderr).toBe(0);
  });

  it("ends with all its workers, drained, on SIGTERM", async () => {
    const pids = (await workers()).map(({ pid }) => pid);
    await send(4);
    agent!.child.kill("SIGTERM");
    expect(await agent!.exited).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(received).toBeGreaterThan(0);
    expect(agent!.output.stderr).not.toContain("no connection to another worker");
  });
});
