import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { Random } from "../../../../src/agent/testing/fakes.js";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { startBackend } from "./oracle.js";

const project = join(import.meta.dirname, "../../../..");
const ENTRIES = 600;
const KILLS = 8;

async function scene() {
  const folder = temporaryFolder();
  const [otlp, admin] = [await freePort(), await freePort()];
  const backends = { old: await startBackend(), new: await startBackend() };
  for (const backend of Object.values(backends)) {
    backend.isDown = true;
    onTestFinished(() => backend.close());
  }
  const file = join(folder, "config.yaml");
  const write = (name: "old" | "new") =>
    writeFileSync(
      file,
      `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${otlp}"}}}}
exporters: {otlp_http/${name}: {endpoint: "http://127.0.0.1:${backends[name].port}", compression: none, retry_on_failure: {initial_interval: 10ms, max_interval: 50ms}}}
extensions:
  admin: {endpoint: "127.0.0.1:${admin}", token_file: ${JSON.stringify(join(folder, "token"))}}
  reliability: {directory: ${JSON.stringify(join(folder, "queue"))}, durability: process}
service:
  extensions: [admin, reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http/${name}]}}
`,
    );
  let agent: AgentProcess | undefined;
  const start = async () => {
    agent = await startAgentProcess({ file }, { cwd: folder });
  };
  const kill = async () => {
    agent?.child.kill("SIGKILL");
    await agent?.exited;
  };
  onTestFinished(kill);
  const origin = `http://127.0.0.1:${admin}`;
  const api = async <T>(path: string, json?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${await adminToken(origin)}`, "content-type": "application/json" };
    const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
    return (await (await fetch(`${origin}/api/v1${path}`, { headers, ...body })).json()) as T;
  };
  const sluice = (...args: string[]) =>
    promisify(execFile)(process.execPath, [join(project, "bin/sluice.js"), ...args, "--api", origin], {
      cwd: folder,
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => ({ code: error.code, stdout: error.stdout }),
    );
  const post = async (id: string) => {
    const logRecords = [{ body: { stringValue: id } }];
    const { status } = await fetch(`http://127.0.0.1:${otlp}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    expect(status).toBe(200);
  };
  return { backends, write, start, kill, api, sluice, post };
}

describe("the queue of an exporter that was removed while no agent ran", () => {
  it(`is listed at the start, and adopted without loss and without a double, although the agent is killed ${KILLS} times`, async () => {
    const { backends, write, start, kill, api, sluice, post } = await scene();
    const random = new Random(3);
    write("old");
    await start();
    const ids = Array.from({ length: ENTRIES }, (_, i) => `record-0-${i}`);
    for (const id of ids) await post(id);
    await kill();
    write("new");
    await start();
    const listed = await sluice("queue", "list");
    expect(listed.code).toBe(1);
    expect(listed.stdout).toContain("otlp_http/old");
    expect((await sluice("status")).stdout).toContain("sluice queue adopt otlp_http/old --to EXPORTER");
    for (let i = 0; i < KILLS; i++) {
      await api("/queues/orphaned/otlp_http%2Fold/adopt", { to: "otlp_http/new", by: "ann" });
      await new Promise((resolve) => setTimeout(resolve, random.below(25)));
      await kill();
      await start();
    }
    const done = await sluice("queue", "adopt", "otlp_http/old", "--to", "otlp_http/new", "--json");
    expect([0, 1]).toContain(done.code); // 1: everything had been adopted before the last kill
    await expect.poll(() => api("/queues/orphaned")).toEqual({ queues: [] });
    backends.new.isDown = false;
    await expect.poll(() => [...backends.new.seen.keys()].sort()).toEqual([...ids].sort());
    expect([...backends.new.seen].filter(([, times]) => times > 1)).toEqual([]);
  });
});
