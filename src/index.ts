/** The door for embedders: run a config in this process, and emit into it. */

export { type ConfigSource, type LoadedConfig, type LoadOptions, loadConfig } from "./runtime/config/load.js";
export type { ResolvedConfig } from "./runtime/config/resolve/spec.js";
export type { Place, Problem } from "./runtime/config/text/problem.js";
export type { Logger } from "./runtime/contract/observability.js";
export { isRefusal, Refusal } from "./runtime/contract/refusal.js";
export { SluiceConfigError } from "./runtime/embed/config-error.js";
export type { DeadLetters } from "./runtime/embed/dead-letters.js";
export type { SluiceConfig } from "./runtime/embed/load-embedded.js";
export type { EmitOptions, LogEmitter } from "./runtime/embed/log-emitter.js";
export type { LogInput, SeverityName } from "./runtime/embed/log-record.js";
export type { MetricSample } from "./runtime/embed/metric-samples.js";
export type { PinoDestination } from "./runtime/embed/pino/destination.js";
export { createSluice, type Sluice, type SluiceOptions, type SluiceStatus } from "./runtime/embed/sluice.js";
export { Agent, type AgentOptions, AgentStartError } from "./runtime/host/agent.js";
export { builtins } from "./runtime/host/builtins.js";
export { type LoadWithPluginsOptions, loadConfigWithPlugins } from "./runtime/host/plugins/load-config-with-plugins.js";
export { Registry, RegistryError } from "./runtime/host/registry.js";
