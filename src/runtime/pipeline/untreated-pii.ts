import type { GraphPlan, Logger, PlannedPipeline } from "#contract";

/**
 * Returns a function that warns once about dead letters with untreated personal data, because the `pii` processor comes
 * later; undefined if there is none. Processors with a zone were checked when the config was loaded. Whether other
 * processors take records out of the pipeline is unknown until they do.
 */
export function untreatedPiiWarning(
  plan: GraphPlan,
  pipeline: PlannedPipeline,
  id: string,
  logger: Logger,
): (() => void) | undefined {
  const hasZone = plan.processors.get(id)!.factory.zone !== undefined;
  const piiProcessor = hasZone ? undefined : piiProcessorAfter(plan, pipeline, pipeline.processors.indexOf(id));
  if (piiProcessor === undefined) return undefined;
  let hasWarned = false;
  return () => {
    if (hasWarned) return;
    hasWarned = true;
    const message = `"${id}" makes dead letters of records before "${piiProcessor}" has treated them: they are stored untreated`;
    logger.warn({ pipeline: pipeline.id }, `${message}. Put it after "${piiProcessor}"`);
  };
}

/** The processor that treats personal data after this position, in the pipeline or in those behind its connectors. */
function piiProcessorAfter(plan: GraphPlan, pipeline: PlannedPipeline, index: number): string | undefined {
  const inPipeline = pipeline.processors.slice(index + 1).find((id) => plan.processors.get(id)?.factory.zone === "pii");
  if (inPipeline !== undefined) return inPipeline;
  const connectors = pipeline.exporters.filter((id) => plan.connectors.has(id));
  const next = plan.pipelines.filter(
    ({ signal, receivers }) => signal === pipeline.signal && receivers.some((id) => connectors.includes(id)),
  );
  return next.map((one) => piiProcessorAfter(plan, one, -1)).find((id) => id !== undefined);
}
