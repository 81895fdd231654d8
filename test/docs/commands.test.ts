import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isGroup } from "../../src/runtime/cli/command.js";
import { findCommand } from "../../src/runtime/cli/commands.js";
import { parseArguments } from "../../src/runtime/cli/parse-arguments.js";
import { startAgentProcess } from "../support/agent-process.js";
import { startSink } from "../support/otlp-sink.js";
import { blocks, project } from "./pages.js";

const { scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { scripts: object };

/** Every line of the pages' shell blocks and sessions, without its note. */
const lines = blocks
  .filter(({ language }) => language === "sh" || language === "text")
  .flatMap(({ page, text }) => text.split("\n").map((line) => ({ page, line })))
  .map(({ page, line }) => ({
    page,
    line: line
      .replace(/^\$ /, "")
      .replace(/\s+# .*$/, "")
      .trim(),
  }));
const beginning = (word: RegExp) => lines.filter(({ line }) => word.test(line)).map(({ page, line }) => [line, page]);

describe("a command in README or docs/", () => {
  it.each(beginning(/^(sluice|node bin\/sluice\.js) /))("is one that Sluice understands: %s (%s)", (line) => {
    const [name, ...args] = line!
      .replace(/ > \S+$/, "")
      .replace(/^(sluice|node bin\/sluice\.js) /, "")
      .match(/(?:"[^"]*"|[^\s"])+/g)!;
    const found = findCommand(name!);
    const isMember = found !== undefined && isGroup(found);
    const command = isMember ? found.commands.find((each) => each.name === `${name} ${args[0]}`) : found;
    if (command === undefined || isGroup(command)) throw new Error(`there is no command ${name} ${args[0]}`);
    const { names } = parseArguments(command, isMember ? args.slice(1) : args);
    if (command.names === undefined) expect(names).toEqual([]);
  });

  it.each(beginning(/^npm run /))("is a script of package.json: %s (%s)", (line) => {
    expect(Object.keys(scripts)).toContain(line!.split(" ")[2]);
  });
});

describe("docs/dead-letters.md", () => {
  it("asks the API for what it answers", async () => {
    const asked = blocks.filter(({ page, text }) => page === "docs/dead-letters.md" && text.startsWith("curl"));
    const commands = asked.flatMap(({ text }) => text.trim().split("\n"));
    expect(commands).toHaveLength(7);
    const sink = await startSink();
    const agent = await startAgentProcess({
      yaml: `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions: {admin: {endpoint: "127.0.0.1:0"}, health_check: {endpoint: "127.0.0.1:0"}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
    });
    try {
      const [, own] = /"endpoint":"(127\.0\.0\.1:\d+)","msg":"admin API is listening"/.exec(agent.output.stderr)!;
      for (const command of commands) {
        const here = command.replace("127.0.0.1:55679", own!).replace("curl -s", "curl -sS --fail-with-body");
        expect(() => JSON.parse(execFileSync("bash", ["-c", here], { encoding: "utf8" }))).not.toThrow();
      }
    } finally {
      agent.child.kill("SIGTERM");
      await agent.exited;
      await sink.close();
    }
  });
});
