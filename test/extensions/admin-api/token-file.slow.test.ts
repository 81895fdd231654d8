import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AgentProcess, startAgentProcess } from "../../support/agent-process.js";
import { TEST_LIMIT_MS } from "../../support/limits.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const run = promisify(execFile);
const sluice = join(import.meta.dirname, "../../../bin/sluice.js");

interface RunningAgent extends AgentProcess {
  readonly api: string;
  readonly tokenFile: string;
}

/** An agent with the default token file in this folder. */
async function startIn(folder: string, queues: string, service = ""): Promise<RunningAgent> {
  const agent = await startAgentProcess(
    {
      yaml: `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {nop: {}}
extensions: {admin: {endpoint: "127.0.0.1:0"}, reliability: {directory: ./${queues}}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}${service}}`,
    },
    { cwd: folder },
  );
  onTestFinished(() => void agent.child.kill("SIGKILL"));
  const line = agent.output.stderr.split("\n").find((text) => text.includes("admin API is listening"))!;
  const { console: api, tokenFile } = JSON.parse(line) as { console: string; tokenFile: string };
  return { ...agent, api, tokenFile };
}

async function end(agent: AgentProcess, signal: NodeJS.Signals): Promise<void> {
  agent.child.kill(signal);
  await agent.exited;
}

const status = ({ api }: RunningAgent, folder: string) =>
  run(process.execPath, [sluice, "status", "--api", api], { cwd: folder }).then(({ stdout }) => stdout);

describe("agents that run in the same folder", () => {
  it.each(["first", "second"])(
    "have a token file each, which the command line finds, until the %s stops",
    async (stops) => {
      const folder = temporaryFolder();
      const [first, second] = [await startIn(folder, "a"), await startIn(folder, "b", ", workers: 2")];
      const path = join(folder, "data", "admin-token");
      expect([first.tokenFile, second.tokenFile]).toEqual([path, `${path}-2`]);
      expect(second.output.stderr).toContain(`another agent uses ${path}: the token of this agent is in ${path}-2`);
      for (const agent of [first, second]) expect(await status(agent, folder)).toContain("nop");
      const [leaving, staying] = stops === "first" ? [first, second] : [second, first];
      await end(leaving, "SIGTERM");
      expect(readdirSync(join(folder, "data"))).toEqual([staying.tokenFile.split("/").at(-1)]);
      expect(await status(staying, folder)).toContain("nop");
    },
    TEST_LIMIT_MS,
  );

  it(
    "take over the names of killed agents, and remove what those left",
    async () => {
      const folder = temporaryFolder();
      const killed = [await startIn(folder, "a"), await startIn(folder, "b")];
      for (const agent of killed) await end(agent, "SIGKILL");
      mkdirSync(join(folder, "data", "admin-token-notes"));
      const next = await startIn(folder, "a");
      const names = ["admin-token", "admin-token-notes"];
      expect([next.tokenFile, readdirSync(join(folder, "data"))]).toEqual([join(folder, "data", "admin-token"), names]);
      expect(await status(next, folder)).toContain("nop");
    },
    TEST_LIMIT_MS,
  );

  it(
    "do not take the file of an agent that is stopped with SIGSTOP",
    async () => {
      const folder = temporaryFolder();
      const first = await startIn(folder, "a");
      const token = readFileSync(first.tokenFile, "utf8");
      first.child.kill("SIGSTOP");
      const second = await startIn(folder, "b");
      expect(second.tokenFile).toBe(`${first.tokenFile}-2`);
      await end(second, "SIGTERM");
      first.child.kill("SIGCONT");
      expect(readFileSync(first.tokenFile, "utf8")).toBe(token);
      expect(await status(first, folder)).toContain("nop");
    },
    TEST_LIMIT_MS,
  );
});
