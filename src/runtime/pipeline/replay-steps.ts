import type { ProcessorContext, ReplayStep } from "../contract/component.js";
import type { GraphPlan, PlannedPipeline } from "../contract/plan.js";
import type { Batch } from "../telemetry/batch.js";

/**
 * What is done to dead letters before they are sent again: the replay steps of the pipeline they came from, and before
 * them those of the pipelines that feed it. A batch that came another way passes steps it has not met; such a step
 * leaves alone what is up to date.
 */
export class ReplaySteps {
  private readonly byPipeline = new Map<string, readonly ReplayStep[]>();

  constructor(plan: GraphPlan, contextOf: (processor: string, pipeline: PlannedPipeline) => ProcessorContext) {
    for (const pipeline of plan.pipelines) {
      const feeding = plan.pipelines.filter((other) => feeds(plan, other, pipeline));
      const inheritedSteps = feeding.flatMap((other) => this.byPipeline.get(other.id) ?? []);
      const ownSteps = pipeline.processors.flatMap((id) => {
        const { factory, config } = plan.processors.get(id)!;
        return factory.replay?.(config, contextOf(id, pipeline)) ?? [];
      });
      this.byPipeline.set(pipeline.id, [...new Set([...inheritedSteps, ...ownSteps])]);
    }
  }

  prepare(batch: Batch, pipeline: string): Batch {
    const steps = this.byPipeline.get(pipeline) ?? [];
    return steps.reduce((prepared, step) => step(prepared), batch);
  }
}

/** Pipelines come after those that feed them. */
function feeds(plan: GraphPlan, from: PlannedPipeline, to: PlannedPipeline): boolean {
  const isConnected = from.exporters.some((id) => plan.connectors.has(id) && to.receivers.includes(id));
  return isConnected && from.signal === to.signal && from.id !== to.id;
}
