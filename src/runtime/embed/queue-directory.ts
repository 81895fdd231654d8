import type { Problem } from "../config/problem.js";
import type { ComponentSpec, ExporterSpec, ResolvedConfig } from "../config/spec.js";
import type { ExtensionFactory } from "../contract/component.js";
import { completeSettings, type ExporterSettings, exporterSettingsSchema } from "../contract/exporter-settings.js";
import type { Registry } from "../registry.js";

const TYPE = "reliability";
const WHAT_TO_DO =
  "pass queueDirectory to createSluice, set extensions.reliability.directory, or turn the queue off with sending_queue: {enabled: false}";

type Reliability = ComponentSpec<ExtensionFactory>;

/**
 * The config with the extension that wraps exporters, named or not. A program's folder is not written to unasked: when
 * an exporter has a queue, somebody must have said where.
 */
export function withQueueDirectory(
  config: ResolvedConfig,
  registry: Registry,
  directory: string | undefined,
): { readonly config: ResolvedConfig } | { readonly problems: readonly Problem[] } {
  const named = [...config.extensions.values()].find(({ factory }) => factory.type === TYPE);
  const factory = named?.factory ?? registry.get("extension", TYPE);
  if (factory === undefined) return { config };
  const isWritten = named !== undefined && config.placeOf([...named.path.split("."), "directory"]) !== undefined;
  const written = (named?.config ?? {}) as ExporterSettings;
  const queued = [...config.exporters.values()].filter((exporter) => hasQueue(exporter, written));
  if (queued.length > 0 && !isWritten && directory === undefined) return { problems: [noDirectory(queued)] };
  const spec = named ?? unnamed(factory);
  const own = isWritten || directory === undefined ? {} : { directory };
  const off = queued.length > 0 || named !== undefined ? {} : { sending_queue: { enabled: false } };
  const settings = named === undefined ? factory.schema.parse({ ...off, ...own }) : { ...written, ...own };
  const extensions = new Map<string, Reliability>([[spec.id, { ...spec, config: settings }]]);
  for (const [id, extension] of config.extensions) if (id !== spec.id) extensions.set(id, extension);
  return { config: { ...config, extensions } };
}

function hasQueue({ settings, factory }: ExporterSpec, defaults: ExporterSettings): boolean {
  const ofType = exporterSettingsSchema.parse(factory.defaults ?? {});
  return completeSettings(settings, defaults, ofType).sending_queue.enabled;
}

function unnamed(factory: ExtensionFactory): Reliability {
  return { id: TYPE, path: `extensions.${TYPE}`, factory, config: {}, placeOf: () => undefined };
}

function noDirectory(queued: readonly ExporterSpec[]): Problem {
  const names = queued.map(({ id }) => id).join(", ");
  return {
    severity: "error",
    code: "no_queue_directory",
    place: queued[0]!.placeOf([]),
    path: "extensions.reliability.directory",
    message: `nobody says where the queue of ${names} is to be kept; ${WHAT_TO_DO}`,
  };
}
