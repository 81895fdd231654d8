import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startAgentProcess } from "../support/agent-process.js";
import { canMount } from "../support/servers/can-mount.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const project = join(import.meta.dirname, "../..");
const isRoot = process.geteuid?.() === 0;

/** An agent that runs as root and reads folders that others may write to. */
describe("a link to a file of root, in a folder of logs", { skip: !isRoot }, () => {
  it("is not read by file_log", async () => {
    const folder = temporaryFolder();
    for (const name of ["secrets", "home/mallory/logs"]) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, "secrets/shadow"), "root:$6$hash\n");
    writeFileSync(join(folder, "home/mallory/logs/app.log"), "an ordinary line\n");
    symlinkSync(join(folder, "secrets/shadow"), join(folder, "home/mallory/logs/evil.log"));
    symlinkSync("../../../secrets/shadow", join(folder, "home/mallory/logs/relative.log"));
    symlinkSync(join(folder, "secrets"), join(folder, "home/mallory/linked"));
    const include = [join(folder, "home/*/logs/*.log"), join(folder, "home/*/linked/*")];
    const { records, log } = await startReading(folder, include);
    await expect.poll(records).toContain("an ordinary line");
    await expect.poll(log).toMatch(/evil\.log.*links lead to/);
    expect(records()).not.toContain("hash");
  });

  it("is not read through a folder that becomes a link while the agent runs", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "secrets"));
    mkdirSync(join(folder, "logs"));
    writeFileSync(join(folder, "secrets/app.log"), "root:$6$hash\n");
    writeFileSync(join(folder, "logs/first.log"), "an ordinary line\n");
    const { records, log } = await startReading(folder, [join(folder, "logs/**/*.log"), join(folder, "logs/*/*.log")]);
    await expect.poll(records).toContain("an ordinary line");
    symlinkSync(join(folder, "secrets"), join(folder, "logs/later"));
    await expect.poll(log).toContain("links lead to");
    expect(records()).not.toContain("hash");
  });

  it("does not keep Kubernetes' links from being followed", { skip: !canMount() }, async () => {
    const folder = temporaryFolder();
    const setup = `mount -t tmpfs logs /var/log && mount -t tmpfs lib /var/lib
      mkdir -p /var/log/pods/shop_web_1/web /var/log/containers /var/lib/docker/containers/abc
      echo "a line of docker" > /var/lib/docker/containers/abc/abc-json.log
      ln -s /var/lib/docker/containers/abc/abc-json.log /var/log/pods/shop_web_1/web/0.log
      ln -s /var/log/pods/shop_web_1/web/0.log /var/log/containers/web_shop_web-abc.log
      exec "$0" ${join(project, "bin/sluice.js")} "$@"`;
    const command = ["unshare", "--mount", "bash", "-c", setup, process.execPath] as const;
    const { records } = await startReading(folder, ["/var/log/containers/*.log"], command);
    await expect.poll(records).toContain("a line of docker");
  });
});

/** Starts an agent that writes what it reads to a file, and returns what is in that file and in the agent's log. */
async function startReading(folder: string, include: readonly string[], command?: readonly [string, ...string[]]) {
  const out = join(folder, "out.json");
  const agent = await startAgentProcess(
    {
      yaml: `
receivers:
  file_log: {include: ${JSON.stringify(include)}, start_at: beginning, poll_interval: 10ms, offsets_directory: ${folder}/offsets}
exporters: {file: {path: ${out}}}
service: {pipelines: {logs: {receivers: [file_log], exporters: [file]}}, telemetry: {metrics: {level: none}}}
`,
    },
    command && { command, env: { PATH: process.env["PATH"] ?? "" } },
  );
  onTestFinished(async () => {
    agent.child.kill("SIGTERM");
    await agent.exited;
  });
  return {
    records: () => (existsSync(out) ? readFileSync(out, "utf8") : ""),
    log: () => agent.output.stderr,
  };
}
