import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin, SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { linksOf, pages } from "../docs/pages.js";
import { startAgentProcess } from "../support/agent-process.js";
import { installInto, type Packed, pack, project } from "./packed.js";

const run = promisify(execFile);

interface Manifest {
  readonly version: string;
  readonly bin: { readonly sluice: string };
  readonly man: string;
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
});
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
      /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/sluice\.js|dist\/sluice\.(1|schema\.json)|dist\/sbom\.cdx\.json|dist\/bundle\/[\w.-]+\.js(\.map)?|dist\/console\/[\w.-]+\.(html|js|css|svg|json)(\.gz)?|dist\/.*\.d\.ts|(config|examples)\/[\w/-]+\.(yaml|js)|packaging\/(Dockerfile|sluice\.(service|yaml)|compose\.yaml|compose\/[\w/.-]+|grafana\/\w+\.json|prometheus\/[\w.]+\.yaml)|docs\/([\w-]+\/)*[\w.-]+\.(md|yaml)|docs\/images\/[\w-]+\.svg|CONTRIBUTING\.md|SECURITY\.md|bench\/README\.md)$/;
    expect(packed.files.map(({ path }) => path).filter((path) => !wanted.test(path))).toEqual([]);
    expect(packed.files.filter(({ path }) => /(^|\/)test\//.test(path))).toEqual([]);
  });

  it("has what its pages link to", () => {
    const links = pages.filter(({ name }) => existsSync(installed(name))).flatMap(linksOf);
    const files = links.map((link) => link.split("#")[0]!).filter((file) => !file.endsWith(".png")); // pictures are left out
    const missing = files.filter((file) => !existsSync(installed(file)));
    expect(missing).toEqual([]);
  });

  it("creates a plugin whose Sluice is the tarball that it was installed from", async () => {
    const source = { "node_modules/sluice": { version: manifest.version, resolved: `file:${packed.filename}` } };
    const lock = join(folder, "node_modules/.package-lock.json"); // npm writes it beside what it has installed
    writeFileSync(lock, JSON.stringify({ lockfileVersion: 3, packages: source }));
    const created = async (name: string) => {
      await node(installed(manifest.bin.sluice), "create", "processor", name, "--directory", `plugins/${name}`);
      const text = readFileSync(join(folder, "plugins", name, "package.json"), "utf8");
      return (JSON.parse(text) as { devDependencies: { sluice: string } }).devDependencies.sluice;
    };
    expect(await created("from-tarball")).toBe(`file:../../${packed.filename}`);
    expect(existsSync(join(folder, "plugins/from-tarball/../..", packed.filename))).toBe(true);
    const registry = "https://registry.example/sluice/-/sluice-0.1.0.tgz";
    writeFileSync(lock, JSON.stringify({ packages: { "node_modules/sluice": { resolved: registry } } }));
    expect(await created("from-registry")).toBe(`^${manifest.version}`);
    rmSync(lock);
    expect(await created("from-somewhere")).toBe("file:../../node_modules/sluice");
  });

  it("is small", () => {
    console.log(`packed ${kB(packed.size)}, unpacked ${kB(packed.unpackedSize)}, ${packed.files.length} files`);
    expect(packed.size).toBeLessThan(3_850_000);
  });

  it("contains every file that its entry points name", () => {
    const doors = Object.values(manifest.exports).flatMap((door) =>
      typeof door === "string" ? [door] : [door.types, door.default],
    );
    expect([...doors, manifest.bin.sluice, manifest.man].filter((path) => !existsSync(installed(path)))).toEqual([]);
  });

  it("has every file that its files import", () => {
    const missing = packed.files
      .filter(({ path }) => /\.(d\.ts|js)$/.test(path))
      .flatMap(({ path }) => importsOf(path).filter((target) => !existsSync(installed(target))));
    expect(missing).toEqual([]);
  });

  it("shows no type or member of what only built-in components use", () => {
    const types = packed.files.map(({ path }) => path).filter((path) => path.endsWith(".d.ts"));
    expect(types).toContain("dist/runtime/contract/component.d.ts");
    expect(types.filter((path) => /@internal|\bBuiltIn[A-Z]/.test(readFileSync(installed(path), "utf8")))).toEqual([]);
  });

  it("takes types only from packages that are installed with it", () => {
    const foreign = packed.files
      .filter(({ path }) => path.endsWith(".d.ts"))
      .flatMap(({ path }) => [...readFileSync(installed(path), "utf8").matchAll(/\bfrom "([^."][^"]*)"/g)])
      .map((match) => /^(@[^/]+\/)?[^/]+/.exec(match[1]!)![0])
      .filter((name) => !isBuiltin(name));
    expect([...new Set(foreign)].filter((name) => !(name in manifest.dependencies))).toEqual([]);
  });

  it("has a map that leads from every file of ours to its TypeScript", () => {
    const bundled = packed.files.map(({ path }) => path).filter((path) => /^dist\/bundle\/.*\.js$/.test(path));
    const mapped = bundled.filter((path) => existsSync(installed(`${path}.map`)));
    const withoutMap = bundled
      .filter((path) => !mapped.includes(path))
      .map((path) => path.slice("dist/bundle/".length));
    // These have nothing of their own.
    expect(withoutMap).toEqual(["index.js", "ottl.js", "plugin.js", "rolldown-runtime.js"]);
    const sources = mapped.flatMap((path) => {
      const map = JSON.parse(readFileSync(installed(`${path}.map`), "utf8")) as { sources: string[] };
      return map.sources.map((source) => join(dirname(path), source));
    });
    expect(sources.length).toBeGreaterThan(300);
    expect(sources.filter((source) => !/^src\/.*\.ts$/.test(source) || !existsSync(join(project, source)))).toEqual([]);
  });

  it("has maps that are right to the line", () => {
    const source = "src/agent/embed/load-embedded.ts";
    const lines = readFileSync(join(project, source), "utf8").split("\n");
    const bundle = readFileSync(installed("dist/bundle/sluice.js"), "utf8").split("\n");
    const map = new SourceMap(JSON.parse(readFileSync(installed("dist/bundle/sluice.js.map"), "utf8")));
    for (const text of ["config must be an object, YAML text", "OpenTelemetry SDK Context Key", "write receivers: ["]) {
      const line = bundle.findIndex((each) => each.includes(text));
      const entry = map.findEntry(line, bundle[line]!.indexOf(text));
      expect(entry).toMatchObject({ originalSource: `../../${source}` });
      expect(lines[(entry as { originalLine: number }).originalLine]).toContain(text);
    }
  });

  // Lists of words and labels, and scripts for Redis, are texts, which the bundler writes in one line.
  it("contains no line of code that is too long to read", () => {
    const long = packed.files
      .filter(({ path }) => /^dist\/bundle\/.*\.js$/.test(path))
      .flatMap(({ path }) => readFileSync(installed(path), "utf8").split("\n"))
      .filter(
        (line) =>
          line.length > 1200 &&
          !/^(import|export) \{|new Worker\(|^const (?:HOOKS|PAIRS|WATCHDOG_THREAD) = |\bwords\("|redis\.eval\("|^\[\d+, "/.test(
            line.trim(),
          ),
      );
    expect(long).toEqual([]);
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

  it.each([
    ["made", "createSluice", BAD_CONFIG, ["exporters.otlp_htp", "service.pipelines.logs.exporters.0"]],
    ["started", "createSluice, then start", BAD_START, ["config.yaml:2:39 extensions.health_check.endpoint"]],
  ])(
    "prints the problems of a config and no code when nobody catches them, %s",
    async (_when, _by, program, problems) => {
      writeFileSync(join(folder, "uncaught.js"), program);
      const { code, stderr } = await node("uncaught.js").then(
        () => expect.fail("it should have failed"),
        (error: { code: number; stderr: string }) => error,
      );
      expect(code).toBe(1);
      for (const problem of problems) expect(stderr).toContain(problem);
      expect(stderr.split("\n").filter((line) => line.length > 300 && !line.startsWith('{"level"'))).toEqual([]);
      const frames = stderr.split("\n").filter((line) => /^ +at /.test(line));
      expect(frames[0]).toContain("uncaught.js:");
      expect(stderr).not.toContain("dist/bundle");
    },
  );

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
  ])("type-checks with module %s and moduleResolution %s", async (module, moduleResolution) => {
    const compilerOptions = {
      ...{ target: "es2022", lib: ["es2023"], strict: true, noEmit: true, types: ["node"], skipLibCheck: false },
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

const BAD_CONFIG = `import { createSluice } from "sluice";
await createSluice({
  config: { exporters: { otlp_htp: {} }, service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp"] } } } },
});
`;

/** No machine has the address. */
const UNSTARTABLE = `exporters: {nop: }
extensions: {health_check: {endpoint: "192.0.2.1:1"}}
service: {extensions: [health_check], pipelines: {logs: {receivers: [app], exporters: [nop]}}}
`;

const BAD_START = `import { createSluice } from "sluice";
const config = ${JSON.stringify(UNSTARTABLE)};
const sluice = await createSluice({ config, queueDirectory: "./embedded" });
await sluice.start();
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
