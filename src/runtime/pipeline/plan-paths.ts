import type { GraphPlan, PlannedPipeline } from "#contract";
import type { Signal } from "#otlp/signals";

/** The pipelines of a signal that a receiver or connector feeds. */
export function pipelinesFedBy(plan: GraphPlan, id: string, signal: Signal): PlannedPipeline[] {
  return plan.pipelines.filter((pipeline) => pipeline.receivers.includes(id) && pipeline.signal === signal);
}

/** The name by which a connector chooses this pipeline. */
export function chosenName({ id, chosenAs = id }: PlannedPipeline): string {
  return chosenAs;
}

/** Whether data of a pipeline reaches an exporter without changing its signal. */
export function reachesExporter(plan: GraphPlan, { exporters, signal }: PlannedPipeline): boolean {
  const leadsToExporter = (id: string) => pipelinesFedBy(plan, id, signal).some((next) => reachesExporter(plan, next));
  return exporters.some((id) => plan.exporters.has(id) || leadsToExporter(id));
}

/** Says what components behind a receiver or connector must get in one piece. */
export interface Wholeness {
  readonly batches: boolean;
  /** All points of a metric. */
  readonly metrics: boolean;
}

/** A connector may do anything with a metric, such as counting it, so metrics stay whole in front of one. */
export function wholenessBehind(plan: GraphPlan, id: string, signal: Signal): Wholeness {
  const pipelines = pipelinesFedBy(plan, id, signal);
  const processors = pipelines.flatMap((pipeline) => pipeline.processors.map((each) => plan.processors.get(each)!));
  const connectors = pipelines.flatMap(({ exporters }) => exporters.filter((each) => plan.connectors.has(each)));
  return {
    batches:
      processors.some(({ factory, config }) => factory.needsWholeBatches?.(config) === true) ||
      connectors.some((each) => wholenessBehind(plan, each, signal).batches),
    metrics: connectors.length > 0 || processors.some(({ factory }) => factory.takesSinglePoints !== true),
  };
}

/** Whether a processor of the pipeline declares that it holds deliveries: without a journal its clients would wait. */
export function holdsDeliveries(plan: GraphPlan, pipeline: PlannedPipeline): boolean {
  return firstHolding(plan, pipeline) >= 0;
}

/**
 * The number of processors before the journal: all up to the first that holds deliveries. Personal data is thus treated
 * before it reaches the disk, and clients still see refusals of these processors. If none holds deliveries: those that
 * treat personal data.
 */
export function journalPlace(plan: GraphPlan, pipeline: PlannedPipeline): number {
  const place = firstHolding(plan, pipeline);
  return place >= 0 ? place : factoriesOf(plan, pipeline).findLastIndex(({ zone }) => zone === "pii") + 1;
}

function firstHolding(plan: GraphPlan, pipeline: PlannedPipeline): number {
  return factoriesOf(plan, pipeline).findIndex(({ maxHeldBytes }) => maxHeldBytes !== undefined);
}

function factoriesOf(plan: GraphPlan, { processors }: PlannedPipeline) {
  return processors.map((id) => plan.processors.get(id)!.factory);
}
