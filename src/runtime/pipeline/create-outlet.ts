import { isDeepStrictEqual } from "node:util";
import type { ComponentContext, Exporter, GraphPlan, PlannedExporter, PlannedPipeline } from "#contract";
import {
  type Batching,
  type EndingPipeline,
  type Outlet,
  type OutletFactory,
  type OutletSettings,
  workerMode,
} from "#contract/operators";
import { uncheckedExporterSettingsSchema } from "#contract/schema";
import type { Signal } from "#otlp/signals";

interface OutletServices extends Required<Pick<OutletSettings, "prepareReplay" | "hasPipeline">> {
  readonly plan: GraphPlan;
  readonly outletFactory: OutletFactory;
}

/**
 * The pipelines that end in an exporter. Its outlet reads them while it runs, so they are changed in place when the
 * graph changes.
 */
export class OutletRoutes {
  readonly signals: Signal[] = [];
  readonly pipelines: EndingPipeline[] = [];
  readonly batching = new Map<string, Batching>();

  constructor(plan: GraphPlan, exporter: string) {
    this.follow(plan, exporter);
  }

  /** A batching that stays the same stays the same object, because deliveries may wait in it. */
  follow(plan: GraphPlan, exporter: string): void {
    const ending = plan.pipelines.filter(({ exporters }) => exporters.includes(exporter));
    this.signals.splice(0, Number.POSITIVE_INFINITY, ...new Set(ending.map(({ signal }) => signal)));
    this.pipelines.splice(0, Number.POSITIVE_INFINITY, ...ending.map(({ id, signal }) => ({ id, signal })));
    const before = new Map(this.batching);
    this.batching.clear();
    for (const { id, batching } of ending.map((each) => ({ id: each.id, batching: batchingOf(plan, each) }))) {
      if (batching === undefined) continue;
      const known = before.get(id);
      this.batching.set(id, known !== undefined && isDeepStrictEqual(known, batching) ? known : batching);
    }
  }
}

/** Creates the outlet of an exporter: with its queue and everything around it, or a direct path without a queue. */
export function createOutlet(
  spec: PlannedExporter,
  exporter: Exporter,
  context: ComponentContext,
  { signals, pipelines, batching }: OutletRoutes,
  { plan, outletFactory, prepareReplay, hasPipeline }: OutletServices,
): Outlet {
  const { id, settings } = spec;
  const { clock, random, logger, metrics } = context;
  return outletFactory({
    id,
    otherIds: otherSpellings(spec).filter((other) => !plan.exporters.has(other)),
    exporter,
    settings,
    isInOneWorker: workerMode(spec.factory, spec.config) === "one",
    typeDefaults: uncheckedExporterSettingsSchema.parse(spec.factory.defaults ?? {}),
    signals,
    pipelines,
    batching,
    prepareReplay,
    hasPipeline,
    clock,
    random,
    logger,
    metrics,
  });
}

/** The exporter's id under the other names of its type. */
function otherSpellings({ id, factory }: PlannedExporter): string[] {
  const [written = ""] = id.split("/", 1);
  const names = [factory.type, ...(factory.aliases ?? [])].filter((name) => name !== written);
  return names.map((name) => `${name}${id.slice(written.length)}`);
}

/**
 * How the records of a pipeline are merged when they are sent: by its own batching processor (the last one if there are
 * several), or by those of the pipelines that feed it through connectors.
 */
function batchingOf(plan: GraphPlan, pipeline: PlannedPipeline): Batching | undefined {
  const own = pipeline.processors.map((id) => ownBatching(plan, id)).findLast((batching) => batching !== undefined);
  if (own !== undefined) return own;
  const connectors = pipeline.receivers.filter((id) => plan.connectors.has(id));
  const feeding = plan.pipelines.filter(
    ({ signal, exporters }) => signal === pipeline.signal && exporters.some((id) => connectors.includes(id)),
  );
  return feeding.map((from) => batchingOf(plan, from)).find((batching) => batching !== undefined);
}

function ownBatching(plan: GraphPlan, processor: string): Batching | undefined {
  const { factory, config } = plan.processors.get(processor)!;
  const settings = factory.batching?.(config);
  if (settings === undefined) return undefined;
  return { ...settings, metadataKeys: (settings.metadataKeys ?? []).map((key) => key.toLowerCase()) };
}
