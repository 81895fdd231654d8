import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/runtime/config/load.js";
import { Registry } from "../../src/runtime/config/resolve/registry.js";
import { isEmptyPlan, reloadPlan } from "../../src/runtime/host/reload/reload-plan.js";
import { builtins } from "../support/builtins.js";
import { TEST_LIMIT_MS } from "../support/limits.js";

interface PartsModule {
  readonly PARTS: Readonly<Record<string, object>>;
  soakConfig(parts: readonly string[], ports: object, folder: string, asShipped: boolean): object;
}

interface ReloadsModule {
  reloadedConfig(first: object, n: number): object;
}

const moduleOf = (name: string): Promise<unknown> => import(new URL(`../../bench/soak/${name}`, import.meta.url).href);
const { PARTS, soakConfig } = (await moduleOf("parts.js")) as PartsModule;
const { reloadedConfig } = (await moduleOf("reloads.js")) as ReloadsModule;

const MIB = 1024 * 1024;

describe("the config of a soak", () => {
  const names = "http grpc again admin health prometheus steady failing grpcBackend".split(" ");
  const ports = Object.fromEntries(names.map((name, i) => [name, 20_000 + i]));
  const registry = new Registry(builtins);

  it.each([
    ["no part", []],
    ["all parts", Object.keys(PARTS)],
    ...Object.keys(PARTS).map((part) => [part, [part]] as const),
  ] as const)("is valid with %s", (_name, parts) => {
    for (const asShipped of [false, true]) {
      const text = JSON.stringify(soakConfig(parts, ports, "/tmp/soak", asShipped));
      const { problems } = loadConfig({ sources: [{ text, name: "soak.json" }], registry });
      expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    }
  });
});

describe("the reloads of a soak", () => {
  const names = "http grpc again admin health prometheus steady failing grpcBackend".split(" ");
  const ports = Object.fromEntries(names.map((name, i) => [name, 20_000 + i]));
  const registry = new Registry(builtins);
  const load = (config: object) =>
    loadConfig({ sources: [{ text: JSON.stringify(config), name: "soak.json" }], registry });

  it.each([
    ["no part", []],
    ["all parts", Object.keys(PARTS)],
  ] as const)("give a valid config that differs from the last one, with %s", (_name, parts) => {
    const first = soakConfig(parts, ports, "/tmp/soak", false);
    let before = load(first).config!;
    for (let n = 1; n <= 30; n++) {
      const { config, problems } = load(reloadedConfig(first, n));
      expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(isEmptyPlan(reloadPlan(before, config!))).toBe(false);
      before = config!;
    }
  });
});

/** They wait for most of their time, so they wait together. */
describe.concurrent("npm run soak, in short", () => {
  const SHORT = ["--cycle=6", "--sample=1", "--rate=500", "--json"];
  /** MiB an hour, as of an agent that has run for a minute and is still being compiled: a tenth of what `leak.mjs` keeps. */
  const COARSE = "--max-growth=400";
  const limit = { timeout: 3 * TEST_LIMIT_MS };

  it("does not find an agent with all parts growing", limit, async () => {
    const { stdout, stderr } = await runSoak("--minutes=1.5", "--warmup=0.8", COARSE, ...SHORT);
    expect(stdout, stderr).not.toBe("");
    const [result] = JSON.parse(stdout).results;
    expect(result.verdict, stderr).not.toBe("grows");
    expect(result.samples.length).toBeGreaterThan(5);
    expect(new Set(result.samples.map(({ mood }: { mood: string }) => mood)).size).toBeGreaterThan(1);
    for (const { heap, external, arrayBuffers } of result.samples)
      for (const bytes of [heap, external, arrayBuffers]) expect(bytes).toBeGreaterThan(0);
    expect(result.medians).toHaveLength(4);
    expect(["flat", "grows", "undecided"]).toContain(result.resident);
    expect(result.sent).toBeGreaterThan(5000);
    expect(result.requests).toBeGreaterThan(100);
  });

  it("finds one growing that keeps a megabyte a second", limit, async () => {
    const leak = `--import=${join(import.meta.dirname, "leak.mjs")}`;
    // Little load and many cycles: also a busy machine drains the queues between some of them.
    const easy = ["--parts=none", "--rate=50", "--minutes=1.4", "--warmup=0.2", "--cycle=4", "--sample=1", "--json"];
    const { code, stdout } = await runSoak(...easy, COARSE, leak);
    const [result] = JSON.parse(stdout).results;
    expect(result.verdict).toBe("grows");
    expect(result.slopes.arrayBuffers.perHour).toBeGreaterThan(100 * MIB); // half of it, and slower on a busy machine
    expect(code).toBe(1);
  });

  it("reports unknown arguments with exit code 2", async () => {
    const { code, stderr } = await runSoak("--parts=none,such");
    expect(stderr).toContain('there is no "none"');
    expect(code).toBe(2);
    expect((await runSoak("--minutes=1", "--cycle=60")).stderr).toContain("time for 7 cycles");
  });
});

async function runSoak(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ["bench/soak/run.js", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout, stderr };
}
