/** The door for embedders: run a config in this process, and emit into it. */
export * from "./plugin.js";
export { Agent, type AgentOptions, AgentStartError } from "./runtime/agent.js";
export { builtins } from "./runtime/builtins.js";
export { type ConfigSource, type LoadedConfig, type LoadOptions, loadConfig } from "./runtime/config/load.js";
export type { Place, Problem } from "./runtime/config/problem.js";
export type { ResolvedConfig } from "./runtime/config/spec.js";
export { SluiceConfigError } from "./runtime/embed/config-error.js";
export type { DeadLetters } from "./runtime/embed/dead-letters.js";
export type { EmitOptions, LogEmitter } from "./runtime/embed/emitter.js";
export type { SluiceConfig } from "./runtime/embed/load.js";
export type { LogInput, SeverityName } from "./runtime/embed/log-record.js";
export type { MetricSample } from "./runtime/embed/metric-samples.js";
export { createSluice, type Sluice, type SluiceOptions, type SluiceStatus } from "./runtime/embed/sluice.js";
export type { PinoDestination } from "./runtime/pino/destination.js";
export { type LoadWithPluginsOptions, loadConfigWithPlugins } from "./runtime/plugins/load-config.js";
export { Registry, RegistryError } from "./runtime/registry.js";
