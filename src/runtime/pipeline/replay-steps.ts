import { type GraphPlan, noMetrics, type PlannedPipeline, type ProcessorContext, type ReplayStep } from "#contract";
import type { RecordGrowth } from "#contract/border";
import { ERROR_CODES, Refusal } from "#contract/errors";
import type { Batch } from "#otlp";

/**
 * Prepares dead letters for replay: runs the replay steps of their pipeline, after those of the pipelines that feed it.
 * A batch that came another way may pass steps for the first time; a step leaves records alone that are up to date.
 * Dead letters of a pipeline that no longer exists are refused, because the steps they need, such as those of `pii`,
 * are unknown. So are those that a step makes larger than `service.max_record_size`.
 */
export class ReplaySteps {
  private readonly byPipeline: StepsByPipeline;
  /** The same steps with metrics that are not exported; created for the first check. */
  private readonly createUncounted: () => StepsByPipeline;
  private uncounted: StepsByPipeline | undefined;
  private readonly createGrowth: () => RecordGrowth;

  constructor(plan: GraphPlan, contextOf: ContextOf, createGrowth: () => RecordGrowth) {
    this.createGrowth = createGrowth;
    this.byPipeline = stepsByPipeline(plan, contextOf);
    this.createUncounted = () =>
      stepsByPipeline(plan, (id, pipeline) => ({ ...contextOf(id, pipeline), metrics: noMetrics }));
  }

  /** `onlyCheck` means that nothing is sent, so the steps must not change counters. */
  prepare(batch: Batch, pipeline: string, onlyCheck = false): Batch {
    if (onlyCheck) this.uncounted ??= this.createUncounted();
    const steps = (onlyCheck ? this.uncounted : this.byPipeline)?.get(pipeline);
    if (steps === undefined) throw noPipelineRefusal(pipeline);
    const growth = this.createGrowth();
    growth.noteInput(batch, true);
    const prepared = steps.reduce((current, step) => step(current), batch);
    const tooLarge = growth.check(prepared, "the replay steps of its pipeline");
    if (tooLarge !== undefined) throw tooLarge;
    return prepared;
  }

  hasPipeline(pipeline: string): boolean {
    return this.byPipeline.has(pipeline);
  }
}

function noPipelineRefusal(pipeline: string): Refusal {
  const code = ERROR_CODES.SLUICE_REPLAY_NO_PIPELINE;
  const message = `it came from pipeline ${JSON.stringify(pipeline)}, which is not in the config; nothing was sent`;
  return new Refusal("permanent", message, { code, category: "schema" });
}

type ContextOf = (processor: string, pipeline: PlannedPipeline) => ProcessorContext;
type StepsByPipeline = ReadonlyMap<string, readonly ReplayStep[]>;

function stepsByPipeline(plan: GraphPlan, contextOf: ContextOf): StepsByPipeline {
  const byPipeline = new Map<string, readonly ReplayStep[]>();
  for (const pipeline of plan.pipelines) {
    const feeding = plan.pipelines.filter((other) => feeds(plan, other, pipeline));
    const inheritedSteps = feeding.flatMap((other) => byPipeline.get(other.id) ?? []);
    const ownSteps = pipeline.processors.flatMap((id) => {
      const { factory, config } = plan.processors.get(id)!;
      return factory.replay?.(config, contextOf(id, pipeline)) ?? [];
    });
    byPipeline.set(pipeline.id, [...new Set([...inheritedSteps, ...ownSteps])]);
  }
  for (const [connector, { factory }] of plan.connectors) {
    if (factory.wantsJournal === undefined) continue;
    const feeding = plan.pipelines.filter(({ exporters }) => exporters.includes(connector));
    byPipeline.set(connectorJournalName(connector), [...new Set(feeding.flatMap(({ id }) => byPipeline.get(id)!))]);
  }
  return byPipeline;
}

/** The pipeline name in the journal of a connector. No pipeline has such a name, because theirs begin with a signal. */
export function connectorJournalName(id: string): string {
  return `connector/${id}`;
}

/** Pipelines come after those that feed them. */
function feeds(plan: GraphPlan, from: PlannedPipeline, to: PlannedPipeline): boolean {
  const isConnected = from.exporters.some((id) => plan.connectors.has(id) && to.receivers.includes(id));
  return isConnected && from.signal === to.signal && from.id !== to.id;
}
