import { filter, type MonoTypeOperatorFunction } from "rxjs";
import {
  type ComponentKind,
  type Delivery,
  type GraphPlan,
  type Intake,
  type PlannedComponent,
  type PlannedExporter,
  type PlannedPipeline,
  type Processor,
  type Receiver,
  type ReceiverFactory,
  refusalOfSetback,
} from "#contract";
import { checkComponent } from "#contract/border";
import type { BuiltInConnectorFactory, BuiltInProcessorContext } from "#contract/built-in";
import { ReceiverHealth } from "#contract/operations";
import {
  type JournalFactory,
  type OutletFactory,
  type OutletSettings,
  type WorkerMode,
  workerMode,
} from "#contract/operators";
import type { Signal } from "#otlp/signals";
import type { ComponentMaker, ComponentServices } from "./component-maker.js";
import { createOutlet, OutletRoutes } from "./create-outlet.js";
import { nodeId, processorNodeId } from "./describe-graph.js";
import { GraphJournals, type RunningJournal } from "./graph-journals.js";
import { countedBy, createIntake, type Flows, type IntakeBudget, type IntakeState } from "./intake/intake.js";
import { SlicedIntake } from "./intake/sliced-intake.js";
import { journalPlace } from "./journal-place.js";
import type { Choose } from "./junction.js";
import { pipelinesFedBy, reachesExporter } from "./plan-paths.js";
import { outgoing, ReplaceableExporter, RunningExporter } from "./running-exporter.js";
import type { GraphEntry } from "./streams.js";
import { untreatedPiiWarning } from "./untreated-pii.js";
import { Wiring } from "./wiring.js";
import {
  EXPORTER_ELSEWHERE,
  exchangeOperator,
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

export interface RunningReceiver {
  readonly spec: PlannedComponent<unknown>;
  readonly receiver: Receiver;
  readonly health: ReceiverHealth;
  /** Where its batches are handed in. */
  readonly intakes: readonly SlicedIntake[];
  /** True if another worker runs it. */
  readonly isElsewhere?: boolean;
}

/** All parts of a graph. A reload makes new parts from a new plan, and takes over the parts that stay. */
export interface GraphParts {
  readonly plan: GraphPlan;
  readonly wiring: Wiring;
  readonly receivers: ReadonlyMap<string, RunningReceiver>;
  readonly exporters: ReadonlyMap<string, RunningExporter>;
  readonly routes: ReadonlyMap<string, OutletRoutes>;
  /** In start order: each comes after those that it feeds. */
  readonly journals: readonly RunningJournal[];
}

/** Parts of the running graph, and which of them a new plan takes over. */
export interface TakenOver {
  readonly parts: GraphParts;
  /** Told by the id of a node, or `journal:NAME`. A part that does not run is made anew in any case. */
  readonly keeps: (unit: string) => boolean;
}

interface BuilderSettings extends GraphServices {
  readonly plan: GraphPlan;
  readonly budget: IntakeBudget;
  readonly flows: Flows;
  readonly replay: Required<Pick<OutletSettings, "prepareReplay" | "hasPipeline">>;
  /** Whether this pipeline, one of the current plan, is available. */
  readonly isAvailable: (pipeline: string) => boolean;
  readonly takenOver?: TakenOver | undefined;
  readonly components: ComponentMaker;
}

/** The unit that a journal is for the plan of a reload. */
export function journalUnit(name: string): string {
  return `journal:${name}`;
}

/**
 * Makes the parts of a graph from its plan:
 *
 *     receivers ---+                                       +---> exporters: an outlet, mostly with a queue
 *     (entries)    +--> pipeline: processors --> junction --+
 *     connectors --+                                       +---> connectors: a place, then a choice of pipelines
 *
 * Nothing that runs is changed before the wiring is used.
 *
 * No part may keep the builder, which knows all parts of its config and of the one before: they would stay in memory for
 * as long as one of them runs, and with a chain of reloads for ever.
 */
export class GraphBuilder {
  private readonly settings: BuilderSettings;
  private readonly plan: GraphPlan;
  private readonly components: ComponentMaker;
  private readonly journals: GraphJournals;
  private readonly wiring: Wiring;
  private readonly exporters = new Map<string, RunningExporter>();
  private readonly routes = new Map<string, OutletRoutes>();
  /** Places that end in a connector, by the connector's key, with what passes from there. */
  private readonly connectorFeeds = new Map<string, ConnectorFeed[]>();

  constructor(settings: BuilderSettings) {
    this.settings = settings;
    this.plan = settings.plan;
    this.components = settings.components;
    this.wiring = new Wiring({ ...settings, running: settings.takenOver?.parts.wiring });
    const kept = (name: string) =>
      this.keeps(journalUnit(name))
        ? settings.takenOver?.parts.journals.find((journal) => journal.name === name)
        : undefined;
    this.journals = new GraphJournals({ ...settings, intakeLimit: settings.budget.limit, kept });
  }

  build(): GraphParts {
    const { plan, wiring, exporters, routes } = this;
    for (const spec of plan.exporters.values()) this.addExporter(spec);
    for (const pipeline of plan.pipelines) this.addPipeline(pipeline);
    const receivers = new Map([...plan.receivers].map(([id, spec]) => [id, this.receiver(spec)]));
    wiring.begin();
    return { plan, wiring, receivers, exporters, routes, journals: this.journals.all.toReversed() };
  }

  /** Called in an order in which each pipeline comes after those that feed it. */
  private addPipeline(pipeline: PlannedPipeline): void {
    const feeds = pipeline.receivers.flatMap((id) => this.feedsFrom(id, pipeline));
    const steps = this.stepsOf(pipeline);
    for (const { from, node } of feeds) {
      const flow = this.settings.flows.from(node, pipeline.id);
      this.wiring.connect(from, pipelineKey(chosenName(pipeline)), steps[0]!, countedBy(flow));
    }
    for (const [i, step] of steps.slice(1).entries()) this.wiring.connect(steps[i]!, step, step);
    for (const id of pipeline.exporters) this.leadToEnd(steps.at(-1)!, id, pipeline);
  }

  /** The entries and connectors that feed a pipeline; a connector that reads several signals has several places. */
  private feedsFrom(id: string, pipeline: PlannedPipeline): { readonly from: string; readonly node: string }[] {
    const connector = this.plan.connectors.get(id);
    const feeding =
      connector === undefined ? [this.entryOf(id, pipeline.signal).key] : this.placesOf(connector, pipeline);
    const node = nodeId(connector === undefined ? "receiver" : "connector", id);
    return feeding.map((from) => ({ from, node }));
  }

  /** The entry of a receiver's batches. It stays when the receiver is replaced, because it holds nothing. */
  private entryOf(receiver: string, signal: Signal): GraphEntry {
    return this.wiring.entry(`${nodeId("receiver", receiver)} ${signal}`);
  }

  private placesOf(spec: PlannedComponent<BuiltInConnectorFactory>, { signal: to }: PlannedPipeline): string[] {
    const feeding = this.plan.pipelines.filter(({ exporters }) => exporters.includes(spec.id));
    const signals = [...new Set(feeding.map(({ signal }) => signal))];
    return signals.filter((from) => hasRoute(spec, from, to)).map((from) => this.connector(spec, from, to));
  }

  private connector(spec: PlannedComponent<BuiltInConnectorFactory>, from: Signal, to: Signal): string {
    const node = nodeId("connector", spec.id);
    const key = `${node} ${from}>${to}`;
    if (this.wiring.hasPlace(key)) return key;
    const wantsJournal = spec.factory.wantsJournal?.(spec.config);
    const running = this.journals.createOfConnector(spec.id, wantsJournal, from);
    const mode = workerMode(spec.factory, spec.config);
    const make = (): Processor => {
      if (!this.runsHere(mode, "connector", spec.id)) return passOn;
      const targets = pipelinesFedBy(this.plan, spec.id, to).map(chosenName);
      const { isAvailable } = this.settings;
      const journal = running?.journal.exchange;
      const context = { ...this.components.contextOf(spec.id, "connector"), from, to, targets, isAvailable, journal };
      const create = creatorOf(spec.factory, spec.config, context);
      const tally = this.settings.flows.tally(node);
      return this.components.isolate(spec, "connector", from, create, { to, targets, tally });
    };
    this.place(key, node, make, chosenPipelines);
    this.leadToConnector(key, mode, running);
    return key;
  }

  /** Leads what feeds a connector to it: through the exchange between workers, and through its journal. */
  private leadToConnector(key: string, mode: WorkerMode, journal: RunningJournal | undefined): void {
    const steps = [key];
    if (journal !== undefined) steps.unshift(this.journal(journal));
    const exchange = this.exchange(steps[0]!, mode);
    if (exchange !== undefined) steps.unshift(exchange);
    for (const [i, step] of steps.slice(1).entries()) this.wiring.connect(steps[i]!, step, step);
    for (const { from, passing } of this.connectorFeeds.get(key) ?? [])
      this.wiring.connect(from, key, steps[0]!, passing);
  }

  /** Leads a pipeline's last place to an exporter, or to a connector, once per output signal. */
  private leadToEnd(last: string, id: string, pipeline: PlannedPipeline): void {
    const end = this.exporters.get(id);
    if (end !== undefined) return this.leadToExporter(last, end, pipeline.id);
    const spec = this.plan.connectors.get(id)!;
    const fed = this.plan.pipelines.filter(({ receivers }) => receivers.includes(id));
    const signals = new Set(fed.map(({ signal }) => signal));
    for (const to of [...signals].filter((signal) => hasRoute(spec, pipeline.signal, signal))) {
      const passing = to === pipeline.signal ? undefined : withoutSetbacks(reachesExporter(this.plan, pipeline));
      const key = `${nodeId("connector", id)} ${pipeline.signal}>${to}`;
      listOf(this.connectorFeeds, key).push({ from: last, passing });
    }
  }

  private leadToExporter(from: string, { spec }: RunningExporter, pipeline: string): void {
    const end = nodeId("exporter", spec.id);
    const exchange = this.exchange(`${end}@${pipeline}`, workerMode(spec.factory, spec.config));
    if (exchange !== undefined) this.wiring.connect(from, end, exchange);
    const last = exchange ?? from; // an exchange may have several ways in, and has one way on
    if (!this.wiring.isConnected(last, end)) this.wiring.connectToEnd(last, end, outgoing(pipeline));
  }

  /** All workers of an agent know the exchange by the same key. It stays at a reload, because it keeps nothing. */
  private exchange(before: string, mode: WorkerMode): string | undefined {
    const { exchange, budget } = this.settings;
    if (exchange === undefined || mode === "each") return undefined;
    const key = `exchange:${mode}:${before}`;
    return this.place(key, undefined, () => exchangeOperator(exchange, key, mode, () => budget.limit));
  }

  private runsHere(mode: WorkerMode, kind: ComponentKind, id: string): boolean {
    return runsHere(this.settings.exchange, mode, kind, id);
  }

  /** The processors of a pipeline with the exchanges in front of them, and its journal if it has one. At least one place. */
  private stepsOf(pipeline: PlannedPipeline): string[] {
    const journal = this.journals.createOfPipeline(pipeline);
    const at = journalPlace(this.plan, pipeline);
    const steps: string[] = [];
    for (const [index, id] of pipeline.processors.entries()) {
      const { factory, config } = this.plan.processors.get(id)!;
      const exchange = this.exchange(processorNodeId(pipeline.id, id), workerMode(factory, config));
      if (exchange !== undefined) steps.push(exchange);
      if (journal !== undefined && index === at) steps.push(this.journal(journal));
      steps.push(this.processor(id, pipeline, index));
    }
    if (journal !== undefined && at === pipeline.processors.length) steps.push(this.journal(journal));
    return steps.length > 0 ? steps : [this.place(pipelineKey(pipeline.id), undefined, () => passOn)];
  }

  private processor(id: string, pipeline: PlannedPipeline, index: number): string {
    const spec = this.plan.processors.get(id)!;
    const node = processorNodeId(pipeline.id, id);
    return this.place(node, node, () => {
      if (!this.runsHere(workerMode(spec.factory, spec.config), "processor", id)) return passOn;
      const context = this.processorContext(id, pipeline, index);
      const create = creatorOf(spec.factory, spec.config, context);
      return this.components.isolate(spec, "processor", pipeline.signal, create, {
        onSetback: untreatedPiiWarning(this.plan, pipeline, index, context.logger),
        holds: spec.factory.maxHeldBytes !== undefined,
        keepsFailures: pipeline.errorMode === "dead_letter",
        flow: this.settings.flows.from(node, pipeline.id),
        tally: this.settings.flows.tally(node),
      });
    });
  }

  private processorContext(id: string, pipeline: PlannedPipeline, index: number): BuiltInProcessorContext {
    const isBehindJournal = index >= journalPlace(this.plan, pipeline);
    const journal = isBehindJournal ? this.journals.get(pipeline.id)?.notesOf(id) : undefined;
    const context = processorContextWithoutJournal(this.components, id, pipeline);
    return journal === undefined ? context : { ...context, journal };
  }

  private journal({ name, operator }: RunningJournal): string {
    return this.place(journalUnit(name), journalUnit(name), () => operator);
  }

  private addExporter(spec: PlannedExporter): void {
    const key = nodeId("exporter", spec.id);
    const { takenOver } = this.settings;
    const running = this.keeps(key) ? takenOver?.parts.exporters.get(spec.id) : undefined;
    const exporter = running ?? this.exporter(spec);
    const routes = running && takenOver?.parts.routes.get(spec.id);
    this.exporters.set(spec.id, exporter);
    this.routes.set(spec.id, routes ?? this.routes.get(spec.id)!);
    this.wiring.addEnd(key, running === undefined ? exporter.operator : undefined);
  }

  private exporter(spec: PlannedExporter): RunningExporter {
    const context = this.components.contextOf(spec.id, "exporter");
    const { logger } = context;
    const routes = new OutletRoutes(this.plan, spec.id);
    this.routes.set(spec.id, routes);
    if (!this.runsHere(workerMode(spec.factory, spec.config), "exporter", spec.id)) {
      const replaceable = new ReplaceableExporter(EXPORTER_ELSEWHERE);
      return new RunningExporter({ spec, replaceable, outlet: OUTLET_ELSEWHERE, logger });
    }
    const replaceable = new ReplaceableExporter(this.components.createExporter(spec));
    const outlet = createOutlet(spec, replaceable, context, routes, { ...this.settings, ...this.settings.replay });
    return new RunningExporter({ spec, replaceable, outlet, logger });
  }

  private receiver(spec: PlannedComponent<ReceiverFactory>): RunningReceiver {
    const running = this.settings.takenOver?.parts.receivers.get(spec.id);
    if (running !== undefined && this.keeps(nodeId("receiver", spec.id))) return { ...running, spec };
    const health = new ReceiverHealth(spec.id, this.settings.clock, this.settings.metrics);
    if (!this.runsHere(workerMode(spec.factory, spec.config), "receiver", spec.id))
      return { spec, receiver: RECEIVER_ELSEWHERE, health, intakes: [], isElsewhere: true };
    const sliced: SlicedIntake[] = [];
    const receiver = this.components.create(spec, () => {
      const common = this.components.contextOf(spec.id, "receiver");
      const { receiverTypes } = this.plan;
      const context = { ...common, intakes: this.intakesOf(spec.id, health, sliced), health, receiverTypes };
      return checkComponent("receiver", spec.factory.create(spec.config, context));
    });
    return { spec, receiver, health, intakes: sliced };
  }

  private intakesOf(receiver: string, health: ReceiverHealth, sliced: SlicedIntake[]): Partial<Record<Signal, Intake>> {
    const { intakeState: state, maxRecordValues, budget, flows, clock } = this.settings;
    const tally = flows.tally(nodeId("receiver", receiver));
    const readers = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(receiver));
    const intakes: Partial<Record<Signal, Intake>> = {};
    for (const signal of new Set(readers.map((pipeline) => pipeline.signal))) {
      const { source } = this.entryOf(receiver, signal);
      const intake = new SlicedIntake(source, clock, signal);
      intake.follow(this.plan, receiver);
      sliced.push(intake);
      const settings = { receiver, signal, next: intake, tally, health };
      intakes[signal] = createIntake({ ...settings, budget, maxRecordValues, state, clock });
    }
    return intakes;
  }

  private keeps(unit: string): boolean {
    return this.settings.takenOver?.keeps(unit) ?? false;
  }

  /** The place with this key: known, taken over if its unit stays, or with a component made now. Without a unit, it always stays. */
  private place(key: string, unit: string | undefined, make: () => Processor, choose?: Choose): string {
    if (this.wiring.hasPlace(key)) return key;
    const isRunning = this.settings.takenOver?.parts.wiring.hasPlace(key) === true;
    const stays = isRunning && (unit === undefined || this.keeps(unit));
    this.wiring.addPlace(key, { version: stays ? undefined : make(), choose });
    return key;
  }
}

export function processorContextWithoutJournal(
  components: ComponentMaker,
  id: string,
  { id: pipeline, signal }: PlannedPipeline,
): BuiltInProcessorContext {
  return { ...components.contextOf(id, "processor"), signal, pipeline };
}

/** Outside of the builder, because its result is kept for as long as the component runs, and must not keep the builder. */
function creatorOf<Config, Context, T>(
  factory: { create(config: Config, context: Context): T },
  config: Config,
  context: Context,
): () => T {
  return () => factory.create(config, context);
}

/** A place that leads to a connector. */
interface ConnectorFeed {
  readonly from: string;
  readonly passing?: MonoTypeOperatorFunction<Delivery> | undefined;
}

/** For a component that another worker runs, and a pipeline without processors. */
const passOn: Processor = (deliveries) => deliveries;

/** A connector's deliveries go to the pipelines that it chose, once each, or to all of them. */
const chosenPipelines: Choose = ({ route }) => route && new Set(route.map(pipelineKey));

/** The name by which a connector chooses this pipeline. */
function chosenName({ id, chosenAs = id }: PlannedPipeline): string {
  return chosenAs;
}

function pipelineKey(id: string): string {
  return `pipeline:${id}`;
}

/**
 * Deliveries with a setback do not pass, and are settled: a connector that changes the signal does not convert dead
 * letters. They are accepted if another branch of their pipeline keeps them, and refused otherwise.
 */
function withoutSetbacks(isKeptElsewhere: boolean): MonoTypeOperatorFunction<Delivery> {
  return filter((delivery: Delivery) => {
    const { setback } = delivery;
    if (setback === undefined) return true;
    if (isKeptElsewhere || setback.onlyIfAlwaysSaved) delivery.drop();
    else delivery.refuse(refusalOfSetback(setback));
    return false;
  });
}

function hasRoute({ factory }: PlannedComponent<BuiltInConnectorFactory>, from: Signal, to: Signal): boolean {
  return factory.routes.some((route) => route.from === from && route.to === to);
}

function listOf<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
