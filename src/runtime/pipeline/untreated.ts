import type { GraphPlan, PlannedPipeline } from "../contract/plan.js";

/** The processor that treats personal data behind this place of a pipeline, in it or in those that connectors lead to. */
export function treatmentBehind(plan: GraphPlan, pipeline: PlannedPipeline, place: number): string | undefined {
  const own = pipeline.processors.slice(place + 1).find((id) => plan.processors.get(id)?.factory.zone === "pii");
  if (own !== undefined) return own;
  const ways = pipeline.exporters.filter((id) => plan.connectors.has(id));
  const next = plan.pipelines.filter(
    ({ signal, receivers }) => signal === pipeline.signal && receivers.some((id) => ways.includes(id)),
  );
  return next.map((one) => treatmentBehind(plan, one, -1)).find((id) => id !== undefined);
}
