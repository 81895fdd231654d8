/** Loads a config from its sources and resolves it. Problems carry their places in the source. */

export { type LoadedConfig, type LoadOptions, openConfig } from "./load.js";
export { configJsonSchema, type JsonSchema } from "./schema/json-schema.js";
export type { LogProcessorConfig, OtlpTarget, ServiceSettings } from "./schema/service-schema.js";
export { redactedConfig } from "./secrets/redacted-config.js";
export { type ConfigSource, readTextFile } from "./text/read-sources.js";
export { withoutBom } from "./text/substitute.js";
