import type { Batching } from "../contract/outlet.js";
import type { GraphPlan, PlannedPipeline } from "../contract/plan.js";

/**
 * What each of these pipelines wants merged when it is sent: by its own processor, the last one if there are several, or by
 * those of the pipelines that feed it through connectors.
 */
export function batchingByPipeline(plan: GraphPlan, pipelines: readonly PlannedPipeline[]): Map<string, Batching> {
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
