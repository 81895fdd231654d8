import type { GraphPlan, PlannedPipeline } from "#contract";
import type { Signal } from "#otlp/signals";

/** The pipelines of a signal that a receiver or connector feeds. */
export function pipelinesFedBy(plan: GraphPlan, id: string, signal: Signal): PlannedPipeline[] {
  return plan.pipelines.filter((pipeline) => pipeline.receivers.includes(id) && pipeline.signal === signal);
}

/** Whether data of a pipeline reaches an exporter without changing its signal. */
export function reachesExporter(plan: GraphPlan, { exporters, signal }: PlannedPipeline): boolean {
  const leadsToExporter = (id: string) => pipelinesFedBy(plan, id, signal).some((next) => reachesExporter(plan, next));
  return exporters.some((id) => plan.exporters.has(id) || leadsToExporter(id));
}

/** Whether a processor behind this receiver or connector must see its batches whole. */
export function needsWholeBatches(plan: GraphPlan, id: string, signal: Signal): boolean {
  return pipelinesFedBy(plan, id, signal).some(
    ({ processors, exporters }) =>
      processors.some((each) => {
        const { factory, config } = plan.processors.get(each)!;
        return factory.needsWholeBatches?.(config) === true;
      }) || exporters.some((each) => plan.connectors.has(each) && needsWholeBatches(plan, each, signal)),
  );
}
