import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { sluiceHere } from "../../agent/cli/terminal.js";
import { withPlugins } from "../../runtime/host/plugins/load-cases.js";
import { blocksIn, type Page, project } from "../pages.js";
import { folderOf } from "../project.js";

const run = promisify(execFile);

/** OTLP, the agent's own metrics, the health check and the admin API, where readers of the page find them. */
const QUICK_START_PORTS = [4317, 4318, 8888, 13133, 55679];

async function takenPorts(ports: readonly number[]): Promise<number[]> {
  const taken: number[] = [];
  for (const port of ports) {
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (isFree) await once(server.close(), "close");
    else taken.push(port);
  }
  return taken;
}

/**
 * Runs `npm start`. A taken port is no failure of the page: agents of other tests have the port of the admin API for a while,
 * and may take it between the check and the start. Then the agent is started again.
 */
async function startWithAllPorts() {
  const message = "another program listens on ports that the quick start needs: end it, and run this again";
  for (;;) {
    await expect.poll(() => takenPorts(QUICK_START_PORTS), { message }).toEqual([]);
    const agent = spawn("npm", ["start"], { cwd: project, detached: true });
    const exited = once(agent, "exit");
    let output = "";
    for (const stream of [agent.stdout, agent.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    const stop = async () => {
      if (agent.exitCode === null) process.kill(-agent.pid!, "SIGTERM");
      await exited;
    };
    await Promise.race([expect.poll(() => output).toContain("ready"), exited]);
    if (output.includes("admin API is listening")) return { output: () => output, stop };
    await stop();
    if (!/in use|taken/.test(output)) expect(output).toContain("ready");
  }
}

/** Returns the arguments that a line of the page gives to the command line, without its comment. */
function argumentsOf(line: string): string[] {
  const [node, script, ...args] = line.replace(/\s+#.*$/, "").split(/\s+/);
  expect([node, script]).toEqual(["node", "bin/sluice.js"]); // which npm start runs
  return args;
}

export function readme(page: Page): void {
  const blocks = blocksIn(page, "sh").map((text) => text.trim());

  it("installs and shows the demo, and starts with the command of package.json", () => {
    expect(blocks.slice(0, 2).map((block) => block.split("\n"))).toEqual([
      ["npm install", "node bin/sluice.js demo"],
      ["npm start"],
    ]);
  });

  it("shows a log line arriving with the quick start's two commands", async () => {
    const curl = blocks.find((block) => block.startsWith("curl"))!;
    const { output, stop } = await startWithAllPorts();
    try {
      expect((await run("bash", ["-c", curl])).stdout).toBe("{}");
      await expect.poll(output).toContain("order paid");
      expect(output()).toContain("order.id=42");
      expect(output()).toMatch(/\d{4}-\d\d-\d\dT\S+Z.*order paid/);
      const commands = blocks.find((block) => block.includes(" dlq "))!.split("\n");
      for (const line of commands) {
        const { stdout } = await run(process.execPath, ["bin/sluice.js", ...argumentsOf(line)], { cwd: project });
        expect(stdout).toContain("No dead letters");
      }
    } finally {
      await stop();
    }
  });

  it("has a command line that does what it says", async () => {
    const shown = blocks.find((block) => block.startsWith("node bin/sluice.js"))!.split("\n");
    const commands = shown.map(argumentsOf).filter(([command]) => command !== "run");
    expect(commands).toHaveLength(4);
    const results: string[] = [];
    for (const args of commands) results.push((await sluiceHere(project, ...args)).stdout);
    expect(results[1]).toContain("otlp_http");
    expect(results[2]).toContain("[REDACTED]");
    expect(JSON.parse(results[3]!)).toHaveProperty("properties.receivers");
  });

  // That these commands do what they say is held by scaffold.test.ts, without the network.
  it("creates, installs, tests and starts a processor", () => {
    expect(blocks.find((block) => block.includes(" create "))!.split("\n")).toEqual([
      "node bin/sluice.js create processor my-processor",
      "cd my-processor",
      "npm install",
      "npm test",
      "npm run dev",
    ]);
  });

  it("creates it where git, and with it the checks of this project, do not look", async () => {
    const { stdout } = await run("git", ["check-ignore", "my-processor/"], { cwd: project });
    expect(stdout.trim()).toBe("my-processor/");
  });

  it("shows a processor that loads", async () => {
    const [code, ...others] = blocksIn(page, "ts");
    expect(others).toEqual([]);
    const imports = 'import { defineProcessor, eachRecord } from "sluice/plugin";\nimport { z } from "zod";\n';
    const folder = folderOf(page);
    writeFileSync(join(folder, "p.mjs"), imports + code);
    writeFileSync(join(folder, "p.yaml"), withPlugins("[./p.mjs]", "{my_processor: {attribute: a}}", "[my_processor]"));
    expect((await sluiceHere(folder, "validate", "--config", "p.yaml")).stdout).toContain("is valid");
  });

  it("shows a program that embeds it", async () => {
    const [code, ...others] = blocksIn(page, "js");
    expect(others).toEqual([]);
    const folder = folderOf(page);
    const yaml =
      "exporters: {debug: {verbosity: normal}}\nservice: {pipelines: {logs: {receivers: [app], exporters: [debug]}}}";
    writeFileSync(join(folder, "sluice.yaml"), yaml);
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code!], { cwd: folder });
    expect(stdout).toContain("order paid");
  });
}
