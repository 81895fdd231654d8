import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { loadCases, withPlugins } from "../../runtime/host/plugins/load-cases.js";
import { blocksIn, type Page, project } from "../pages.js";
import { folderOf } from "../project.js";

const run = promisify(execFile);

/** A line of the page without its note, as arguments. */
const argumentsOf = (line: string) =>
  line
    .replace(/\s+#.*$/, "")
    .split(/\s+/)
    .slice(1);

export function readme(page: Page): void {
  const blocks = blocksIn(page, "sh").map((text) => text.trim());

  it("installs, starts and tests with the commands of package.json", () => {
    expect(blocks[0]!.split("\n")).toEqual(["npm install", "npm start"]);
    expect(blocks).toContain("npm test");
  });

  it("shows a log line arriving with the quick start's two commands", async () => {
    const curl = blocks.find((block) => block.startsWith("curl"))!;
    const agent = spawn("npm", ["start"], { cwd: project, detached: true });
    const exited = once(agent, "exit");
    let output = "";
    for (const stream of [agent.stdout, agent.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    try {
      // Its ports are those of the page: another agent, or another run of this test, may have them.
      const ended = exited.then(() => output);
      await Promise.race([expect.poll(() => output).toContain("ready"), ended]);
      expect(output).toContain("ready");
      expect((await run("bash", ["-c", curl])).stdout).toBe("{}");
      await expect.poll(() => output).toContain("order paid");
      expect(output).toContain("order.id=42");
      const commands = blocks.find((block) => block.includes(" dlq "))!.split("\n");
      for (const line of commands) {
        const { stdout } = await run(process.execPath, argumentsOf(line), { cwd: project });
        expect(stdout).toContain("No dead letters");
      }
    } finally {
      if (agent.exitCode === null) process.kill(-agent.pid!, "SIGTERM");
      await exited;
    }
  });

  it("has a command line that does what it says", async () => {
    const shown = blocks.find((block) => block.startsWith("node bin/sluice.js"))!.split("\n");
    const commands = shown.map(argumentsOf).filter(([, command]) => command !== "run");
    expect(commands).toHaveLength(4);
    const runs = await Promise.all(commands.map((args) => run(process.execPath, args, { cwd: project })));
    const results = runs.map(({ stdout }) => stdout);
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
      "npm start",
    ]);
  });

  it("shows a processor that loads", async () => {
    const [code, ...others] = blocksIn(page, "ts");
    expect(others).toEqual([]);
    const imports = 'import { defineProcessor, eachRecord } from "sluice/plugin";\nimport { z } from "zod";\n';
    const yaml = withPlugins("[./p.mjs]", "{my_processor: {attribute: a}}", "[my_processor]");
    const { shown } = await loadCases({ shown: { yaml, files: { "p.mjs": imports + code } } });
    expect(shown).toMatchObject({ valid: true, problems: [], types: ["processor my_processor"] });
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
