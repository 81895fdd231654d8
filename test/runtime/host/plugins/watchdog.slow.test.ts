import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

/** Runs code with a watchdog in a process of its own, until it has said as many lines as wanted; gives them. */
async function watched(code: string, { lines: wanted = 1, limitMs = 1000, args = [] as string[], file = "" } = {}) {
  const script = `
import { existsSync } from "node:fs";
import { getHeapStatistics } from "node:v8";
import { Watchdog } from "./dist/runtime/host/plugins/watchdog.js";
const watchdog = new Watchdog({ json: true, limitMs: ${limitMs} });
const [first, second] = [watchdog.register("processor first"), watchdog.register("exporter second")];
const alive = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
await alive(600);
${code}
await alive(60_000);
`;
  const child = spawn(process.execPath, [...args, "--input-type=module", "-e", script], {
    cwd: join(import.meta.dirname, "../../../.."),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  const lines = () => err.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
  child.stderr.on("data", (chunk) => {
    err += chunk;
    if (file !== "" && lines().length === 1) writeFileSync(file, "");
    if (lines().length >= wanted) child.kill("SIGKILL");
  });
  await new Promise((resolve) => child.on("close", resolve));
  return lines().map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe.concurrent("the watchdog", () => {
  it("names the plugin whose code does not return, and says when it has", async ({ onTestFinished }) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-watchdog-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "enough");
    const code = `watchdog.enter(first); watchdog.enter(0); watchdog.enter(second);
while (!existsSync(${JSON.stringify(file)}));
watchdog.enter(0);`;
    expect(await watched(code, { lines: 2, file })).toMatchObject([
      { level: "error", component: "exporter second", msg: expect.stringContaining("an endless loop?") },
      { level: "info", component: "exporter second", msg: expect.stringContaining("continues after") },
    ]);
  });

  it("names the plugin that ran last when the loop comes after an await", async () => {
    const [line] = await watched("watchdog.enter(first); watchdog.enter(0); for (;;);");
    expect(line).toMatchObject({ component: "processor first", msg: expect.stringContaining("after an await?") });
  });

  it("names the plugin that ran last when the heap is nearly full", async () => {
    const code = `watchdog.enter(second); watchdog.enter(0);
const young = (Number.parseInt(process.versions.v8, 10) < 13 ? 48 : 192) * 1024 * 1024;
const kept = (globalThis.kept = []);
const isFull = () => { const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics(); return used > 0.88 * (limit - young); };
while (!isFull()) {
  kept.push(new Array(50000).fill(kept.length + 0.5));
  await alive(0);
}`;
    const lines = await watched(code, {
      limitMs: 60_000,
      args: ["--max-old-space-size=128"],
    });
    expect(lines).toMatchObject([
      {
        component: "exporter second",
        msg: expect.stringMatching(/heap is \d\d % full; plugins here: processor first, exporter second/),
      },
    ]);
  });
});
