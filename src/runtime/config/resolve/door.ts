/** The registry of component types, and a config as it is resolved. */

export { metricListeners, overlap } from "./check-listeners.js";
export { currentType, noEffectReason } from "./other-types.js";
export { flowYaml, otlpInstead } from "./otlp-vendors.js";
export { Registry, RegistryError } from "./registry.js";
export type { ComponentSpec, ExporterSpec, ExtensionSpec, PipelineSpec, ResolvedConfig } from "./spec.js";
