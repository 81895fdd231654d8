import { masks } from "../../src/agent/mask-batch.js";
import { loadConfig } from "../../src/runtime/config/load.js";
import { Registry } from "../../src/runtime/config/resolve/registry.js";
import type { ResolvedConfig } from "../../src/runtime/config/resolve/spec.js";
import type { ComponentFactory } from "../../src/runtime/contract/component.js";
import { noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import { Agent } from "../../src/runtime/host/agent.js";
import type { AgentOptions } from "../../src/runtime/host/agent-options.js";
import { builtins } from "./builtins.js";

/**
 * The resolved config of a YAML text; throws with all problems when there are any. Exporters are not wrapped, and no
 * directory is made, unless the extension `reliability` is among the extra components.
 */
export function resolve(yaml: string, extra: readonly ComponentFactory[] = []): ResolvedConfig {
  const registry = new Registry([...builtins.filter(({ type }) => type !== "reliability"), ...extra]);
  const { config, problems } = loadConfig({ sources: [{ text: yaml, name: "test.yaml" }], registry });
  if (config === undefined) throw new Error(problems.map((p) => `${p.path}: ${p.message}`).join("\n"));
  return config;
}

/** An agent from a YAML text, in this process, not yet started. */
export function agentOf(
  yaml: string,
  { components = [], ...options }: Partial<AgentOptions> & { components?: readonly ComponentFactory[] } = {},
): Agent {
  return new Agent(resolve(yaml, components), { logger: silentLogger, metrics: noMetrics, ...options }, masks);
}
