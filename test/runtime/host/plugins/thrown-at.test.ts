import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentProcess, startAgentProcess } from "../../../support/agent-process.js";

const project = join(import.meta.dirname, "../../../..");
const run = promisify(execFile);

/** Types that tsc takes out, so that lines and columns of what it writes are not those of the source. */
const HELPER = `interface Unused {
  readonly a: string;
  readonly b: string;
}

export type Fails = (what: string) => never;

export const fail: Fails = (what: string): never => {
  const message: string = \`no \${what}\`; throw new Error(message);
};
`;

const PLUGIN = `import { defineExporter, defineExtension, defineProcessor, defineReceiver, eachRecord } from "sluice/plugin";
import { fail } from "./helper.js";

interface Unused {
  readonly a: string;
}

export const processor = defineProcessor({
  type: "broken",
  create: () => eachRecord((record: { readonly body: unknown }) => {
    if (record.body === "refuse") fail("processor");
    if (record.body === "later") setTimeout((): never => fail("timer"));
    if (record.body === "reject") void Promise.reject(new Error("no promise" as string));
  }),
});

export const exporter = defineExporter({
  type: "broken",
  create: () => ({
    async send(): Promise<void> {
      return fail("exporter");
    },
  }),
});

export const receiver = defineReceiver({
  type: "broken",
  create: () => ({ start: async () => {}, stop: async (): Promise<void> => fail("receiver") }),
});

export const extension = defineExtension({
  type: "broken",
  create: () => ({ start: async () => {}, stop: async (): Promise<void> => fail("extension") }),
});
`;

/** Where the source says it: line and column of the text, from 1. */
function positionOf(source: string, text: string): string {
  const before = source.slice(0, source.indexOf(text)).split("\n");
  return `${before.length}:${before.at(-1)!.length + 1}`;
}

const FAIL_AT = `src/helper.ts:${positionOf(HELPER, "new Error")}`;
const REJECT_AT = `src/index.ts:${positionOf(PLUGIN, "new Error")}`;

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly err?: { readonly at?: string };
}

let folder: string;
let agent: AgentProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-thrown-at-"));
  const files = {
    "src/helper.ts": HELPER,
    "src/index.ts": PLUGIN,
    "package.json": '{"name": "broken", "type": "module", "exports": "./dist/index.js"}',
    "pipeline.yaml": yaml(join(folder, "queue")),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const tsc = join(project, "node_modules/typescript/bin/tsc");
  const options = "--noCheck --sourceMap --target es2022 --module nodenext --rootDir src --outDir dist";
  await run(process.execPath, [tsc, ...options.split(" "), "src/index.ts"], { cwd: folder });
  agent = await startAgentProcess({ file: join(folder, "pipeline.yaml") });
}, 60_000);

afterAll(async () => {
  agent?.child.kill("SIGKILL");
  await agent?.exited;
  rmSync(folder, { recursive: true, force: true });
});

describe("a throw in a compiled plugin", () => {
  it("is compiled to other lines than it was written on", () => {
    const compiled = readFileSync(join(folder, "dist/helper.js"), "utf8");
    expect(positionOf(compiled, "new Error")).not.toBe(positionOf(HELPER, "new Error"));
  });

  it.each([
    ["a processor", "refuse", /^the processor failed: no processor/, FAIL_AT],
    ["a timer of a plugin", "later", /^uncaught exception in the plugin/, FAIL_AT],
    ["a promise that nobody awaits", "reject", /^unhandled rejection in the plugin/, REJECT_AT],
    ["an exporter", "export", /^the exporter failed: no exporter/, FAIL_AT],
  ])("is logged as an error with its place in the TypeScript source: %s", async (_what, body, msg, at) => {
    await post(agent.ports.http, body);
    await expectLogged(msg, at);
  });

  it("is logged so for receivers and extensions, which the agent stops", async () => {
    agent.child.kill("SIGTERM");
    await agent.exited;
    const failed = linesOf(agent).filter(({ msg }) => msg === "the component failed to stop");
    expect(failed.map(({ level, err }) => [level, err?.at])).toEqual([
      ["error", join(folder, FAIL_AT)],
      ["error", join(folder, FAIL_AT)],
    ]);
  });
});

async function expectLogged(msg: RegExp, at: string): Promise<void> {
  const find = () => linesOf(agent).find((line) => msg.test(line.msg));
  await expect.poll(find, { timeout: 30_000 }).toBeDefined();
  expect(find()).toMatchObject({ level: "error", err: { at: join(folder, at) } });
}

function linesOf({ output }: AgentProcess): LogLine[] {
  const complete = output.stderr.split("\n").slice(0, -1);
  return complete.map((line) => JSON.parse(line) as LogLine);
}

function post(port: number, body: string): Promise<Response> {
  const resourceLogs = [{ scopeLogs: [{ logRecords: [{ body: { stringValue: body } }] }] }];
  return fetch(`http://127.0.0.1:${port}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs }),
  });
}

function yaml(queue: string): string {
  return `plugins: [./dist/index.js]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}, broken: }
processors: {broken: }
exporters: {broken: }
extensions:
  broken:
  reliability: {directory: ${queue}}
  admin: {endpoint: "127.0.0.1:0"}
  health_check: {endpoint: "127.0.0.1:0"}
service:
  extensions: [broken]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp, broken], processors: [broken], exporters: [broken]}}
`;
}
