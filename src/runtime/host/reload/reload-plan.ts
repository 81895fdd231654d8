import { isDeepStrictEqual } from "node:util";
import type { ComponentSpec, ExporterSpec, ExtensionSpec, ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import type { ComponentKind, PlannedPipeline } from "#contract";
import type { BuiltInProcessorFactory } from "#contract/built-in";
import {
  completeSettings,
  type ExporterSettings,
  PARSED_ONCE,
  uncheckedExporterSettingsSchema,
} from "#contract/schema";
import { connectorJournalName, journalPlace, journalUnit, nodeId, processorNodeId } from "#pipeline";
import { workerCount } from "#system";
import { changedKeys, listOfKeys } from "./changed-keys.js";
import { filesReadOnce } from "./named-files.js";

/** The change that a reload makes to a component. */
type ReloadAction = "keep" | "replace" | "add" | "remove";

/** One step of a reload. */
export interface ReloadStep {
  readonly kind: ComponentKind;
  readonly id: string;
  /** The pipeline of a processor. Each pipeline has its own instance of a processor. */
  readonly pipeline?: string;
  readonly action: ReloadAction;
  /** Why the component is replaced. */
  readonly reasons: readonly string[];
  /**
   * For a replaced exporter: whether its queue is also opened anew, because the settings of the queue have changed.
   * Otherwise the queue runs on, and only the sender behind it is replaced.
   */
  readonly reopensQueue?: boolean;
}

/** The changes when one config replaces another in a running agent. */
export interface ReloadPlan {
  /** Extensions, receivers, processors, connectors and exporters, in this order. */
  readonly steps: readonly ReloadStep[];
  /** Keys outside of components, or of extensions that stay, whose new values take effect at once. */
  readonly settings: readonly string[];
  /** Keys whose new values take effect when the agent is started again. */
  readonly afterRestart: readonly string[];
  /** Keys that cannot change while the agent runs: the reload is refused. */
  readonly refused: readonly string[];
  /** Whether the pipelines are connected in another way, with the same components. */
  readonly isRewired: boolean;
  /**
   * The parts of the graph that stay, told by the ids of their nodes, or `journal:NAME`. Exporters whose queue stays
   * are among them.
   */
  readonly kept: ReadonlySet<string>;
}

/** Compares two valid configs. This is a pure function: it starts and stops nothing. */
export function reloadPlan(before: ResolvedConfig, after: ResolvedConfig): ReloadPlan {
  return new Planner(before, after).plan();
}

/** Whether the reload would change nothing. */
export function isEmptyPlan({ steps, settings, afterRestart, refused, isRewired }: ReloadPlan): boolean {
  const keys = settings.length + afterRestart.length + refused.length;
  return !isRewired && keys === 0 && steps.every(({ action }) => action === "keep");
}

/** The keys that make a reload impossible. */
export function restartProblems({ refused }: ReloadPlan, config: ResolvedConfig): Problem[] {
  const message = "this key cannot change while the agent runs: restart the agent, or change it back";
  return refused.map((path) => {
    const place = config.placeOf(path.split("."));
    return { severity: "error", code: "restart_needed", place, path, message };
  });
}

/** The keys that every exporter has; their values are the settings of its queue. */
const COMMON_KEYS: ReadonlySet<string> = new Set(Object.keys(uncheckedExporterSettingsSchema.shape));

type AnySpec = ComponentSpec<unknown>;

class Planner {
  private readonly before: ResolvedConfig;
  private readonly after: ResolvedConfig;
  private readonly kept = new Set<string>();
  private readonly refused: string[] = [];
  private readonly settings: string[] = [];
  private readonly areDefaultsChanged: boolean;
  /** Extensions that are replaced. Components that name them are replaced too. */
  private readonly replacedExtensions = new Set<string>();

  constructor(before: ResolvedConfig, after: ResolvedConfig) {
    this.before = before;
    this.after = after;
    this.areDefaultsChanged = !isDeepStrictEqual(exporterDefaults(before), exporterDefaults(after));
  }

  plan(): ReloadPlan {
    const { before, after, refused, settings, kept } = this;
    const extensions = this.compareAll("extension", before.extensions, after.extensions, (old, spec) =>
      this.extensionReasons(old, spec),
    );
    const receivers = this.compareAll("receiver", before.receivers, after.receivers, (old, spec) => [
      ...this.reasons(old, spec),
      ...this.unlessSame((of) => reading(of, spec.id).map(({ signal }) => signal), "other signals are read from it"),
    ]);
    const connectors = this.compareAll("connector", before.connectors, after.connectors, (old, spec) => [
      ...this.ownReasons(old, spec),
      ...this.unlessSame((of) => reading(of, spec.id).map(({ id }) => id), "it feeds other pipelines"),
      ...this.unlessSame((of) => feeding(of, spec.id).map(({ signal }) => signal), "other signals come to it"),
    ]);
    const processors = this.processors();
    const exporters = this.exporters();
    this.keepJournalsOfConnectors(connectors);
    for (const { kind, id, action } of [...receivers, ...connectors])
      if (action === "keep") kept.add(nodeId(kind as "receiver" | "connector", id));
    const steps = [...extensions, ...receivers, ...processors, ...connectors, ...exporters];
    const isRewired = !isDeepStrictEqual(before.pipelines, after.pipelines);
    const workers = (of: ResolvedConfig) => ({ workers: workerCount(of.service.workers) });
    // An agent that is one process stays one until it is started again.
    const [now, later] = workers(before).workers === 1 ? [() => ({}), workers] : [workers, () => ({})];
    settings.push(...changedServiceKeys(before, after, (of) => ({ ...atOnce(of), ...now(of) })));
    const afterRestart = changedServiceKeys(before, after, (of) => ({ ...afterStart(of), ...later(of) }));
    return { steps, settings, afterRestart, refused, isRewired, kept };
  }

  private compareAll<S extends AnySpec>(
    kind: ComponentKind,
    before: ReadonlyMap<string, S>,
    after: ReadonlyMap<string, S>,
    reasonsOf: (old: S, spec: S) => readonly string[],
  ): ReloadStep[] {
    const steps = [...after].map(([id, spec]): ReloadStep => {
      const old = before.get(id);
      if (old === undefined) return { kind, id, action: "add", reasons: [] };
      const reasons = reasonsOf(old, spec);
      return { kind, id, action: reasons.length === 0 ? "keep" : "replace", reasons };
    });
    const removed = [...before.keys()].filter((id) => !after.has(id));
    return [...steps, ...removed.map((id): ReloadStep => ({ kind, id, action: "remove", reasons: [] }))];
  }

  /** The reason, unless both configs have the same items. */
  private unlessSame(itemsOf: (config: ResolvedConfig) => readonly string[], reason: string): string[] {
    const [before, after] = [this.before, this.after].map((config) => [...new Set(itemsOf(config))].sort());
    return isDeepStrictEqual(before, after) ? [] : [reason];
  }

  /** An extension that wraps exporters is never replaced. It gets its new defaults instead. */
  private extensionReasons(old: ExtensionSpec, spec: ExtensionSpec): string[] {
    const { restartKeys } = spec.factory;
    if (restartKeys === undefined) {
      const reasons = this.reasons(old, spec);
      if (reasons.length > 0) this.replacedExtensions.add(spec.id); // those that ask it come later
      return reasons;
    }
    const changed = changedKeys(old.written, spec.written).map((key) => key.split(".", 1)[0]!);
    for (const key of new Set(changed))
      (restartKeys.includes(key) ? this.refused : this.settings).push(`${spec.path}.${key}`);
    return [];
  }

  private reasons(old: AnySpec, spec: AnySpec, isOwn?: (key: string) => boolean): string[] {
    const asked = [...extensionsIn(spec.written)].filter((id) => this.replacedExtensions.has(id));
    return [...this.ownReasons(old, spec, isOwn), ...asked.map((id) => `extension ${id}, which it asks, changed`)];
  }

  private ownReasons(old: AnySpec, spec: AnySpec, isOwn?: (key: string) => boolean): string[] {
    const [before, after] = [this.before.fileVersions, this.after.fileVersions];
    const isChanged = (file: string) => before?.get(file) !== after?.get(file) && before?.has(file) === true;
    const files = filesReadOnce(spec.written).filter(({ file }) => isChanged(file));
    return [...ownReasons(old, spec, isOwn), ...files.map(({ key }) => `the file of ${key} changed`)];
  }

  private processors(): ReloadStep[] {
    const { before, after } = this;
    const old = new Map(before.pipelines.map((pipeline) => [pipeline.id, pipeline]));
    const steps: ReloadStep[] = [];
    for (const pipeline of after.pipelines) {
      const running = old.get(pipeline.id);
      const compared = pipeline.processors.map((id) => this.compareProcessor(id, pipeline, running));
      steps.push(...this.withJournal(compared, pipeline, running));
    }
    const remaining = new Map(after.pipelines.map(({ id, processors }) => [id, processors]));
    for (const { id: pipeline, processors } of before.pipelines)
      for (const id of processors.filter((each) => remaining.get(pipeline)?.includes(each) !== true))
        steps.push({ kind: "processor", id, pipeline, action: "remove", reasons: [] });
    for (const { id, pipeline, action } of steps) if (action === "keep") this.kept.add(processorNodeId(pipeline!, id));
    return steps;
  }

  private compareProcessor(id: string, pipeline: PlannedPipeline, running: PlannedPipeline | undefined): ReloadStep {
    const step = { kind: "processor" as const, id, pipeline: pipeline.id };
    const old = this.before.processors.get(id);
    const spec = this.after.processors.get(id)!;
    if (old === undefined || !running?.processors.includes(id)) return { ...step, action: "add", reasons: [] };
    const reasons = this.ownReasons(old, spec);
    if ((running.errorMode ?? "propagate") !== (pipeline.errorMode ?? "propagate")) reasons.push("error_mode changed");
    return { ...step, action: reasons.length === 0 ? "keep" : "replace", reasons };
  }

  /**
   * A journal and the processors behind it that hold deliveries belong together: what they hold is noted in the
   * journal. If one of them changes, the journal is opened anew with all of them.
   */
  private withJournal(
    steps: readonly ReloadStep[],
    pipeline: PlannedPipeline,
    running: PlannedPipeline | undefined,
  ): readonly ReloadStep[] {
    const isHolding = ({ id }: ReloadStep) => holds(this.after.processors.get(id)!.factory);
    const why = running && this.journalReason(steps.filter(isHolding), pipeline, running);
    if (running !== undefined && why === undefined) this.kept.add(journalUnit(pipeline.id));
    if (why === undefined) return steps;
    return steps.map((step) =>
      isHolding(step) && step.action === "keep" ? { ...step, action: "replace", reasons: [why] } : step,
    );
  }

  private journalReason(
    holding: readonly ReloadStep[],
    pipeline: PlannedPipeline,
    running: PlannedPipeline,
  ): string | undefined {
    if (this.areDefaultsChanged) return "the settings of its journal changed";
    if ((running.durableIntake ?? "auto") !== (pipeline.durableIntake ?? "auto")) return "intake.durable changed";
    const held = running.processors.filter((id) => holds(this.before.processors.get(id)!.factory));
    const ids = holding.map(({ id }) => id);
    const isSame = isDeepStrictEqual(held, ids) && holding.every(({ action }) => action === "keep");
    if (!isSame) return "another processor of its pipeline that holds data changed";
    const isFirst = (config: ResolvedConfig, each: PlannedPipeline) => journalPlace(config, each) === 0;
    const hasNone = held.length === 0 && isFirst(this.before, running) !== isFirst(this.after, pipeline);
    return hasNone ? "its journal is at another place" : undefined;
  }

  private keepJournalsOfConnectors(steps: ReloadStep[]): void {
    for (const [i, step] of steps.entries()) {
      const spec = this.after.connectors.get(step.id);
      if (step.action !== "keep" || spec?.factory.wantsJournal === undefined) continue;
      if (this.areDefaultsChanged)
        steps[i] = { ...step, action: "replace", reasons: ["the settings of its journal changed"] };
      else this.kept.add(journalUnit(connectorJournalName(step.id)));
    }
  }

  private exporters(): ReloadStep[] {
    const steps = this.compareAll("exporter", this.before.exporters, this.after.exporters, (old, spec) =>
      this.reasons(old, spec, (key) => !COMMON_KEYS.has(key)),
    );
    return steps.map((step) => {
      const old = this.before.exporters.get(step.id);
      const spec = this.after.exporters.get(step.id);
      if (old === undefined || spec === undefined) return step;
      const changed = changedSettings(settingsOf(this.before, old), settingsOf(this.after, spec));
      if (changed.length === 0) {
        this.kept.add(nodeId("exporter", step.id));
        return step.action === "keep" ? step : { ...step, reopensQueue: false };
      }
      const reasons = [...step.reasons, `${listOfKeys(changed)} changed`];
      return { ...step, action: "replace", reasons, reopensQueue: true };
    });
  }
}

function afterStart({ service: { telemetry, intake, max_record_size } }: ResolvedConfig): object {
  return { telemetry, intake: { max_record_values: intake.max_record_values }, max_record_size };
}

function atOnce({ service: { shutdown_timeout, intake } }: ResolvedConfig): object {
  return { shutdown_timeout, intake: { max_bytes: intake.max_bytes } };
}

function changedServiceKeys(before: ResolvedConfig, after: ResolvedConfig, pick: (of: ResolvedConfig) => object) {
  const changed = changedKeys(pick(before), pick(after));
  return [...new Set(changed.map((key) => `service.${key.split(".").slice(0, 2).join(".")}`))];
}

/** Why a component is not the same any more; none if it is. `isOwn` selects keys by their first part. */
function ownReasons(old: AnySpec, spec: AnySpec, isOwn: (key: string) => boolean = () => true): string[] {
  const keys = changedKeys(old.written, spec.written).filter((key) => isOwn(key.split(".", 1)[0]!));
  const reasons = keys.length === 0 ? [] : [`${listOfKeys(keys)} changed`];
  if (old.factory !== spec.factory) reasons.push(spec.plugin === undefined ? "its type changed" : "its plugin changed");
  return reasons;
}

/** The ids under `auth: {authenticator: ID}`, anywhere in a config. */
export function authenticatorsIn(written: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof written !== "object" || written === null) return found;
  for (const [key, value] of Object.entries(written)) {
    if (key === "authenticator" && typeof value === "string") found.add(value);
    else authenticatorsIn(value, found);
  }
  return found;
}

/** The ids of extensions that a component's config names. */
function extensionsIn(written: unknown): ReadonlySet<string> {
  const found = new Set(authenticatorsIn(written));
  const { k8s_leader_elector: elector, watch_observers: observers } = (written ?? {}) as Record<string, unknown>;
  for (const id of [elector, ...(Array.isArray(observers) ? observers : [observers])])
    if (typeof id === "string") found.add(id);
  return found;
}

function exporterDefaults({ extensions }: ResolvedConfig): ExporterSettings {
  for (const { factory, config } of extensions.values()) {
    const defaults = factory.exporterDefaults?.(config);
    if (defaults !== undefined) return defaults;
  }
  return {};
}

function settingsOf(config: ResolvedConfig, { settings, factory }: ExporterSpec) {
  const typeDefaults = uncheckedExporterSettingsSchema.parse(factory.defaults ?? {}, PARSED_ONCE);
  const layers = [settings, exporterDefaults(config), typeDefaults];
  // Whether a batch is configured anywhere decides how entries are merged.
  const hasBatch = layers.some((layer) => layer.sending_queue?.batch !== undefined);
  return { ...completeSettings(...layers), hasBatch };
}

function changedSettings(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const changed = Object.keys(after).filter((key) => !isDeepStrictEqual(before[key], after[key]));
  return changed.map((key) => (key === "hasBatch" ? "sending_queue.batch" : key));
}

function holds({ maxHeldBytes }: BuiltInProcessorFactory): boolean {
  return maxHeldBytes !== undefined;
}

function reading({ pipelines }: ResolvedConfig, id: string): PlannedPipeline[] {
  return pipelines.filter(({ receivers }) => receivers.includes(id));
}

function feeding({ pipelines }: ResolvedConfig, connector: string): PlannedPipeline[] {
  return pipelines.filter(({ exporters }) => exporters.includes(connector));
}
