/** The door for embedders: load a config, run it in this process. */
export * from "./plugin.js";
export { Agent, type AgentOptions, AgentStartError } from "./runtime/agent.js";
export { builtins } from "./runtime/builtins.js";
export { type ConfigSource, type LoadedConfig, type LoadOptions, loadConfig } from "./runtime/config/load.js";
export type { Place, Problem } from "./runtime/config/problem.js";
export type { ResolvedConfig } from "./runtime/config/spec.js";
export { type LoadWithPluginsOptions, loadConfigWithPlugins } from "./runtime/plugins/load-config.js";
export { Registry, RegistryError } from "./runtime/registry.js";
