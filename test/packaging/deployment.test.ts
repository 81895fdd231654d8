import { execFile, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { serviceSchema } from "../../src/runtime/config/schema/service-schema.js";
import { parseDuration } from "../../src/runtime/contract/schema/units.js";
import { blocks } from "../docs/pages.js";
import { startAgentProcess } from "../support/agent-process.js";
import { project } from "./packed.js";

const run = promisify(execFile);
const read = (path: string) => readFileSync(join(project, path), "utf8");
const manifest = JSON.parse(read("package.json")) as { engines: { node: string }; scripts: Record<string, string> };

/** The Dockerfile as instructions: continued lines joined, comments left out. */
const instructions = read("packaging/Dockerfile")
  .replace(/^#.*\n/gm, "")
  .replace(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => ({ name: line.split(" ", 1)[0]!, value: line.slice(line.indexOf(" ") + 1) }));
const all = (name: string) => instructions.filter((each) => each.name === name).map(({ value }) => value);
const last = (name: string) => all(name).at(-1) ?? "";
const words = (name: string) => JSON.parse(last(name)) as string[];

const unit = read("packaging/sluice.service");
const setting = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];

const folder = mkdtempSync(join(tmpdir(), "sluice-deployment-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// No image is built here: that needs a container runtime and a registry. What it would run is run.
describe("packaging/Dockerfile", () => {
  it("builds on images of a Node.js that Sluice runs on", () => {
    const [least] = /\d+/.exec(manifest.engines.node)!;
    // Both of one image, which may be named by its digest.
    expect(all("FROM").map((text) => text.split(" ")[0])).toEqual(["$NODE_IMAGE", "$NODE_IMAGE"]);
    const [, line] = /^NODE_IMAGE=node:(\d+)-slim$/.exec(all("ARG")[0]!)!;
    expect(Number(line)).toBeGreaterThanOrEqual(Number(least));
  });

  it.each([
    ["", "node:24-slim", 0],
    ["1", "node:24-slim", 1],
    ["1", "node:24-slim@sha256:12", 1],
    ["1", `node:24-slim@sha256:${"0af".repeat(22).slice(0, 64)}`, 0],
  ])("of a release (%s) fails unless the image is named by its digest: %s", (RELEASE, NODE_IMAGE, status) => {
    const check = all("RUN").find((text) => text.includes("RELEASE"))!;
    const run = spawnSync("sh", ["-c", check], { env: { PATH: process.env["PATH"], RELEASE, NODE_IMAGE } });
    expect(run.status).toBe(status);
  });

  it("copies what is there, and what is not kept from it", () => {
    const sources = all("COPY")
      .filter((text) => !text.startsWith("--from"))
      .flatMap((text) => text.split(" ").slice(0, -1));
    const letIn = read("packaging/Dockerfile.dockerignore").match(/(?<=^!).*/gm)!;
    expect(sources.filter((source) => !existsSync(join(project, source)))).toEqual([]);
    expect([...letIn].sort()).toEqual([...sources].sort());
    for (const [, script] of all("RUN")
      .join()
      .matchAll(/npm run (\S+)/g))
      expect(manifest.scripts).toHaveProperty(script!);
  });

  it("contains all files that the build needs", () => {
    const place = join(folder, "build");
    for (const text of all("COPY").filter((each) => !each.startsWith("--from") && !each.includes("/etc/"))) {
      const paths = text.split(" ");
      const target = join(place, paths.pop()!);
      for (const path of paths) {
        const isInside = /\/$/.test(text);
        cpSync(join(project, path), isInside ? join(target, basename(path)) : target, { recursive: true });
      }
    }
    symlinkSync(join(project, "node_modules"), join(place, "node_modules"));
    const build = /npm run \w+/.exec(all("RUN").join())![0];
    const { status, stderr } = spawnSync(build, { cwd: place, shell: true, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    for (const made of ["dist/bundle", "dist/console/index.html"]) expect(existsSync(join(place, made))).toBe(true);
  }, 300_000);

  it("runs as somebody without rights, keeps its queue in a volume, and is stopped as the agent expects", () => {
    expect(last("USER")).toBe("node");
    expect(last("VOLUME")).toBe("/var/lib/sluice");
    expect(last("ENV")).toContain("STATE_DIRECTORY=/var/lib/sluice");
    expect(last("STOPSIGNAL")).toBe("SIGTERM");
  });

  it("starts an agent that takes data, is healthy, and drains", async () => {
    const [, , config] = words("CMD");
    expect(words("CMD")).toEqual(["run", "--config", config]);
    expect(all("COPY")).toContain(`packaging/sluice.yaml ${config}`);
    expect(words("ENTRYPOINT")).toEqual(["node", "/opt/sluice/bin/sluice.js"]);

    const { protocols } = (parse(read("packaging/sluice.yaml")) as { receivers: { otlp: { protocols: object } } })
      .receivers.otlp;
    const sets = [
      ...Object.keys(protocols).map((protocol) => `receivers.otlp.protocols.${protocol}.endpoint=127.0.0.1:0`),
      "service.telemetry.metrics.level=none",
      "extensions.admin.endpoint=127.0.0.1:0",
      "extensions.health_check.endpoint=127.0.0.1:0",
    ];
    const env = { STATE_DIRECTORY: folder, SLUICE_BACKEND: "http://127.0.0.1:1" };
    const args = sets.flatMap((set) => ["--set", set]);
    const agent = await startAgentProcess({ file: join(project, "packaging/sluice.yaml") }, { args, env });
    const [, port] = /"endpoint":"127\.0\.0\.1:(\d+)","msg":"health check is listening"/.exec(agent.output.stderr)!;
    expect(await health(Number(port))).toBe(0);
    const options = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await fetch(`http://127.0.0.1:${agent.ports.http}/v1/logs`, options)).status).toBe(200);
    expect(existsSync(join(folder, "queue", "otlp_http", "CURRENT"))).toBe(true);
    agent.child.kill(last("STOPSIGNAL") as NodeJS.Signals);
    expect(await agent.exited).toBe(0);
    expect(await health(Number(port))).toBe(1);
  });

  /** The exit code of the image's health check, asked of another port. */
  async function health(port: number): Promise<number> {
    const [program, flag, code] = JSON.parse(last("HEALTHCHECK").replace(/^.*?CMD /, "")) as [string, string, string];
    expect([program, flag]).toEqual(["node", "-e"]);
    expect(code).toContain("127.0.0.1:13133/");
    const asked = run(process.execPath, [flag, code.replace("13133", String(port))]);
    return asked.then(
      () => 0,
      (error: { code: number }) => error.code,
    );
  }
});

describe("packaging/sluice.service", () => {
  it("runs the same command as the image, with its queue where systemd keeps it", () => {
    expect(setting("ExecStart")).toBe(`/usr/local/bin/sluice ${words("CMD").join(" ")}`);
    expect(setting("StateDirectory")).toBe("sluice");
    expect(read("packaging/sluice.yaml")).toContain("${env:STATE_DIRECTORY:-");
  });

  it("gives the agent the time to drain that it takes for itself", () => {
    const seconds = (file: string, name: string) =>
      Number(new RegExp(`${name} = ([\\d_]+);`).exec(read(file))![1]!.replaceAll("_", "")) / 1000;
    const drain = serviceSchema.parse({}).shutdown_timeout / 1000;
    const most =
      drain +
      seconds("src/agent/cli/supervise.ts", "STOP_GRACE_MS") +
      seconds("src/agent/cli/run.ts", "TELEMETRY_STOP_MS");
    const { stop_grace_period } = parse(read("packaging/compose.yaml")).services.sluice;
    for (const given of [setting("TimeoutStopSec")!, stop_grace_period])
      expect(parseDuration(given)! / 1000).toBeGreaterThan(most);
  });

  it("reloads the config with the signal that the agent reloads it on", () => {
    expect(setting("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
  });

  it.skipIf(spawnSync("systemd-analyze", ["--version"]).error !== undefined)(
    "is right in the eyes of systemd (skipped where systemd-analyze is not installed)",
    async () => {
      const file = join(folder, "sluice.service");
      writeFileSync(file, unit.replace("/usr/local/bin/sluice", process.execPath));
      expect(await run("systemd-analyze", ["verify", "--man=no", file])).toEqual({ stdout: "", stderr: "" });
    },
  );
});

// These commands change the machine they run on, or need a registry; what they name is held against what is there.
describe("docs/start/install.md", () => {
  const commands = blocks
    .filter(({ page, language }) => page === "docs/start/install.md" && language === "sh")
    .flatMap(({ text }) => text.trim().split("\n"));
  const naming = (word: string) => commands.filter((command) => command.startsWith(word));

  it("has only commands that are looked at here", () => {
    expect(commands).toHaveLength(10);
    expect(commands.filter((command) => !/^(npm|npx|docker|install|systemctl) /.test(command))).toEqual([]);
    expect(naming("npm run")).toEqual(["npm run build:binary"]);
    expect(Object.keys(manifest.scripts)).toContain("build:binary");
  });

  it("installs the unit's files where the unit looks for them", () => {
    const [program, config, service] = naming("install").map((command) => command.split(" ").slice(-2));
    expect(setting("ExecStart")).toBe(`${program![1]} run --config ${config![1]}`);
    expect([config![0], service![0]].filter((path) => !existsSync(join(project, path!)))).toEqual([]);
    expect(service![1]).toBe(`/etc/systemd/system/${service![0]!.split("/").at(-1)}`);
    expect(read("scripts/binary.js")).toContain('join(root, "dist", "binary")');
    expect(program![0]).toBe("dist/binary/sluice");
  });

  it("runs the image with the ports, the volume and the variable that it has", () => {
    const [build, start] = naming("docker");
    expect(build).toContain("-f packaging/Dockerfile");
    for (const [, port] of start!.matchAll(/-p (\d+):\1/g)) expect(last("EXPOSE").split(" ")).toContain(port);
    expect(start).toContain(`:${last("VOLUME")} `);
    for (const [, name] of start!.matchAll(/-e (\w+)=/g))
      expect(read("packaging/sluice.yaml")).toContain(`env:${name}:-`);
  });
});
