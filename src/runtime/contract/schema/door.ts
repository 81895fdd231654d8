/** Building blocks of config schemas, and the keys that every exporter has. */

export { configSchema, isZod, PARSED_ONCE } from "./config-schema.js";
export {
  type CompleteSettings,
  completeSettings,
  createExporterSettingsSchema,
  defaultSettings,
  type ExporterSettings,
  isRecord,
  uncheckedExporterSettingsSchema,
} from "./exporter-settings.js";
export { glob, parseRecordPattern, type RecordPattern } from "./record-pattern.js";
export {
  authReference,
  byteSize,
  type ConfigPath,
  caseInsensitiveEnum,
  configPath,
  deprecated,
  duration,
  extensionReference,
  headers,
  ignored,
  lazySchema,
  lazySection,
  REDACTED,
  recordPattern,
  secret,
  section,
  telemetryValue,
  unsupported,
  withoutUrlSecrets,
} from "./schema.js";
export { alternatives, didYouMean, nearest, withArticle } from "./suggest.js";
export { byteSizeText, DURATION_PATTERN, durationText, parseDuration } from "./units.js";
