import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadCases, withPlugins } from "../runtime/host/plugins/load-cases.js";
import { installSluice } from "../support/installed.js";

const project = join(import.meta.dirname, "../..");
const readme = readFileSync(join(project, "README.md"), "utf8");
const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!.trim());

describe("the README", () => {
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
      await expect.poll(() => output).toContain("ready");
      expect(execFileSync("bash", ["-c", curl], { encoding: "utf8" })).toBe("{}");
      await expect.poll(() => output).toContain("order paid");
      expect(output).toContain("order.id=42");
      const commands = blocks.find((block) => block.includes(" dlq "))!.split("\n");
      for (const line of commands) {
        const args = line
          .replace(/\s+#.*$/, "")
          .split(/\s+/)
          .slice(1);
        expect(execFileSync(process.execPath, args, { cwd: project, encoding: "utf8" })).toContain("No dead letters");
      }
    } finally {
      if (agent.exitCode === null) process.kill(-agent.pid!, "SIGTERM");
      await exited;
    }
  });

  it("has a command line that does what it says", () => {
    const commands = blocks.find((block) => block.startsWith("node bin/sluice.js"))!.split("\n");
    const shown = commands.map((line) =>
      line
        .replace(/\s+#.*$/, "")
        .split(/\s+/)
        .slice(1),
    );
    const results = shown
      .filter(([, command]) => command !== "run")
      .map((args) => execFileSync(process.execPath, args, { cwd: project, encoding: "utf8" }));
    expect(results).toHaveLength(4);
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
    const [, code] = /```ts\n([\s\S]*?)```/.exec(readme)!;
    const imports = 'import { defineProcessor, eachRecord } from "sluice/plugin";\nimport { z } from "zod";\n';
    const yaml = withPlugins("[./p.mjs]", "{my_processor: {attribute: a}}", "[my_processor]");
    const { shown } = await loadCases({ shown: { yaml, files: { "p.mjs": imports + code } } });
    expect(shown).toMatchObject({ valid: true, problems: [], types: ["processor my_processor"] });
  });

  it("shows a program that embeds it", () => {
    const [, code] = /```js\n([\s\S]*?)```/.exec(readme)!;
    const folder = mkdtempSync(join(tmpdir(), "sluice-readme-"));
    try {
      installSluice(folder);
      const yaml =
        "exporters: {debug: {verbosity: normal}}\nservice: {pipelines: {logs: {receivers: [app], exporters: [debug]}}}";
      writeFileSync(join(folder, "sluice.yaml"), yaml);
      const options = { cwd: folder, encoding: "utf8" } as const;
      const output = execFileSync(process.execPath, ["--input-type=module", "-e", code!], options);
      expect(output).toContain("order paid");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
