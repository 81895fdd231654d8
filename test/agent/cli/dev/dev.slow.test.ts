import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../../../support/until.js";
import { CONFIG, PLUGIN, startDev } from "./dev-process.js";

const LABEL = 'record.attributes.set("label", label())';
const IMPORT = 'import { label } from "./label.js";';
const label = (value: string) => `export const label = () => "${value}";`;
const strips = Boolean((process.features as { typescript?: unknown }).typescript);
const hasScript = spawnSync("script", ["--version"]).error === undefined;
if (!hasScript) console.log("skipped: sluice dev in a terminal, for which script is missing (Debian: bsdutils)");

/** The process of the agent. */
const agentOf = (parent: number) =>
  Number(execFileSync("ps", ["-o", "pid=", "--ppid", String(parent)], { encoding: "utf8" }).trim());
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    // A process that has ended and was not waited for yet still counts as alive for kill.
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

describe("sluice dev", () => {
  it("shows records masked, loads what a plugin imports anew, and stops at Ctrl-C", async (context) => {
    const files = { "c.yaml": CONFIG("./plugin.js"), "plugin.js": PLUGIN(LABEL, IMPORT), "label.js": label("one") };
    const dev = startDev(context, { files });
    await dev.says("sluice dev: running: logs");
    expect(await dev.post("hello jane@example.org")).toBe(200);
    await until(() => expect(dev.output.out).toMatch(/logs {2}9 hello \*+ {2}\{label=one\}\n/));
    dev.write("label.js", label("two"));
    await dev.says("sluice dev: reloaded: replace processor tag");
    expect(await dev.post("again")).toBe(200);
    await until(() => expect(dev.output.out).toContain("again  {label=two}"));
    dev.child.kill("SIGINT");
    expect(await dev.ended).toBe(0);
    expect(dev.output.err).not.toContain("second signal");
  });

  it("waits for the fix of a config and of a plugin that are broken from the start", async (context) => {
    const files = { "c.yaml": "receivers: {otlp: ", "plugin.js": 'throw new Error("not yet");' };
    const dev = startDev(context, { files });
    await dev.says("at c.yaml:1:");
    dev.write("c.yaml", CONFIG("./plugin.js"));
    await dev.says("not yet (plugin.js:1:7)");
    dev.write("plugin.js", PLUGIN());
    await dev.says("the problems are fixed");
    await dev.says("running: logs");
  });

  it("waits for a plugin that is missing, and for a component that cannot start", async (context) => {
    const dev = startDev(context, { files: { "c.yaml": CONFIG("./plugin.js") } });
    await dev.says("there is no file");
    dev.write(
      "plugin.js",
      PLUGIN().replace("create: () =>", 'create: () => { throw new Error("cannot be made"); } ||'),
    );
    await dev.says("cannot be made");
    dev.write("plugin.js", PLUGIN());
    await dev.says("running: logs");
  });

  it("tells the line of a syntax error in an imported file, while the last version runs on", async (context) => {
    const files = { "c.yaml": CONFIG("./plugin.js"), "plugin.js": PLUGIN(LABEL, IMPORT), "label.js": label("one") };
    const dev = startDev(context, { files });
    await dev.says("running: logs");
    dev.write("label.js", `${label("two")}\nconst = 3;\n`);
    await dev.says("label.js:2: SyntaxError");
    await dev.says("the last version that worked keeps running");
    expect(await dev.post("meanwhile")).toBe(200);
    await until(() => expect(dev.output.out).toContain("meanwhile  {label=one}"));
    dev.write("label.js", label("two"));
    await dev.says("the problems are fixed");
    await dev.says("reloaded: replace processor tag");
  });

  it("says which file is gone, and goes on when it is back", async (context) => {
    const dev = startDev(context, { files: { "c.yaml": CONFIG("./plugin.js"), "plugin.js": PLUGIN() } });
    await dev.says("running: logs");
    rmSync(join(dev.folder, "plugin.js"));
    await dev.says("there is no file");
    expect(await dev.post("meanwhile")).toBe(200);
    dev.write("plugin.js", PLUGIN("record.attributes.set('back', true)"));
    await dev.says("reloaded: replace processor tag");
    rmSync(join(dev.folder, "c.yaml"));
    await dev.says("cannot read c.yaml");
    dev.write("c.yaml", CONFIG("./plugin.js"));
    await dev.says("the problems are fixed");
  });

  it("ends an agent that is in an endless loop when the file is saved again, or at the end", async (context) => {
    const dev = startDev(context, { files: { "c.yaml": CONFIG("./plugin.js"), "plugin.js": PLUGIN("while (true)") } });
    await dev.says("running: logs");
    void dev.post("never answered").catch(() => {});
    await dev.says("the agent does not answer");
    dev.write("plugin.js", PLUGIN("if (record.body === 'loop') while (true)"));
    await dev.says("running: logs");
    expect(await dev.post("answered")).toBe(200);
    const agent = agentOf(dev.child.pid!);
    void dev.post("loop").catch(() => {});
    await dev.says("the agent does not answer");
    dev.child.kill("SIGTERM");
    expect(await dev.ended).toBe(0);
    await until(() => expect(isAlive(agent)).toBe(false));
  });

  it("says that a plugin has ended the process, and starts again after a change", async (context) => {
    const files = { "c.yaml": CONFIG("./plugin.js"), "plugin.js": PLUGIN("process.exit(0)") };
    const dev = startDev(context, { files });
    await dev.says("running: logs");
    void dev.post("the last one").catch(() => {});
    await dev.says("error: the agent exited unexpectedly (code 1)");
    dev.write("plugin.js", `${PLUGIN()}process.exit(3);`);
    await dev.says("exited unexpectedly (code 3) while it started: a plugin may have called process.exit");
    dev.write("plugin.js", PLUGIN());
    await dev.says("running: logs");
  });

  it("runs the last of a hundred versions that are saved in a second, and of a link that is swapped", async (context) => {
    const files = { "c.yaml": CONFIG("./plugin.js"), "plugin.js": PLUGIN(LABEL, IMPORT), "label.js": label("first") };
    const dev = startDev(context, { files });
    const shows = async (record: string) =>
      until(async () => {
        expect(await dev.post("probe")).toBe(200);
        expect(dev.output.out).toContain(`probe  ${record}`);
      });
    await dev.says("running: logs");
    for (let i = 0; i < 100; i++) {
      dev.write("label.js", label(`saved${i}`));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await shows("{label=saved99}");
    expect(dev.output.err.match(/sluice dev: reloaded/g)!.length).toBeLessThan(20);
    for (const name of ["one", "two"]) {
      dev.write(`${name}.js`, label(name));
      symlinkSync(`${name}.js`, join(dev.folder, "next"));
      renameSync(join(dev.folder, "next"), join(dev.folder, "label.js"));
      await shows(`{label=${name}}`);
    }
    expect(dev.output.err).not.toContain("error:");
  });

  it("tells a second run in the same folder that the first one has the queue, and both go on", async (context) => {
    const config = CONFIG("./plugin.js")
      .replace("exporters: {nop: {}}", 'exporters: {otlp_http: {endpoint: "http://127.0.0.1:9"}}')
      .replace("exporters: [nop]", "exporters: [otlp_http]")
      .replace("extensions: [admin,", "extensions: [reliability, admin,")
      .replace("extensions:\n", "extensions:\n  reliability: {directory: ./queue}\n");
    const first = startDev(context, { files: { "c.yaml": config, "plugin.js": PLUGIN() } });
    await first.says("running: logs");
    const second = startDev(context, { files: {}, folder: first.folder });
    await second.says("otlp_http is in use by process");
    expect(await first.post("hello")).toBe(200);
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);
    second.write("plugin.js", PLUGIN("record.attributes.set('second', true)"));
    await second.says("running: logs");
    expect(await second.post("hello")).toBe(200);
  });

  it("restarts the agent for a change that a reload cannot make, and ends it when its own process is killed", async (context) => {
    const config = (directory: string) =>
      CONFIG("./plugin.js")
        .replace("extensions: [admin,", "extensions: [reliability, admin,")
        .replace("extensions:\n", `extensions:\n  reliability: {directory: ./${directory}}\n`);
    const dev = startDev(context, { files: { "c.yaml": config("one"), "plugin.js": PLUGIN() } });
    await dev.says("running: logs");
    dev.write("c.yaml", config("two"));
    await dev.says("this change needs a restart");
    await dev.says("running: logs");
    expect(dev.output.err).not.toContain("error:");
    const agent = agentOf(dev.child.pid!);
    expect(isAlive(agent)).toBe(true);
    dev.child.kill("SIGKILL");
    await until(() => expect(isAlive(agent)).toBe(false));
  });

  it("runs TypeScript, and tells lines of the source", async (context) => {
    const types = "interface Labelled {\n  label: string;\n}\n";
    const source = PLUGIN(LABEL, `${IMPORT}\n${types}`);
    const files = {
      "c.yaml": CONFIG("./plugin.ts"),
      "plugin.ts": source,
      "label.ts": "export const label = (): string => 'one';",
    };
    const dev = startDev(context, { files, packages: ["typescript"] });
    await dev.says("running: logs");
    if (!strips) expect(dev.output.err).toMatch(/TypeScript is compiled by typescript \d/);
    expect(await dev.post("hello")).toBe(200);
    await until(() => expect(dev.output.out).toContain("hello  {label=one}"));
    dev.write("label.ts", "export const label = (): string => ;\n");
    await dev.says(strips ? "label.ts:1" : "expected. (label.ts:1:36)");
    dev.write("label.ts", `${types}\nexport const label = (): string => { throw new Error("at run time"); };\n`);
    await dev.says("reloaded: replace processor tag");
    expect(await dev.post("refused")).toBe(503);
    await until(() => expect(dev.output.err).toMatch(/at run time.*label\.ts:5:/));
  });

  it.skipIf(strips)("says what TypeScript needs if it is not there", async (context) => {
    const dev = startDev(context, { files: { "c.yaml": CONFIG("./plugin.ts"), "plugin.ts": PLUGIN() } });
    await dev.says("sluice dev compiles it if typescript is installed beside it");
  });

  it.skipIf(!hasScript)("is steered by keys in a terminal", async (context) => {
    const files = { "c.yaml": CONFIG("./plugin.js"), "plugin.js": PLUGIN() };
    const command = (program: readonly string[]) => [
      "script",
      "-qefc",
      `stty cols 80 rows 24; exec ${program.map((each) => `'${each}'`).join(" ")}`,
      "/dev/null",
    ];
    const dev = startDev(context, { files, command, env: { NO_COLOR: "1", TERM: "xterm" } });
    const shows = (text: string) => until(() => expect(dev.output.out).toContain(text));
    await shows("p pause  r restart  q quit  f filter");
    await shows("running: logs");
    expect(await dev.post("first")).toBe(200);
    await shows("logs  9 first");
    dev.child.stdin!.write("fseverity_number > 9\r");
    await shows("f filter: severity_number > 9");
    expect(await dev.post("second")).toBe(200);
    await shows("in 2  out 2");
    dev.child.stdin!.write("p");
    await shows("p show records again");
    dev.write("plugin.js", "export default {");
    await shows("plugin.js:1: SyntaxError");
    await shows("running the last version that worked");
    dev.child.stdin!.write("\u0003");
    expect(await dev.ended).toBe(0);
    expect(dev.output.out).not.toContain("logs  9 second");
    for (const colour of ["[1m", "[2m", "[31m", "[32m", "[36m"])
      expect(dev.output.out).not.toContain(`\u001b${colour}`);
    expect(dev.output.out).toContain("\u001b[?25h"); // the cursor is back
  });
});

describe("the command line of sluice dev", () => {
  it.each([
    [["--where", "severity_number >"], "--where: "],
    [["--rate", "1000"], "--rate 1000 is not a number from 0 to 100"],
  ])("refuses %j", (args, text) => {
    const program = ["bin/sluice.js", "dev", "--config", "c.yaml", ...args];
    const { status, stderr } = spawnSync(process.execPath, program, { encoding: "utf8" });
    expect(stderr).toContain(text);
    expect(status).toBe(2);
  });

  it("needs a config if there is no sluice.yaml", () => {
    const { status, stderr } = spawnSync(process.execPath, ["bin/sluice.js", "dev"], { encoding: "utf8" });
    expect(stderr).toContain("no config was given, and there is no sluice.yaml here; name one: --config pipeline.yaml");
    expect(status).toBe(2);
  });
});
