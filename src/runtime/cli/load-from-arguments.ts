import { type LoadedConfig, loadConfig } from "../config/load.js";
import type { CommandContext } from "./command.js";
import { UsageError } from "./terminal.js";

/** Loads what `--config` and `--set` name. */
export async function loadFromArguments({ values, terminal, registry }: CommandContext): Promise<LoadedConfig> {
  const files = (values["config"] ?? []) as readonly string[];
  if (files.length === 0) throw new UsageError("no config was given", "name one: --config pipeline.yaml");
  return loadConfig({
    sources: files.map((file) => ({ file })),
    sets: (values["set"] ?? []) as readonly string[],
    env: terminal.env,
    registry: await registry(),
    addDefaults: true,
  });
}
