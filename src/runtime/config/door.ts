/** Loads a config from its sources and resolves it. Problems carry their places in the source. */

export { type LoadedConfig, type LoadOptions, openConfig } from "./load.js";
export { currentType, noEffectReason } from "./resolve/other-types.js";
export { Registry, RegistryError } from "./resolve/registry.js";
export type { ComponentSpec, ExporterSpec, PipelineSpec, ResolvedConfig } from "./resolve/spec.js";
export { parseId, SECTIONS, type SectionName, TYPE_PATTERN } from "./schema/component-id.js";
export { describeKeys, type KeyDescription, withDefaults } from "./schema/describe-keys.js";
export { configJsonSchema, type JsonSchema } from "./schema/json-schema.js";
export { type KeyRewrite, keyRewrite } from "./schema/old-keys.js";
export type { LogProcessorConfig, OtlpTarget, ServiceSettings } from "./schema/service-schema.js";
export { redactedConfig } from "./secrets/redacted-config.js";
export type { Findings } from "./text/findings.js";
export { isNull, isScalar, type MapNode, type Node, type Span } from "./text/node.js";
export { type Place, type Problem, placeText, problemLine, problemMessage } from "./text/problem.js";
export type { ProblemCode } from "./text/problem-codes.js";
export { type ConfigSource, readTextFile } from "./text/read-sources.js";
export { withoutBom } from "./text/substitute.js";
