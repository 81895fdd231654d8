import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { masks } from "../../src/agent/mask-batch.js";
import { loadConfig } from "../../src/runtime/config/load.js";
import { Registry } from "../../src/runtime/config/resolve/registry.js";
import { noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import { Agent } from "../../src/runtime/host/agent.js";
import { useEnvironment } from "../../src/runtime/system/environment.js";
import { builtins } from "../support/builtins.js";

type Environment = Readonly<Record<string, string>>;

/** A program that runs a config: Sluice or the Collector. */
export interface Subject {
  /** Whether the program would start with this config. */
  accepts(yaml: string, env: Environment): boolean;
  /** Keys that only this program has, by component, for all cases. */
  readonly ownKeys?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Resolves when the program is ready, with a function that stops it. */
  start(yaml: string, env: Environment): Promise<() => Promise<void>>;
}

/** Sluice in this process, without queues on disk. */
export const sluice: Subject = {
  accepts: (yaml, env) => load(yaml, env).config !== undefined,
  ownKeys: { "receivers/file_log": { offsets_directory: "FOLDER/offsets" } },
  async start(yaml, env) {
    const { config, problems } = load(yaml, env);
    if (config === undefined) throw new Error(problems.map(({ path, message }) => `${path}: ${message}`).join("\n"));
    useEnvironment(env); // expressions read it
    if (env["TZ"] !== undefined) process.env["TZ"] = env["TZ"];
    const agent = new Agent(config, { logger: silentLogger, metrics: noMetrics }, masks);
    await agent.start();
    return () => agent.stop(0);
  },
};

const registry = new Registry(builtins.filter(({ type }) => type !== "reliability"));

function load(yaml: string, env: Environment) {
  return loadConfig({ sources: [{ text: yaml, name: "case.yaml" }], env, registry });
}

/** A binary of the Collector. */
export function collector(binary: string): Subject {
  return {
    accepts: (yaml, env) =>
      withConfig(yaml, (file) => spawnSync(binary, ["validate", `--config=${file}`], { env }).status === 0),
    async start(yaml, env) {
      const folder = mkdtempSync(join(tmpdir(), "differential-"));
      const file = join(folder, "config.yaml");
      writeFileSync(file, yaml);
      const child = spawn(binary, [`--config=${file}`], { env, stdio: ["ignore", "ignore", "pipe"] });
      const exited = once(child, "exit").then(() => rmSync(folder, { recursive: true }));
      let log = "";
      await new Promise<void>((resolve, reject) => {
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          log = (log + text).slice(-20_000);
          if (log.includes("Everything is ready")) resolve();
        });
        void exited.then(() => reject(new Error(`the Collector does not start: ${log}`)));
      });
      return async () => {
        child.kill("SIGKILL");
        await exited;
      };
    },
  };
}

function withConfig<Result>(yaml: string, use: (file: string) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), "differential-"));
  try {
    const file = join(folder, "config.yaml");
    writeFileSync(file, yaml);
    return use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
