import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sluiceHere } from "../agent/cli/terminal.js";
import { type AgentProcess, startAgentProcess } from "../support/agent-process.js";
import { installSluice } from "../support/installed.js";

const project = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const root = mkdtempSync(join(tmpdir(), "sluice-scaffold-"));
const KINDS = ["processor", "receiver", "exporter", "connector", "extension", "handler"] as const;

/** As `npm install` in each of them would leave it. */
beforeAll(async () => {
  installSluice(root);
  for (const kind of KINDS) await sluiceHere(root, "create", kind, `my-${kind}`);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

let agent: AgentProcess | undefined;
afterEach(() => void agent?.child.kill("SIGKILL"));

const npm = (kind: string, ...args: string[]) => run("npm", args, { cwd: join(root, `my-${kind}`) });
const tsc = (config: string) =>
  run(process.execPath, [join(project, "node_modules/typescript/bin/tsc"), "-p", config], { cwd: root });
const textOf = (kind: string, file: string) => readFileSync(join(root, `my-${kind}`, file), "utf8");

/** All kinds in one run, with the limits that each has. */
const SHARED = ["--config=my-processor/vitest.config.ts", "--no-isolate", "--maxWorkers=1"];

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
const manifestOf = (kind: string) => JSON.parse(textOf(kind, "package.json")) as Manifest;

/** The example, on ports of its own. */
async function startExample(kind: string, change: (yaml: string) => string = (yaml) => yaml): Promise<AgentProcess> {
  const file = join(root, `my-${kind}`, "example-here.yaml");
  const example = textOf(kind, "example.yaml").replace("127.0.0.1:4318", "127.0.0.1:0");
  writeFileSync(file, change(example));
  return startAgentProcess({ file }, { args: ownPlaces(kind) });
}

/** Options for ports and folders of its own. */
function ownPlaces(kind: string): string[] {
  const own = kind === "extension" ? ["my_extension"] : [];
  const sets = [
    "service.telemetry.metrics.level=none",
    `service.extensions=[${["reliability", "admin", "health_check", ...own].join(", ")}]`,
    `extensions.reliability.directory=${join(root, `my-${kind}`, "data/queue")}`,
    "extensions.admin.endpoint=127.0.0.1:0",
    "extensions.health_check.endpoint=127.0.0.1:0",
  ];
  return sets.flatMap((set) => ["--set", set]);
}

async function post(body: string, attributes: object[] = [], severityNumber = 9): Promise<number> {
  const logRecords = [{ body: { stringValue: body }, attributes, severityNumber }];
  const response = await fetch(`http://127.0.0.1:${agent!.ports.http}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  return response.status;
}

describe("what sluice create writes", () => {
  it("is a processor whose check and build pass as it is", async () => {
    const check = await npm("processor", "run", "check");
    const build = await npm("processor", "run", "build");
    expect([check.stderr, build.stderr].join("")).not.toContain("error");
  });

  // Both projects share their commands where possible, without npm, because starts take most of the time.
  it("is a package of every other kind for which the same commands pass", async () => {
    const { scripts } = manifestOf("processor");
    expect(scripts).toMatchObject({ check: "tsc -p tsconfig.json", build: "tsc -p tsconfig.build.json" });
    for (const kind of KINDS.slice(1)) {
      expect(manifestOf(kind).scripts).toEqual(scripts);
      for (const file of ["tsconfig.json", "tsconfig.build.json"])
        expect(textOf(kind, file)).toBe(textOf("processor", file));
      await tsc(`my-${kind}/tsconfig.build.json`);
    }
    const include = KINDS.slice(1).flatMap((kind) =>
      ["src", "test", "vitest.config.ts"].map((path) => `my-${kind}/${path}`),
    );
    writeFileSync(join(root, "tsconfig.json"), JSON.stringify({ extends: "./my-processor/tsconfig.json", include }));
    await tsc("tsconfig.json");
  });

  it("has tests that pass, those of all kinds in one run", async () => {
    const { stdout } = await npm("processor", "test", "--", "--root=..", ...SHARED);
    expect(stdout).toMatch(/Test Files .*6 passed/);
    expect(stdout).not.toContain("failed");
  });

  it("uses the Sluice that wrote it when that is no installed package", () => {
    const { devDependencies } = manifestOf("processor");
    expect(devDependencies["sluice"]).toBe(`file:${relative(join(root, "my-processor"), project)}`);
  });

  it("runs a record through the processor", async () => {
    agent = await startExample("processor");
    expect(await post("hello")).toBe(200);
    expect(await post("hidden", [{ key: "secret", value: { boolValue: true } }])).toBe(200);
    await expect.poll(() => agent!.output.stdout).toContain("processed.by=my-processor");
    expect(agent.output.stdout).not.toContain("hidden");
  });

  it("runs the receiver", async () => {
    agent = await startExample("receiver", (yaml) => yaml.replace("interval: 1s", "interval: 10ms"));
    await expect.poll(() => agent!.output.stdout).toContain("still here");
  });

  it("runs a record through the exporter, queue and all", async () => {
    const bodies: string[] = [];
    const backend = createServer((request, response) => {
      request.on("data", (chunk) => bodies.push(String(chunk)));
      request.on("end", () => response.end());
    });
    await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(backend.address() as AddressInfo).port}/`;
    agent = await startExample("exporter", (yaml) => yaml.replace(/\$\{env:BACKEND.*\}/, url));
    expect(await post("hello")).toBe(200);
    await expect.poll(() => bodies.join("")).toContain("hello");
    backend.closeAllConnections();
    backend.close();
  });

  it("runs records through the connector, to both pipelines", async () => {
    agent = await startExample("connector");
    expect(await post("all is fine")).toBe(200);
    expect(await post("out of order", [], 17)).toBe(200);
    await expect.poll(() => agent!.output.stdout).toMatch(/body: +out of order/);
    expect(agent.output.stdout).toContain("all is fine");
    expect(agent.output.stdout).not.toMatch(/body: +all is fine/);
  });

  it("runs the extension", async () => {
    agent = await startExample("extension", (yaml) => yaml.replace("interval: 10s", "interval: 10ms"));
    await expect.poll(() => agent!.output.stderr).toContain('"dead_letters":0,"msg":"all is well"');
  });

  it.each(KINDS)("has a script that runs the source of the %s and reloads it", async (kind) => {
    const folder = join(root, `my-${kind}`);
    const [program, ...args] = manifestOf(kind).scripts["dev"]!.split(" ");
    expect(program).toBe("sluice");
    const sets =
      kind === "receiver" || kind === "handler" ? [] : ["--set", "receivers.otlp.protocols.http.endpoint=127.0.0.1:0"];
    const child = spawn(process.execPath, [join(project, "bin/sluice.js"), ...args, ...sets, ...ownPlaces(kind)], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    const ended = once(child, "exit");
    try {
      await expect.poll(() => text).toContain("sluice dev: running: logs");
      const source = textOf(kind, "src/index.ts");
      writeFileSync(join(folder, "src/index.ts"), source.replace(/summary: ".*"/, 'summary: "Another one."'));
      await expect.poll(() => text).toMatch(/sluice dev: reloaded: replace \w+ my_\w+/);
      child.kill("SIGINT");
      expect(await ended).toEqual([0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
