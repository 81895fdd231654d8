import type { ComponentContext, Exporter, GraphPlan, PlannedExporter, PlannedPipeline } from "#contract";
import type { Batching, Outlet, OutletFactory, OutletSettings } from "#contract/operators";
import { uncheckedExporterSettingsSchema } from "#contract/schema";

interface OutletServices extends Required<Pick<OutletSettings, "prepareReplay" | "hasPipeline">> {
  readonly plan: GraphPlan;
  readonly outletFactory: OutletFactory;
}

/** Creates the outlet of an exporter: with its queue and everything around it, or a direct path without a queue. */
export function createOutlet(
  spec: PlannedExporter,
  exporter: Exporter,
  context: ComponentContext,
  { plan, outletFactory, prepareReplay, hasPipeline }: OutletServices,
): Outlet {
  const { id, settings } = spec;
  const { clock, random, logger, metrics } = context;
  const pipelines = plan.pipelines.filter(({ exporters }) => exporters.includes(id));
  return outletFactory({
    id,
    otherIds: otherSpellings(spec).filter((other) => !plan.exporters.has(other)),
    exporter,
    settings,
    typeDefaults: uncheckedExporterSettingsSchema.parse(spec.factory.defaults ?? {}),
    signals: [...new Set(pipelines.map(({ signal }) => signal))],
    pipelines: pipelines.map(({ id: pipeline, signal }) => ({ id: pipeline, signal })),
    batching: batchingByPipeline(plan, pipelines),
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
 * How the records of each pipeline are merged when they are sent: by its own batching processor (the last one if there
 * are several), or by those of the pipelines that feed it through connectors.
 */
function batchingByPipeline(plan: GraphPlan, pipelines: readonly PlannedPipeline[]): Map<string, Batching> {
  const found = pipelines.map((pipeline) => [pipeline.id, batchingOf(plan, pipeline)] as const);
  return new Map(found.filter((pair): pair is readonly [string, Batching] => pair[1] !== undefined));
}

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
