import type { GraphPlan, PlannedPipeline } from "#contract";

/** Whether a processor of the pipeline says that it holds deliveries: then its clients would wait without a journal. */
export function holdsDeliveries(plan: GraphPlan, pipeline: PlannedPipeline): boolean {
  return firstHolding(plan, pipeline) >= 0;
}

/**
 * The number of processors before the journal: all up to the first that holds deliveries, so that personal data is treated
 * before it is on disk, and clients are still told what these processors refuse. Where nothing is held, those that treat
 * personal data.
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
