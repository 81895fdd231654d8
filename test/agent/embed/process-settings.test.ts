import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startAgentProcess } from "../../support/agent-process.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const bundle = join(import.meta.dirname, "../../../dist/bundle");
const door = (name: string) => JSON.stringify(pathToFileURL(join(bundle, `${name}.js`)).href);

/** Keeps what is done to V8 from now on, and prints it when the process ends. */
const SPY = `
import { syncBuiltinESMExports } from "node:module";
import { constants, PerformanceObserver } from "node:perf_hooks";
import v8 from "node:v8";
import vm from "node:vm";

const seen = { flags: [], contexts: 0, forced: 0, gc: undefined };
const { setFlagsFromString } = v8;
const { runInNewContext } = vm;
v8.setFlagsFromString = (flag) => { seen.flags.push(flag); setFlagsFromString(flag); };
vm.runInNewContext = (...args) => { seen.contexts++; return runInNewContext(...args); };
syncBuiltinESMExports();
const isForced = ({ detail }) => (detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0;
const observer = new PerformanceObserver((list) => { seen.forced += list.getEntries().filter(isForced).length; });
observer.observe({ entryTypes: ["gc"] });

export async function report() {
  await new Promise((resolve) => setTimeout(resolve));
  seen.forced += observer.takeRecords().filter(isForced).length;
  return { ...seen, gc: [typeof globalThis.gc, runInNewContext("typeof gc")] };
}
`;

/** A plugin that loses every delivery. An agent notices this only when garbage is collected. */
const PLUGIN = `
import { filter } from ${JSON.stringify(import.meta.resolve("rxjs"))};
import { defineProcessor } from ${door("plugin")};
export default defineProcessor({ type: "lossy", create: () => filter(() => false) });
`;

/** Imports every door, and runs the plugin in both kinds of pipeline until a forced collection would be long due. */
const PROGRAM = `
import { report } from "./spy.js";
const { createSluice } = await import(${door("index")});
await import(${door("ottl")});
await import(${door("pino")});
await import(${door("sdk")});
const { FakeClock, logs, runPipeline } = await import(${door("testing")});
const { default: lossy } = await import("./plugin.js");

const clock = new FakeClock();
const pipelines = "service: {pipelines: {logs: {receivers: [RECEIVER], processors: [lossy], exporters: [EXPORTER]}}}";
const yaml = "receivers: {app: }\\nprocessors: {lossy: }\\nexporters: {nop: }\\n" + pipelines.replace("RECEIVER", "app").replace("EXPORTER", "nop");
const sluice = await createSluice({ config: yaml, components: [lossy], clock });
await sluice.start();
void sluice.logs.emit({ body: "lost" });
const pipeline = await runPipeline("processors: {lossy: }\\n" + pipelines.replaceAll(/RECEIVER|EXPORTER/g, "memory"), { plugins: [lossy], clock });
void pipeline.send(logs("lost"));
for (let second = 0; second < 10; second++) await clock.pass(1000);
console.log(JSON.stringify(await report()));
process.exit(0);
`;

describe("a program that embeds Sluice", () => {
  it("keeps its V8 flags, has no gc exposed and no collection forced", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    for (const [name, text] of Object.entries({ spy: SPY, plugin: PLUGIN, program: PROGRAM }))
      writeFileSync(join(folder, `${name}.js`), text);
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "program.js")]);
    expect(JSON.parse(stdout)).toEqual({ flags: [], contexts: 0, forced: 0, gc: ["undefined", "undefined"] });
  });
});

describe("sluice run", () => {
  it("forces a collection to find what a plugin let go of", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "plugin.mjs"), PLUGIN);
    const yaml = `
plugins: [${JSON.stringify(join(folder, "plugin.mjs"))}]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors: {lossy: }
exporters: {nop: }
service:
  extensions: []
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], processors: [lossy], exporters: [nop]}}
`;
    const { ports, child, exited } = await startAgentProcess({ yaml });
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "a" } }] }] }] });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`http://127.0.0.1:${ports.http}/v1/logs`, { method: "POST", headers, body });
    expect({ status: answer.status, text: await answer.text() }).toEqual({
      status: 503,
      text: expect.stringContaining("lost a delivery"),
    });
    child.kill("SIGTERM");
    expect(await exited).toBe(0);
  });
});
