import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { Random } from "../../../../src/agent/testing/fakes.js";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import type { Rehydration } from "../../../../src/runtime/contract/rehydration/rehydration.js";
import { S3Client } from "../../../../src/runtime/net/aws/s3/s3-client.js";
import { useEnvironment } from "../../../../src/runtime/system/environment.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { S3_SERVERS, type S3Server, s3Environment } from "../../../support/servers/s3/s3.js";
import { archiveKey, logObject, writeObject } from "../../../support/telemetry/archived-objects.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { startBackend } from "../../host/reload/oracle.js";

const project = join(import.meta.dirname, "../../../..");
const OBJECTS = 300;
const RECORDS = 5;
const KILLS = Number(process.env["CHAOS_KILLS"] ?? 8);
const NOON = Date.parse("2026-03-10T12:00:00Z");

/** Where the archive is, and how it is filled. */
interface TestArchive {
  readonly from: readonly string[];
  put(key: string, bytes: Buffer): Promise<void>;
  /** Lets the server fail for a moment. */
  fail?(kind: number): Promise<void>;
}

function folderArchive(): TestArchive {
  const folder = temporaryFolder();
  return { from: [`file:${folder}`], put: async (key, bytes) => writeObject(folder, key, bytes) };
}

async function bucketArchive(start: () => Promise<S3Server>): Promise<TestArchive> {
  const server = await start();
  onTestFinished(() => server.close());
  const address = { region: "us-east-1", bucket: "archive", endpoint: new URL(server.endpoint), isPathStyle: true };
  useEnvironment(s3Environment);
  const client = new S3Client(address, "", { clock: systemClock, random: Math.random, logger: console as never });
  onTestFinished(() => {
    client.close();
    useEnvironment({});
  });
  return {
    from: ["s3://archive", "--endpoint", server.endpoint, "--path-style"],
    put: (key, bytes) => client.putObject(key, bytes, new AbortController().signal),
    fail: (kind) => failFor(300, server, kind),
  };
}

/** A pause, or the death of the server. */
async function failFor(ms: number, { emulator, process: server }: S3Server, kind: number): Promise<void> {
  if (emulator !== undefined) return emulator.outage(ms);
  if (kind % 2 === 0) server!.pause();
  else await server!.kill();
  await delay(ms);
  if (kind % 2 === 0) server!.resume();
  else await server!.start();
}

async function scene(workers = 1, archive: TestArchive = folderArchive()) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "archive"));
  const admin = await freePort();
  const backend = await startBackend();
  onTestFinished(() => backend.close());
  const file = join(folder, "config.yaml");
  writeFileSync(
    file,
    `
receivers: {nop: {}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:${backend.port}", compression: none, retry_on_failure: {initial_interval: 10ms, max_interval: 50ms}}}
extensions:
  admin: {endpoint: "127.0.0.1:${admin}", token_file: ${JSON.stringify(join(folder, "token"))}}
  reliability: {directory: ${JSON.stringify(join(folder, "queue"))}, durability: process}
service:
  extensions: [admin, reliability]
  telemetry: {metrics: {level: none}}
  ${workers > 1 ? `workers: ${workers}` : ""}
  pipelines: {logs: {receivers: [nop], exporters: [otlp_http]}}
`,
  );
  let agent: AgentProcess | undefined;
  const start = async () => {
    agent = await startAgentProcess({ file }, { cwd: folder, env: s3Environment });
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
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  const ids: string[] = [];
  for (let i = 0; i < OBJECTS; i++) {
    const own = Array.from({ length: RECORDS }, (_, n) => `record-0-${i * RECORDS + n}`);
    ids.push(...own);
    const { name, bytes } = await logObject(`${i}`, own, i % 2 === 0 ? "otlp_proto" : "otlp_json", "gzip");
    await archive.put(archiveKey(NOON + (i % 60) * 60_000, name), bytes);
  }
  const times = ["--since", "2026-03-10T12:00Z", "--until", "2026-03-10T13:00Z", "--timezone", "UTC"];
  const command = ["rehydrate", "--from", ...archive.from, ...times, "--to", "otlp_http"];
  return { backend, start, kill, api, sluice, ids, command };
}

const ARCHIVES: readonly (readonly [string, () => TestArchive | Promise<TestArchive>])[] = [
  ["a folder", folderArchive],
  ...S3_SERVERS.map(([name, start]) => [name, () => bucketArchive(start)] as const),
];

describe.each(ARCHIVES)("sluice rehydrate from %s", (_, openArchive) => {
  it(`queues every record exactly once, although agent and server are killed ${KILLS} times`, {
    timeout: 120_000 + KILLS * 20_000,
  }, async () => {
    const archive = await openArchive();
    const { backend, start, kill, api, sluice, ids, command } = await scene(1, archive);
    const random = new Random(7);
    // Nothing leaves the queue while the agent is killed, so whatever the backend gets twice was queued twice.
    backend.isDown = true;
    await start();
    const estimate = await sluice(...command, "--dry-run", "--json");
    expect(JSON.parse(estimate.stdout)).toMatchObject({ state: "done", estimate: { objects: OBJECTS } });
    let id: string | undefined;
    for (let i = 0; i < KILLS; i++) {
      const running = sluice(...command, "--rate", "2000", "--yes", "--json");
      const failing = archive.fail?.(i);
      const aim = Math.min(ids.length - 50, Math.round(((i + random.next()) / KILLS) * ids.length));
      await expect
        .poll(async () => {
          const jobs = await api<{ rehydrations: Rehydration[] }>("/rehydrations");
          const job = jobs.rehydrations.find(({ dryRun }) => !dryRun);
          id ??= job?.id;
          return job !== undefined && (job.state !== "running" ? i > 0 && job.sent >= aim : job.sent >= aim);
        })
        .toBe(true);
      await kill();
      expect((await running).code).not.toBe(0);
      await failing;
      await start();
    }
    const last = await sluice(...command, "--yes", "--json");
    expect(last).toMatchObject({ code: 0 });
    expect(JSON.parse(last.stdout)).toMatchObject({
      id,
      state: "done",
      sent: ids.length,
      objects: OBJECTS,
      faults: {},
    });
    backend.isDown = false;
    await expect.poll(() => ids.filter((each) => backend.seen.get(each) !== 1)).toEqual([]);
    expect(backend.seen.size).toBe(ids.length);
  });
});

describe("sluice rehydrate", () => {
  it("works for an agent with several workers, and in words", async () => {
    const { backend, start, sluice, ids, command } = await scene(2);
    await start();
    const { code, stdout } = await sluice(...command, "--yes");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^300 objects with .* and about [\d,]+ records, for otlp_http\.\n/);
    expect(stdout).toContain("1500 records of 300 objects were sent to otlp_http (rehydration ");
    await expect.poll(() => ids.filter((each) => backend.seen.get(each) !== 1)).toEqual([]);
    const again = await sluice(...command, "--dry-run");
    expect(again.stdout).toContain("has sent 1,500 of them already; they will be sent again");
    expect((await sluice(...command)).stderr).toContain("say --yes, or --dry-run");
    const none = await sluice("rehydrate", "--from", "file:archive", "--since", "1h", "--to", "otlp_http", "--yes");
    expect(none.stdout).toContain("There are no objects in file:archive for these times.");
  });
});
