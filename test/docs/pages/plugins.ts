import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { sluiceHere } from "../../agent/cli/terminal.js";
import { blocksIn, type Page, project } from "../pages.js";
import { folderOf } from "../project.js";

/** Sends a few records through every processor of the modules, and starts and stops everything else. */
const TRY_ALL = `
import { logs, runPipeline } from "sluice/testing";
const { silentLogger } = await import("sluice/plugin");
for (const file of process.argv.slice(2)) {
  const found = Object.values(await import(file)).flat();
  for (const plugin of found) {
    const { kind, type } = plugin;
    const put = (wanted, others) => (kind === wanted ? [type] : others);
    const config = {
      [kind + "s"]: { [type]: { post: { url: "http://127.0.0.1:1/" }, add_region: { region: "eu" } }[type] ?? {} },
      service: {
        extensions: put("extension", []),
        pipelines: {
          logs: { receivers: put("receiver", ["memory"]), processors: put("processor", []), exporters: put("exporter", put("connector", ["memory"])) },
          ...(kind === "connector" ? { "logs/next": { receivers: [type], exporters: ["memory"] } } : {}),
        },
      },
    };
    const pipeline = await runPipeline(JSON.stringify(config), { plugins: [plugin] });
    const items = { body: "b", attributes: { items: ["x", "y"], password: "p" } };
    const outcome = kind === "receiver" ? undefined : await pipeline.send(logs(items, { attributes: { "user.id": "u" } }));
    await pipeline.stop(100);
    console.log(type, outcome?.ok ?? "-", pipeline.records().length);
  }
}
process.exit();
`;

/** A block that is a file says so in its first line; the plugins among them are loaded and tried. */
export function plugins(page: Page): void {
  const files = page.blocks.flatMap(({ file }) => file ?? []);
  let folder: string;
  beforeAll(() => {
    folder = folderOf(page);
  });

  const node = (...args: string[]) =>
    promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 16 * 1024 * 1024 });
  const sluice = (...args: string[]) => sluiceHere(folder, ...args);

  it("has modules whose components work", async () => {
    const modules = files.filter((name) => name.endsWith(".js") && !name.endsWith(".test.js"));
    writeFileSync(join(folder, "try-all.mjs"), TRY_ALL);
    const { stdout } = await node("try-all.mjs", ...modules.map((name) => join(folder, name)));
    expect(stdout.trim().split("\n")).toEqual([
      "add_region true 2",
      "tidy true 3",
      "look_up true 2",
      "halves true 2",
      "gather true 2",
      expect.stringMatching(/^sample true [02]$/),
      "first true 2",
      "greeter true 2",
      "heartbeat - 1",
      "post false 0",
    ]);
  });

  it("has configs that are valid", async () => {
    const configs = files.filter((name) => name.endsWith(".yaml"));
    expect(configs).toHaveLength(1);
    for (const name of configs) expect((await sluice("validate", "--config", name)).stdout).toContain("valid");
  });

  it("has a test that passes", async () => {
    expect(await node("add-region.test.js")).toMatchObject({ stderr: "" });
  });

  it("has commands that work", async () => {
    const commands = blocksIn(page, "sh").flatMap((text) => text.trim().split("\n"));
    // sluice dev is tried in test/agent/cli/dev/dev.slow.test.ts.
    expect(commands.filter((command) => !command.startsWith("sluice dev"))).toHaveLength(2);
    expect((await sluice("create", "processor", "my-processor")).stdout).toContain("npm test");
    const schema = commands.at(-1)!.split(" > ")[0]!.split(" ").slice(1);
    const { stdout } = await node(join(project, "bin/sluice.js"), ...schema);
    expect(JSON.parse(stdout).$defs).toHaveProperty(["processor.add_region"]);
    expect((await sluice("components", "--plugin", "./add-region.js", "add_region")).stdout).toBe(
      "processor add_region: logs, traces, metrics\n",
    );
  });

  it("has no block that is not tried", () => {
    const others = page.blocks.filter(
      ({ language, file }) => language !== "sh" && language !== "text" && file === undefined,
    );
    expect(others.map(({ text }) => text.trim())).toEqual(["# yaml-language-server: $schema=./sluice.schema.json"]);
  });

  it("lists the codes of all problems", () => {
    const sources = ["load-plugins.ts", "import-plugin.ts"].map((file) =>
      readFileSync(join(project, "src/runtime/host/plugins", file), "utf8"),
    );
    const codes = new Set(
      sources
        .join("")
        .match(/"plugin_\w+"/g)!
        .map((code) => code.slice(1, -1)),
    );
    const listed = [...page.text.matchAll(/^\| `(plugin_\w+)`/gm)].map((match) => match[1]);
    expect(listed.sort()).toEqual([...codes].sort());
  });
}
