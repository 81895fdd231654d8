import { context, createContextKey, ROOT_CONTEXT } from "@opentelemetry/api";
import type { ConfigSource } from "#config";
import { type ExporterSpec, Registry, RegistryError, type ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import type { ComponentFactory, Exporter } from "#contract";
import { exportedComponents, loadConfigWithPlugins } from "#host";
import { builtins } from "../builtins/builtins.js";
import { APP, type AppReceiver } from "./app-intake.js";
import { SluiceConfigError } from "./config-error.js";
import { RELIABILITY, withQueueDirectory } from "./queue-directory.js";

/** A config as an object, as YAML text, or the file that contains it. */
export type SluiceConfig = string | { readonly file: string } | Readonly<Record<string, unknown>>;

/** The source of an embedded config, and the settings that complete it. */
export interface EmbeddedLoadSettings {
  readonly config: SluiceConfig;
  /** Components in addition to the built-in ones and to the plugins that the config lists. */
  readonly components?: readonly ComponentFactory[] | undefined;
  /** Base of relative paths if the config is not a file; default: the working directory. */
  readonly baseDirectory?: string | undefined;
  /** Directory of the queues; required unless `extensions.reliability.directory` is set or no exporter has a queue. */
  readonly queueDirectory?: string | undefined;
  /** Values for `${env:NAME}`; default: none. The program's environment is not read. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** @internal A config that is ready to run, and its warnings. */
export interface EmbeddedConfig {
  readonly config: ResolvedConfig;
  readonly warnings: readonly Problem[];
  /** Prepares problems for display: those of a config object have no place in a text. */
  readonly forDisplay: (problems: readonly Problem[]) => readonly Problem[];
}

/** Part of every embedded config. Its name is never shown. */
const BASE_SOURCE = { text: `receivers: {${APP}: }`, name: "(embedded)" };

/** @internal Loads a config and its plugins for use in this process. Rejects with a `SluiceConfigError`. */
export async function loadEmbedded(settings: EmbeddedLoadSettings, receiver: AppReceiver): Promise<EmbeddedConfig> {
  const { source, isText } = sourceOf(settings);
  const forDisplay = (problems: readonly Problem[]) =>
    problems
      .filter(({ place }) => place?.file !== BASE_SOURCE.name)
      .map((problem) => problemForDisplay(problem, isText));
  const { registry, problems: componentProblems } = await createRegistry(settings.components ?? [], receiver);
  const env = settings.env ?? {};
  const loaded = await loadConfigWithPlugins({ sources: [BASE_SOURCE, source], registry, env, addDefaults: true });
  const problems = [...componentProblems, ...forDisplay(loaded.problems)];
  const hasErrors = problems.some(({ severity }) => severity === "error");
  if (loaded.config === undefined || hasErrors) throw new SluiceConfigError(problems);
  const complete = withQueueDirectory(loaded.config, settings.queueDirectory);
  if ("problems" in complete) throw new SluiceConfigError([...problems, ...forDisplay(complete.problems)]);
  const warnings = [...problems, ...forDisplay(complete.warnings ?? [])];
  return { config: withUntracedExporters(complete.config), warnings, forDisplay };
}

function sourceOf({ config, baseDirectory: folder }: EmbeddedLoadSettings): { source: ConfigSource; isText: boolean } {
  const place = folder === undefined ? {} : { folder };
  if (typeof config === "string") return { source: { text: config, name: "config.yaml", ...place }, isText: true };
  if (isFile(config)) return { source: { file: config.file }, isText: true };
  return { source: { text: textOf(config), name: "config", ...place }, isText: false };
}

function isFile(config: object): config is { readonly file: string } {
  const { file } = (config ?? {}) as { file?: unknown };
  return typeof file === "string" && Object.keys(config).length === 1;
}

/** Every JSON text is also YAML. */
function textOf(config: unknown): string {
  if (typeof config !== "object" || config === null) {
    throw new SluiceConfigError([problem("not_a_map", "", "config must be an object, YAML text or { file }")]);
  }
  try {
    return JSON.stringify(config, null, 2);
  } catch (error) {
    const message = `the config object cannot be written as YAML: ${(error as Error).message}`;
    throw new SluiceConfigError([problem("not_a_map", "", message)], { cause: error });
  }
}

async function createRegistry(components: readonly ComponentFactory[], receiver: AppReceiver) {
  const registry = new Registry((await builtins()).map((each) => asEmbedded(each, receiver)));
  const { factories, errors } = exportedComponents({ default: components });
  const problems = components.length === 0 ? [] : errors.map((words) => badComponent(`components ${words}`));
  for (const factory of factories) {
    try {
      registry.add(factory, `components: ${factory.type}`);
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      problems.push({ ...badComponent(`${factory.kind} "${factory.type}": ${error.message}`), suggestion: error.hint });
    }
  }
  return { registry, problems };
}

/**
 * Adapts a built-in type for embedding: `app` is bound to the receiver, and no extension except the queues runs by
 * default.
 */
function asEmbedded(factory: ComponentFactory, receiver: AppReceiver): ComponentFactory {
  if (factory.kind === "receiver" && factory.type === APP) return receiver.bindFactory(factory);
  if (factory.kind !== "extension" || factory.type === RELIABILITY) return factory;
  return { ...factory, onByDefault: false };
}

function badComponent(message: string): Problem {
  return problem("bad_component", "components", message);
}

function problem(code: Problem["code"], path: string, message: string): Problem {
  return { severity: "error", code, place: undefined, path, message };
}

/** Suggestions that differ for programs that embed Sluice, by problem code. */
const HINTS: Readonly<Record<string, string>> = {
  no_receivers: `write receivers: [${APP}] to send it the records that the program emits`,
  unset_variable: "variables come only from createSluice's option env",
};

function problemForDisplay(found: Problem, isText: boolean): Problem {
  const hint = HINTS[found.code];
  return {
    ...found,
    ...(isText ? {} : { place: undefined }),
    ...(hint === undefined ? {} : { suggestion: [found.suggestion, hint].filter(Boolean).join("; ") }),
  };
}

/** OpenTelemetry's instrumentations check this key to skip tracing a call. */
const UNTRACED = ROOT_CONTEXT.setValue(createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING"), true);

/**
 * Disables tracing for the calls of exporters: an instrumented http module would create a span for every export, and
 * exporting that span would create the next one.
 */
function withUntracedExporters(config: ResolvedConfig): ResolvedConfig {
  const exporters = new Map([...config.exporters].map(([id, spec]) => [id, untracedSpec(spec)]));
  return { ...config, exporters };
}

function untracedSpec(spec: ExporterSpec): ExporterSpec {
  const create = (...args: Parameters<typeof spec.factory.create>) => untracedExporter(spec.factory.create(...args));
  return { ...spec, factory: { ...spec.factory, create } };
}

/**
 * Wraps an exporter's calls in a context without tracing. An invalid exporter is returned unchanged, because the
 * runtime reports it.
 */
function untracedExporter(exporter: Exporter): Exporter {
  if (typeof exporter?.send !== "function") return exporter;
  const { start, check, stop } = exporter;
  return {
    ...(start && { start: () => withoutTracing(() => exporter.start!()) }),
    ...(check && { check: (abort: AbortSignal) => withoutTracing(() => exporter.check!(abort)) }),
    ...(stop && { stop: () => withoutTracing(() => exporter.stop!()) }),
    // The bound method itself, because an exporter sends for every request.
    send: (context.with<SendArguments, Exporter["send"]>).bind(context, UNTRACED, exporter.send, exporter),
  };
}

type SendArguments = Parameters<Exporter["send"]>;

function withoutTracing<T>(run: () => T): T {
  return context.with(UNTRACED, run);
}
