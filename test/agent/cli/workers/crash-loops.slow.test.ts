import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { WorkerProcesses } from "../../../../src/agent/cli/workers/worker-processes.js";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** An exporter that kills its process when it is to send the poison, and notes everything else. */
const DEADLY = `
import { appendFileSync } from "node:fs";
import { defineExporter } from "sluice/plugin";
const taken = new URL("./taken", import.meta.url);
export default defineExporter({
  type: "deadly",
  create: () => ({
    async send(batch) {
      const text = Buffer.concat([...batch.chunks]).toString("latin1");
      if (text.includes("poison")) process.kill(process.pid, "SIGKILL");
      appendFileSync(taken, text);
    },
  }),
});
`;

async function deadlyAgent(directory: string) {
  const admin = `http://127.0.0.1:${await freePort()}`;
  writeFileSync(join(directory, "deadly.js"), DEADLY);
  writeFileSync(join(directory, "taken"), "");
  const yaml = `
plugins: [./deadly.js]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {deadly: {sending_queue: {batch: null}}}
extensions:
  reliability: {directory: "${directory}/queue"}
  admin: {endpoint: "${new URL(admin).host}", token_file: "${directory}/token"}
service:
  workers: 2
  extensions: [reliability, admin]
  pipelines: {logs: {receivers: [otlp], exporters: [deadly]}}
`;
  const file = join(directory, "sluice.yaml");
  writeFileSync(file, yaml);
  const start = async (): Promise<AgentProcess> => {
    const agent = await startAgentProcess({ file });
    ends.push(async () => {
      agent.child.kill("SIGKILL");
      await agent.exited;
    });
    return agent;
  };
  return { admin, start, taken: () => readFileSync(join(directory, "taken"), "latin1") };
}

async function send({ ports }: AgentProcess, text: string): Promise<number> {
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: text } }] }] }] });
  const headers = { "content-type": "application/json", connection: "close" };
  return (await fetch(`http://127.0.0.1:${ports.http}/v1/logs`, { method: "POST", headers, body })).status;
}

it("starts though an entry in a queue kills its worker: the entry is found, named and set aside", async () => {
  const { admin, start, taken } = await deadlyAgent(temporaryFolder());
  const killed = await start();
  expect(await send(killed, "poison")).toBe(200);
  await expect.poll(() => killed.output.stderr).toContain("a worker has exited");
  killed.child.kill("SIGKILL");
  await killed.exited;
  const agent = await start();
  const headers = { authorization: `Bearer ${await adminToken(admin)}` };
  const letters = async () => {
    const answer = await fetch(`${admin}/api/v1/dead-letters`, { headers });
    return ((await answer.json()) as { entries: { id: string; failure: { reason: string } }[] }).entries;
  };
  await expect.poll(letters).toMatchObject([{ failure: { reason: "crash_loop" } }]);
  const [letter] = await letters();
  expect(agent.output.stderr).toContain(`entry ${letter!.id} of deadly`);
  expect(await Promise.all(["one", "two", "three", "four"].map((text) => send(agent, text)))).toEqual(
    Array(4).fill(200),
  );
  for (const text of ["one", "two", "three", "four"]) await expect.poll(taken).toContain(text);
});

it("restarts a worker carefully that hangs again and again", async () => {
  const directory = temporaryFolder();
  const file = join(directory, "sluice.yaml");
  const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {nop: {}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}
`;
  writeFileSync(file, yaml);
  const clock = new FakeClock();
  const careful: boolean[] = [];
  const processes = new WorkerProcesses({
    ...{ clock, random: () => 1, logger: silentLogger, onLastMetrics() {}, onEnded() {}, prepare: async () => {} },
    assignment(number, isCareful) {
      careful[processes.status()[0]!.restarts] = isCareful;
      return {
        ...{ number, careful: isCareful, count: 1, socketDirectory: directory, key: Buffer.alloc(32) },
        ...{ config: [file], set: [], shutdownTimeoutMs: 1000, snapshot },
      };
    },
  });
  const snapshot = { files: { [file]: yaml }, plugins: {}, remoteFiles: [] };
  ends.push(() => processes.stop(0));
  expect(await processes.start(1)).toEqual([]);
  for (const restarts of [1, 2]) {
    process.kill(processes.status()[0]!.pid!, "SIGSTOP");
    await expect
      .poll(() => {
        clock.advance(5000);
        return processes.status()[0]!;
      })
      .toMatchObject({ state: "starting", restarts });
    await expect
      .poll(() => {
        clock.advance(1);
        return processes.status()[0]!.state;
      })
      .toBe("ready");
  }
  expect(careful).toEqual([false, false, true]);
});
