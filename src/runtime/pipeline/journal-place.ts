import type { GraphPlan, PlannedPipeline } from "#contract";

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
