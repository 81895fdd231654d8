import type { ComponentSpec, ExporterSpec, ResolvedConfig } from "../config/resolve/spec.js";
import type { Problem } from "../config/text/problem.js";
import type { ExtensionFactory } from "../contract/component.js";
import {
  completeSettings,
  type ExporterSettings,
  uncheckedExporterSettingsSchema,
} from "../contract/schema/exporter-settings.js";

/** The extension that wraps exporters. */
export const RELIABILITY = "reliability";

const DIRECTORY_HINT =
  "pass queueDirectory to createSluice, set extensions.reliability.directory, or turn the queue off with sending_queue: {enabled: false}";

type ReliabilitySettings = ExporterSettings & { readonly directory?: string };

/**
 * The config with a place for its queues. A program's folder is not written to unasked: when an exporter has a queue,
 * somebody must have said where; when none has, no directory is made.
 */
export function withQueueDirectory(
  config: ResolvedConfig,
  directory: string | undefined,
): { readonly config: ResolvedConfig } | { readonly problems: readonly Problem[] } {
  const spec = [...config.extensions.values()].find(({ factory }) => factory.type === RELIABILITY);
  if (spec === undefined) return { config };
  const written = spec.config as ReliabilitySettings;
  const queued = [...config.exporters.values()].filter((exporter) => hasQueue(exporter, written));
  if (queued.length === 0) return { config: withSettings(config, spec, withoutQueue(written)) };
  if (config.placeOf([...spec.path.split("."), "directory"]) !== undefined) return { config };
  if (directory === undefined) return { problems: [noDirectory(queued)] };
  return { config: withSettings(config, spec, { ...written, directory }) };
}

function withSettings(
  config: ResolvedConfig,
  spec: ComponentSpec<ExtensionFactory>,
  settings: ReliabilitySettings,
): ResolvedConfig {
  const extensions = new Map(config.extensions).set(spec.id, { ...spec, config: settings });
  return { ...config, extensions };
}

function withoutQueue(written: ReliabilitySettings): ReliabilitySettings {
  return { ...written, sending_queue: { ...written.sending_queue, enabled: false } };
}

function hasQueue({ settings, factory }: ExporterSpec, defaults: ExporterSettings): boolean {
  const typeDefaults = uncheckedExporterSettingsSchema.parse(factory.defaults ?? {});
  return completeSettings(settings, defaults, typeDefaults).sending_queue.enabled;
}

function noDirectory(queued: readonly ExporterSpec[]): Problem {
  const names = queued.map(({ id }) => id).join(", ");
  return {
    severity: "error",
    code: "no_queue_directory",
    place: queued[0]!.placeOf([]),
    path: "extensions.reliability.directory",
    message: `nobody says where the queue of ${names} is to be kept; ${DIRECTORY_HINT}`,
  };
}
