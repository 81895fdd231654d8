/** Runs a config as an agent; loads plugins; provides the agent's own logs and metrics. */

export { Agent, AgentStartError } from "./agent.js";
export type { AgentFace, AgentOptions } from "./agent-options.js";
export { type AgentDescription, type ConfigFacts, describeAgent } from "./inspect-agent.js";
export { exportedComponents } from "./plugins/exported-components.js";
export { importUrl } from "./plugins/import-url.js";
export { loadConfigWithPlugins } from "./plugins/load-config-with-plugins.js";
export { loadPlugins } from "./plugins/load-plugins.js";
export { PluginFolders } from "./plugins/plugin-folders.js";
export { Watchdog } from "./plugins/watchdog.js";
export { type ConfigCandidate, shownProblem } from "./reload/config-reloader.js";
export { withFileVersions } from "./reload/named-files.js";
export { type ReloadPlan, reloadPlan } from "./reload/reload-plan.js";
export { RemoteSources } from "./reload/remote-sources.js";
export { type MetricFamily, MetricRegistry } from "./self-telemetry/metric-registry.js";
export { addProcessMetrics, createSelfTelemetry, type SelfTelemetry } from "./self-telemetry/self-telemetry.js";
