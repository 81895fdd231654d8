import { identity } from "rxjs";
import type {
  GraphPlan,
  Intake,
  Logger,
  PlannedComponent,
  PlannedExporter,
  PlannedPipeline,
  Processor,
  Receiver,
  ReceiverFactory,
} from "#contract";
import { checkComponent, RecordGrowth } from "#contract/border";
import type { BuiltInConnectorFactory, BuiltInProcessorContext, BuiltInProcessorFactory } from "#contract/built-in";
import { ReceiverHealth } from "#contract/operations";
import type { Journal, JournalFactory, OutletFactory, OutletSettings } from "#contract/operators";
import type { Signal } from "#otlp/signals";
import type { ComponentMaker, ComponentServices } from "./component-maker.js";
import { createOutlet, type OutletRoutes } from "./create-outlet.js";
import { nodeId, processorNodeId } from "./describe-graph.js";
import { createIntake, type Flows, type IntakeBudget, type IntakeState } from "./intake/intake.js";
import { SlicedIntake } from "./intake/sliced-intake.js";
import { chosenName, pipelinesFedBy } from "./plan-paths.js";
import { ReplaySteps } from "./replay-steps.js";
import { ReplaceableExporter, RunningExporter } from "./running-exporter.js";
import type { DeliverySource } from "./streams.js";
import {
  EXPORTER_ELSEWHERE,
  OUTLET_ELSEWHERE,
  RECEIVER_ELSEWHERE,
  runsHere,
  type WorkerExchange,
} from "./worker-exchange.js";

/** The parts of every graph are made with these, whatever its plan. */
export interface GraphServices extends ComponentServices {
  /** How many values a record may have on its way in. */
  readonly maxRecordValues: number;
  readonly outletFactory: OutletFactory;
  readonly journalFactory?: JournalFactory | undefined;
  /** True when some senders never see a refusal: their refused data is kept. */
  readonly keepsRefused?: boolean | undefined;
  readonly intakeState: IntakeState;
  /** Set in a worker of an agent that has several. */
  readonly exchange?: WorkerExchange | undefined;
}

export type PlannedConnector = PlannedComponent<BuiltInConnectorFactory>;

export interface PartSettings extends GraphServices {
  readonly plan: GraphPlan;
  readonly budget: IntakeBudget;
  readonly flows: Flows;
  readonly replay: Required<Pick<OutletSettings, "prepareReplay" | "hasPipeline">>;
  /** Whether this pipeline, one of the current plan, is available. */
  readonly isAvailable: (pipeline: string) => boolean;
  readonly components: ComponentMaker;
}

export interface RunningReceiver {
  readonly spec: PlannedComponent<unknown>;
  readonly receiver: Receiver;
  readonly health: ReceiverHealth;
  /** Where its batches are handed in. */
  readonly intakes: readonly SlicedIntake[];
  /** True if another worker runs it. */
  readonly isElsewhere?: boolean;
}

/** Makes the parts of a graph. None of them keeps the maker, which knows the plan. */
export class PartMaker {
  private readonly settings: PartSettings;

  constructor(settings: PartSettings) {
    this.settings = settings;
  }

  /** Makes a receiver with an intake for each signal that a pipeline reads. `sourceOf` tells where its batches go. */
  receiver(spec: PlannedComponent<ReceiverFactory>, sourceOf: (signal: Signal) => DeliverySource): RunningReceiver {
    const { components, clock, metrics, plan } = this.settings;
    const health = new ReceiverHealth(spec.id, clock, metrics);
    if (!runsHere(this.settings.exchange, "receiver", spec))
      return { spec, receiver: RECEIVER_ELSEWHERE, health, intakes: [], isElsewhere: true };
    const sliced: SlicedIntake[] = [];
    const receiver = components.create(spec, () => {
      const common = components.contextOf(spec.id, "receiver");
      const intakes = this.intakesOf(spec.id, health, sourceOf, sliced);
      const context = { ...common, intakes, health, receiverTypes: plan.receiverTypes };
      return checkComponent("receiver", spec.factory.create(spec.config, context));
    });
    return { spec, receiver, health, intakes: sliced };
  }

  processor(
    spec: PlannedComponent<BuiltInProcessorFactory>,
    pipeline: PlannedPipeline,
    journal: BuiltInProcessorContext["journal"],
  ): Processor {
    const { components, flows, plan } = this.settings;
    if (!runsHere(this.settings.exchange, "processor", spec)) return identity;
    const node = processorNodeId(pipeline.id, spec.id);
    const context = components.processorContextOf(spec.id, pipeline);
    const create = creatorOf(spec.factory, spec.config, journal === undefined ? context : { ...context, journal });
    return components.isolate(spec, "processor", pipeline.signal, create, {
      onSetback: untreatedPiiWarning(plan, pipeline, spec.id, context.logger),
      holds: spec.factory.maxHeldBytes !== undefined,
      keepsFailures: pipeline.errorMode === "dead_letter",
      flow: flows.from(node, pipeline.id),
      tally: flows.tally(node),
    });
  }

  connector(spec: PlannedConnector, from: Signal, to: Signal, journal: Journal["exchange"]): Processor {
    const { components, flows, isAvailable, plan } = this.settings;
    if (!runsHere(this.settings.exchange, "connector", spec)) return identity;
    const targets = pipelinesFedBy(plan, spec.id, to).map(chosenName);
    const context = { ...components.contextOf(spec.id, "connector"), from, to, targets, isAvailable, journal };
    const create = creatorOf(spec.factory, spec.config, context);
    const tally = flows.tally(nodeId("connector", spec.id));
    return components.isolate(spec, "connector", from, create, { to, targets, tally });
  }

  /** Makes an exporter and its outlet. */
  exporter(spec: PlannedExporter, routes: OutletRoutes): RunningExporter {
    const { components, replay } = this.settings;
    const context = components.contextOf(spec.id, "exporter");
    const isHere = runsHere(this.settings.exchange, "exporter", spec);
    const replaceable = new ReplaceableExporter(isHere ? components.createExporter(spec) : EXPORTER_ELSEWHERE);
    const settings = { ...this.settings, ...replay };
    const outlet = isHere ? createOutlet(spec, replaceable, context, routes, settings) : OUTLET_ELSEWHERE;
    return new RunningExporter(spec, replaceable, outlet, context.logger);
  }

  replaySteps(): ReplaySteps {
    const { components, maxRecordSize = Number.POSITIVE_INFINITY, plan } = this.settings;
    const contextOf = (id: string, pipeline: PlannedPipeline) => components.processorContextOf(id, pipeline);
    return new ReplaySteps(plan, contextOf, () => new RecordGrowth(maxRecordSize));
  }

  private intakesOf(
    receiver: string,
    health: ReceiverHealth,
    sourceOf: (signal: Signal) => DeliverySource,
    sliced: SlicedIntake[],
  ): Partial<Record<Signal, Intake>> {
    const { intakeState: state, maxRecordValues, budget, flows, clock, plan } = this.settings;
    const common = {
      receiver,
      tally: flows.tally(nodeId("receiver", receiver)),
      health,
      budget,
      maxRecordValues,
      state,
    };
    const readers = plan.pipelines.filter(({ receivers }) => receivers.includes(receiver));
    const intakes: Partial<Record<Signal, Intake>> = {};
    for (const signal of new Set(readers.map((pipeline) => pipeline.signal))) {
      const next = new SlicedIntake(sourceOf(signal), clock, signal);
      next.follow(plan, receiver);
      sliced.push(next);
      intakes[signal] = createIntake({ ...common, signal, next, clock });
    }
    return intakes;
  }
}

/** The result is kept for as long as the component runs. Made here, so that it keeps nothing else of the graph. */
function creatorOf<Config, Context, T>(
  factory: { create(config: Config, context: Context): T },
  config: Config,
  context: Context,
): () => T {
  return () => factory.create(config, context);
}

/**
 * Returns a function that warns once about dead letters with untreated personal data, because the `pii` processor comes
 * later; undefined if there is none. Processors with a zone were checked when the config was loaded. Whether other
 * processors take records out of the pipeline is unknown until they do.
 */
function untreatedPiiWarning(
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
