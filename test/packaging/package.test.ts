import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAgentProcess } from "../support/agent-process.js";
import { installInto, type Packed, pack, project } from "./packed.js";

const run = promisify(execFile);

interface Manifest {
  readonly version: string;
  readonly bin: { readonly sluice: string };
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

let packed: Packed;
let folder: string;
let manifest: Manifest;
const installed = (...path: string[]) => join(folder, "node_modules", "sluice", ...path);
const node = (...args: string[]) => run(process.execPath, args, { cwd: folder });

beforeAll(async () => {
  ({ packed, folder } = await pack());
  await installInto(folder, join(folder, packed.filename), ["typescript", "@types/node"]);
  manifest = JSON.parse(readFileSync(installed("package.json"), "utf8")) as Manifest;
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PLUGIN = `import { defineProcessor, eachRecord } from "sluice/plugin";
import { z } from "zod";
export default defineProcessor({
  type: "mark",
  schema: z.strictObject({ attribute: z.string().default("marked") }),
  create: ({ attribute }) => eachRecord((record) => void record.attributes.set(attribute, "yes")),
});
`;

describe("the package", () => {
  it("has what is needed and nothing else", () => {
    const wanted =
      /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/sluice\.js|dist\/sluice\.schema\.json|dist\/bundle\/[\w.-]+\.js|dist\/.*\.d\.ts|(config|examples)\/[\w/-]+\.(yaml|js)|docs\/[\w.-]+\.(md|yaml))$/;
    expect(packed.files.map(({ path }) => path).filter((path) => !wanted.test(path))).toEqual([]);
    expect(packed.files.filter(({ path }) => /(^|\/)(test|decisions)\//.test(path))).toEqual([]);
  });

  it("is small", () => {
    console.log(`packed ${kB(packed.size)}, unpacked ${kB(packed.unpackedSize)}, ${packed.files.length} files`);
    expect(packed.size).toBeLessThan(1_000_000);
  });

  it("has all that its doors name", () => {
    const doors = Object.values(manifest.exports).flatMap((door) =>
      typeof door === "string" ? [door] : [door.types, door.default],
    );
    expect([...doors, manifest.bin.sluice].filter((path) => !existsSync(installed(path)))).toEqual([]);
  });

  it("has every file that its files import", () => {
    const missing = packed.files
      .filter(({ path }) => /\.(d\.ts|js)$/.test(path))
      .flatMap(({ path }) => importsOf(path).filter((target) => !existsSync(installed(target))));
    expect(missing).toEqual([]);
  });

  it("takes types only from packages that are installed with it", () => {
    const foreign = packed.files
      .filter(({ path }) => path.endsWith(".d.ts"))
      .flatMap(({ path }) => [...readFileSync(installed(path), "utf8").matchAll(/\bfrom "([^."][^"]*)"/g)])
      .map((match) => /^(@[^/]+\/)?[^/]+/.exec(match[1]!)![0])
      .filter((name) => !isBuiltin(name));
    expect([...new Set(foreign)].filter((name) => !(name in manifest.dependencies))).toEqual([]);
  });

  it("runs nothing when it is installed", () => {
    // `prepare` is for checkouts: npm does not run it for a tarball.
    expect(Object.keys(manifest.scripts)).not.toEqual(expect.arrayContaining([expect.stringMatching(/install$/)]));
  });
});

describe("installed into an empty project", () => {
  it("is a command that takes a record", async () => {
    const { stdout } = await node(installed(manifest.bin.sluice), "--version");
    expect(stdout.trim()).toBe(manifest.version);
    writeFileSync(join(folder, "mark.js"), PLUGIN);
    writeFileSync(join(folder, "pipeline.yaml"), pipeline("plugins: [./mark.js]"));
    const agent = await startAgentProcess(
      { file: join(folder, "pipeline.yaml") },
      { command: [process.execPath, installed(manifest.bin.sluice)] },
    );
    try {
      const { status } = await post(agent.ports.http);
      expect(status).toBe(200);
      await expect.poll(() => agent.output.stdout).toContain("marked=yes");
      expect(existsSync(join(folder, "queue", "otlp_http", "CURRENT"))).toBe(true);
    } finally {
      agent.child.kill("SIGTERM");
    }
    expect(await agent.exited).toBe(0);
  });

  it("finds a plugin that is installed beside it", async () => {
    const own = join(folder, "node_modules", "sluice-mark");
    mkdirSync(own);
    writeFileSync(join(own, "package.json"), '{"name":"sluice-mark","type":"module","exports":"./index.js"}');
    writeFileSync(join(own, "index.js"), PLUGIN);
    writeFileSync(join(folder, "installed.yaml"), pipeline("plugins: [sluice-mark]"));
    const { stdout } = await node(installed(manifest.bin.sluice), "validate", "--config", "installed.yaml");
    expect(stdout).toContain("valid");
  });

  it("runs in a program, and in its tests", async () => {
    writeFileSync(join(folder, "embed.js"), EMBED);
    writeFileSync(join(folder, "mark.js"), PLUGIN);
    const { stdout } = await node("embed.js");
    expect(JSON.parse(stdout)).toEqual({ states: ["ready", "stopped"], marked: "yes" });
  });

  it.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("type-checks with module %s and moduleResolution %s", { timeout: 60_000 }, async (module, moduleResolution) => {
    const compilerOptions = {
      ...{ target: "es2022", lib: ["es2023"], strict: true, noEmit: true, types: ["node"], skipLibCheck: true },
      ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, module, moduleResolution },
    };
    writeFileSync(join(folder, "consumer.ts"), CONSUMER);
    const config = join(folder, `tsconfig.${module}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    const tsc = join(project, "node_modules/typescript/bin/tsc");
    const { stdout } = await node(tsc, "-p", config).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });
});

const EMBED = `import { createSluice } from "sluice";
import { logs, runPipeline } from "sluice/testing";
import mark from "./mark.js";
const sluice = await createSluice({
  config: "exporters: {nop: }\\nservice: {pipelines: {logs: {receivers: [app], exporters: [nop]}}}",
  queueDirectory: "./embedded",
});
await sluice.start();
const states = [(await sluice.status()).state];
await sluice.logs.emit({ body: "hello" }, { failOnError: true });
await sluice.stop();
states.push((await sluice.status()).state);
const yaml = "processors: {mark: }\\nservice: {pipelines: {logs: {receivers: [memory], processors: [mark], exporters: [memory]}}}";
const pipeline = await runPipeline(yaml, { plugins: [mark] });
await pipeline.send(logs({ body: "hello" }));
await pipeline.stop();
console.log(JSON.stringify({ states, marked: pipeline.records()[0].attributes.marked }));
`;

const CONSUMER = `import { type Entry, type Problem, type Selection, type Sluice, SluiceConfigError, createSluice } from "sluice";
import { sluiceTransport, type SupervisedTransport } from "sluice/pino";
import { SluiceLogRecordExporter, SluiceMetricExporter, SluiceSpanExporter } from "sluice/sdk";
import { compileConditions, type OttlConditions } from "sluice/ottl";
import { defineProcessor, eachRecord, type ProcessorFactory } from "sluice/plugin";
import { logs, runPipeline } from "sluice/testing";
import { z } from "zod";

const mark: ProcessorFactory = defineProcessor({
  type: "mark",
  schema: z.strictObject({ attribute: z.string() }),
  create: ({ attribute }) =>
    eachRecord((record) => {
      const before: unknown = record.attributes.get(attribute);
      record.attributes.set(attribute.toUpperCase(), String(before));
      // @ts-expect-error: a config has only what its schema has
      return attribute.missing;
    }),
});
export const problems = (error: unknown): readonly Problem[] => (error instanceof SluiceConfigError ? error.problems : []);
export const errors: OttlConditions = compileConditions("logs", "log.severity_number >= 17", { errorMode: "silent" });
const sluice: Sluice = await createSluice({ config: "" });
const selection: Selection = { query: { exporter: "otlp_http" } };
export const failed: readonly Entry[] = (await sluice.deadLetters.list(selection.query)).entries;
export const exporters = [new SluiceLogRecordExporter(sluice), new SluiceSpanExporter(sluice)] as const;
export const metricExporter: { shutdown(): Promise<void> } = new SluiceMetricExporter(sluice);
export const makeTransport: (options: Parameters<typeof sluiceTransport>[0]) => SupervisedTransport = sluiceTransport;
const pipeline = await runPipeline("", { plugins: [mark] });
export const ok: boolean = (await pipeline.send(logs({ body: "x" }))).ok;
`;

/** Free ports, a durable queue before a backend that is not there, and a print of what goes by. */
function pipeline(plugins: string): string {
  return `${plugins}
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors: {mark: }
exporters:
  debug: {verbosity: normal}
  otlp_http: {endpoint: "http://127.0.0.1:1"}
extensions:
  reliability: {directory: ${join(folder, "queue")}}
  admin: {endpoint: "127.0.0.1:0"}
  health_check: {endpoint: "127.0.0.1:0"}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [mark], exporters: [debug, otlp_http]}}
`;
}

function post(port: number): Promise<Response> {
  const body = JSON.stringify({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "hello" } }] }] }],
  });
  return fetch(`http://127.0.0.1:${port}/v1/logs`, { method: "POST", headers: JSON_TYPE, body });
}

const JSON_TYPE = { "content-type": "application/json" };

/**
 * The packed paths that a packed file names; a declaration names its neighbours as the code will be called. The code is
 * all in one folder, where "../" is only in what `sluice create` writes.
 */
function importsOf(path: string): string[] {
  const text = readFileSync(installed(path), "utf8");
  const pattern = path.endsWith(".d.ts")
    ? /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g
    : /\b(?:from|import\()\s*"(\.\/[^"]+)"/g;
  const targets = [...text.matchAll(pattern)].map((match) => match[1]!);
  return targets.map((target) => {
    const file = join(dirname(path), target);
    return path.endsWith(".d.ts") ? file.replace(/\.js$/, ".d.ts") : file;
  });
}

function kB(bytes: number): string {
  return `${Math.round(bytes / 1000)} kB`;
}
