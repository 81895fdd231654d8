import { identity } from "rxjs";
import type {
  ComponentKind,
  GraphPlan,
  Intake,
  PlannedComponent,
  PlannedExporter,
  PlannedPipeline,
  Processor,
  Receiver,
  ReceiverFactory,
} from "#contract";
import { checkComponent } from "#contract/border";
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
import { ReplaceableExporter, RunningExporter } from "./running-exporter.js";
import type { DeliverySource } from "./streams.js";
import { untreatedPiiWarning } from "./untreated-pii.js";
import {
  EXPORTER_ELSEWHERE,
  OUTLET_ELSEWHERE,
  RECEIVER_ELSEWHERE,
  runsHere,
  type WorkerExchange,
  type WorkerSpec,
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
    if (!this.runsHere("receiver", spec))
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
    if (!this.runsHere("processor", spec)) return identity;
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
    if (!this.runsHere("connector", spec)) return identity;
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
    const isHere = this.runsHere("exporter", spec);
    const replaceable = new ReplaceableExporter(isHere ? components.createExporter(spec) : EXPORTER_ELSEWHERE);
    const settings = { ...this.settings, ...replay };
    const outlet = isHere ? createOutlet(spec, replaceable, context, routes, settings) : OUTLET_ELSEWHERE;
    return new RunningExporter({ spec, replaceable, outlet, logger: context.logger });
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

  private runsHere(kind: ComponentKind, spec: WorkerSpec): boolean {
    return runsHere(this.settings.exchange, kind, spec);
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
