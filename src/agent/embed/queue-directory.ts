import type { ComponentSpec, ExporterSpec, PipelineSpec, ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import type { BuiltInExtensionFactory } from "#contract/built-in";
import { completeSettings, type ExporterSettings, uncheckedExporterSettingsSchema } from "#contract/schema";

/** Type of the extension that wraps exporters. */
export const RELIABILITY = "reliability";

const DIRECTORY_HINT =
  "pass queueDirectory to createSluice, set extensions.reliability.directory, or turn the queue off with sending_queue: {enabled: false}";

type ReliabilitySettings = ExporterSettings & { readonly directory?: string };

/**
 * Adds the directory of the queues to a config. Nothing is written to a program's folder unasked: if an exporter has a
 * queue, the directory must have been named. If none has, a named directory is used for refused data.
 */
export function withQueueDirectory(
  config: ResolvedConfig,
  directory: string | undefined,
):
  | { readonly config: ResolvedConfig; readonly warnings?: readonly Problem[] }
  | { readonly problems: readonly Problem[] } {
  const spec = [...config.extensions.values()].find(({ factory }) => factory.type === RELIABILITY);
  if (spec === undefined) return { config };
  const written = spec.config as ReliabilitySettings;
  const queued = [...config.exporters.values()].filter((exporter) => hasQueue(exporter, written));
  const isWritten = config.placeOf([...spec.path.split("."), "directory"]) !== undefined;
  const hasDirectory = isWritten || directory !== undefined;
  const isNeeded = queued.length > 0 || config.pipelines.some((pipeline) => hasJournal(config, pipeline, hasDirectory));
  if (!isNeeded && !hasDirectory) {
    const warnings = config.pipelines
      .filter((pipeline) => hasJournal(config, pipeline, true))
      .map(clientsWaitWarning(config));
    return { config: withSettings(config, spec, withoutQueue(written)), warnings };
  }
  if (isWritten) return { config };
  if (directory === undefined) return { problems: [noDirectory(config, queued)] };
  return { config: withSettings(config, spec, { ...written, directory }) };
}

/** With `durable_intake: auto`, a pipeline gets a journal only if a directory was named. */
function hasJournal(config: ResolvedConfig, pipeline: PipelineSpec, hasDirectory: boolean): boolean {
  const { durableIntake = "auto", processors } = pipeline;
  if (durableIntake !== "auto") return durableIntake === "on";
  return hasDirectory && processors.some((id) => config.processors.get(id)?.factory.maxHeldBytes !== undefined);
}

function withSettings(
  config: ResolvedConfig,
  spec: ComponentSpec<BuiltInExtensionFactory>,
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

function noDirectory(config: ResolvedConfig, queued: readonly ExporterSpec[]): Problem {
  const names = queued.map(({ id }) => id).join(", ");
  const what = queued.length === 0 ? "the journal of a durable intake" : `the queue of ${names}`;
  return {
    severity: "error",
    code: "no_queue_directory",
    place: queued[0]?.placeOf([]) ?? config.placeOf(["service", "pipelines"]),
    path: "extensions.reliability.directory",
    message: `no directory is set for ${what}; ${DIRECTORY_HINT}`,
  };
}

/** A warning for a pipeline that would have a journal if a directory had been named. */
function clientsWaitWarning(config: ResolvedConfig) {
  return ({ id }: PipelineSpec): Problem => ({
    severity: "warning",
    code: "clients_wait",
    place: config.placeOf(["service", "pipelines", id]),
    path: `service.pipelines.${id}`,
    message: `senders of pipeline "${id}" wait for as long as its processors hold the data, and an SDK may time out`,
    suggestion: "pass queueDirectory to createSluice: the data is then stored on disk and acknowledged at once",
  });
}
