import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { type AgentProcess, adminToken, startAgentProcess } from "../../../support/agent-process.js";

const project = join(import.meta.dirname, "../../../..");
const folders: string[] = [];
const agents: AgentProcess[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) {
    agent.child.kill("SIGKILL");
    await agent.exited;
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function scene(args: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-reload-"));
  folders.push(folder);
  const [otlp, admin] = [await freePort(), await freePort()];
  const file = join(folder, "config.yaml");
  const yaml = (value: string) => `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${otlp}"}}}}
processors: {attributes: {actions: [{key: k, value: ${value}, action: insert}]}}
exporters: {debug: {}}
extensions:
  admin: {endpoint: "127.0.0.1:${admin}", token_file: ${JSON.stringify(join(folder, "token"))}}
  reliability: {directory: ${JSON.stringify(join(folder, "queue"))}}
service:
  extensions: [admin, reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [attributes], exporters: [debug]}}
`;
  writeFileSync(file, yaml("one"));
  const agent = await startAgentProcess({ file }, { cwd: folder, args });
  agents.push(agent);
  const origin = `http://127.0.0.1:${admin}`;
  const headers = { authorization: `Bearer ${await adminToken(origin)}` };
  const config = async () =>
    (await (await fetch(`${origin}/api/v1/config`, { headers })).json()) as {
      generation: { number: number };
      differs: boolean;
      lastReload: { outcome: string } | null;
    };
  const sluice = (...given: string[]) =>
    promisify(execFile)(process.execPath, [join(project, "bin/sluice.js"), ...given, "--api", origin], {
      cwd: folder,
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => ({ code: error.code, stdout: error.stdout }),
    );
  return { agent, file, yaml, config, sluice };
}

describe("sluice run", () => {
  it("reloads on SIGHUP, and runs on with the old config if the new one has errors or is gone", async () => {
    const { agent, file, yaml, config } = await scene();
    writeFileSync(file, yaml("two"));
    expect(await config()).toMatchObject({ generation: { number: 1 }, differs: true });
    agent.child.kill("SIGHUP");
    await expect.poll(config).toMatchObject({ generation: { number: 2 }, differs: false });
    writeFileSync(file, "receivers: {otlp");
    agent.child.kill("SIGHUP");
    await expect.poll(config).toMatchObject({ generation: { number: 2 }, lastReload: { outcome: "invalid" } });
    rmSync(file);
    agent.child.kill("SIGHUP");
    writeFileSync(file, yaml("three"));
    agent.child.kill("SIGHUP");
    await expect.poll(config).toMatchObject({ generation: { number: 3 } });
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  });

  it("is not ended by SIGHUP while it starts, and reloads when it has started", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-reload-"));
    folders.push(folder);
    const file = join(folder, "config.yaml");
    writeFileSync(
      join(folder, "hang-up.mjs"),
      `setTimeout(() => process.kill(process.pid, "SIGHUP"), 0);
      import { defineExtension } from "sluice/plugin";
      const start = async () => void process.kill(process.pid, "SIGHUP");
      export default defineExtension({ type: "hang_up", create: () => ({ start, stop: async () => {} }) });`,
    );
    writeFileSync(
      file,
      `plugins: [./hang-up.mjs]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {debug: {}}
extensions: {hang_up: {}, admin: {endpoint: "127.0.0.1:0"}, health_check: {endpoint: "127.0.0.1:0"}}
service:
  extensions: [hang_up, admin, health_check]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [debug]}}
`,
    );
    const agent = await startAgentProcess({ file }, { cwd: folder });
    agents.push(agent);
    await expect.poll(() => agent.output.stderr).toContain("config reloaded: nothing has changed");
    agent.child.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
  });

  it("does not hang on a pipe or an endless device in the place of a file", async () => {
    const { file, yaml, sluice } = await scene();
    writeFileSync(file, yaml('"${file:/dev/zero}"'));
    expect((await sluice("reload")).stdout).toContain("it is a pipe or a device");
    rmSync(file);
    execFileSync("mkfifo", [file]);
    expect((await sluice("reload")).stdout).toContain("it is a pipe or a device");
    rmSync(file);
    writeFileSync(file, yaml("two"));
    expect((await sluice("reload")).stdout).toContain("The agent runs generation 2");
  });

  it("shows in the plan of a reload that it would be refused", async () => {
    const { file, yaml, sluice } = await scene();
    writeFileSync(file, yaml("one").replace("/queue", "/other"));
    expect((await sluice("reload", "--diff")).stdout).toContain(
      "extensions.reliability.directory: this key cannot change",
    );
  });

  it("is told by sluice reload what to change, and says what it did", async () => {
    const { file, yaml, sluice } = await scene();
    expect((await sluice("reload", "--diff")).stdout).toContain(
      "Nothing has changed: the agent runs with this config.",
    );
    writeFileSync(file, yaml("two"));
    const planned = await sluice("reload", "--diff");
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.stdout).toContain("replace  processor attributes in logs: actions changed");
    expect((await sluice("reload")).stdout).toContain("The agent runs generation 2");
    writeFileSync(file, yaml("two").replace("debug: {}", "debug: {verbosty: detailed}"));
    const failed = await sluice("reload", "--json");
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ outcome: "invalid", generation: { number: 2 } });
  });

  it("records every reload in the audit: who, from and to which generation, what changed and how it ended", async () => {
    const { agent, file, yaml, config, sluice } = await scene();
    writeFileSync(file, yaml("secret-value"));
    await sluice("reload", "--by", "ann", "--why", "INC-17");
    writeFileSync(file, "receivers: {otlp");
    agent.child.kill("SIGHUP");
    await expect.poll(config).toMatchObject({ lastReload: { outcome: "invalid" } });
    const records = async () => {
      const { stdout } = await sluice("dlq", "audit", "--action", "reload", "--json");
      return (JSON.parse(stdout) as { records: readonly unknown[] }).records;
    };
    await expect.poll(records).toHaveLength(2);
    const [failed, applied] = await records();
    expect(applied).toMatchObject({
      ...{ actor: "ann", reason: "INC-17", outcome: "done" },
      filter: {
        from: expect.stringMatching(/^1 \(/),
        to: expect.stringMatching(/^2 \(/),
        changed: ["replace processor attributes in logs: actions changed"],
        kept: 5,
      },
    });
    expect(failed).toMatchObject({ actor: "SIGHUP", outcome: expect.stringMatching(/^failed: invalid: /) });
    expect(JSON.stringify(applied)).not.toContain("secret-value");
  });

  it("with --watch reloads when its file is replaced", async () => {
    const { file, yaml, config } = await scene(["--watch"]);
    writeFileSync(`${file}.new`, yaml("two"));
    renameSync(`${file}.new`, file);
    await expect.poll(config).toMatchObject({ generation: { number: 2 }, differs: false });
  });
});
