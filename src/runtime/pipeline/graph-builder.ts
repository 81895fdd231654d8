import type {
  ComponentKind,
  ConnectorFactory,
  Delivery,
  GraphPlan,
  Intake,
  PlannedComponent,
  PlannedExporter,
  PlannedPipeline,
  ProcessorContext,
  ProcessorFactory,
  Receiver,
  ReceiverFactory,
} from "#contract";
import { checkComponent } from "#contract/border";
import { StartError } from "#contract/errors";
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
import { copyToConnector, fanOut, routeToTargets } from "./fan-out.js";
import type { Flows } from "./flows.js";
import { GraphJournals, type RunningJournal } from "./graph-journals.js";
import { createIntake, type IntakeBudget, type IntakeState } from "./intake.js";
import { journalPlace } from "./journal-place.js";
import { PartialAcceptance } from "./partial-acceptance.js";
import { pipelinesFedBy, reachesExporter } from "./plan-paths.js";
import { connectorJournalName } from "./replay-steps.js";
import { SlicedIntake } from "./sliced-intake.js";
import { ExporterEnd } from "./stages/exporter-end.js";
import { ReplaceableExporter } from "./stages/replaceable-exporter.js";
import { type Distribute, GraphStage, type StageLink } from "./stages/stage.js";
import {
  EXPORTER_ELSEWHERE,
  exchangeOperator,
  OUTLET_ELSEWHERE,
  RECEIVER_ELSEWHERE,
  runsHere,
  type WorkerExchange,
} from "./stages/worker-exchange.js";
import { passesToOtherSignal } from "./stream-ends.js";
import { untreatedPiiWarning } from "./untreated-pii.js";

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
  /** By key. Each comes after those that feed it. */
  readonly stages: ReadonlyMap<string, GraphStage>;
  /** The links that each stage has once these parts run. */
  readonly wiring: ReadonlyMap<GraphStage, readonly StageLink[]>;
  readonly receivers: ReadonlyMap<string, RunningReceiver>;
  readonly exporters: ReadonlyMap<string, ExporterEnd>;
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
 *     receivers ---+                                     +---> exporters: an outlet, mostly with a queue
 *     (intakes)    +--> stages: processors --> fan-out --+
 *     connectors --+                                     +---> connectors: a stage, then a route to pipelines
 *
 * Nothing that runs is changed: links of parts that are taken over are only listed in `wiring`.
 *
 * No part may keep the builder, which knows all parts of its config and of the one before: they would stay in memory for
 * as long as one of them runs, and with a chain of reloads for ever.
 */
export class GraphBuilder {
  private readonly settings: BuilderSettings;
  private readonly plan: GraphPlan;
  private readonly components: ComponentMaker;
  private readonly journals: GraphJournals;
  private readonly stages = new Map<string, GraphStage>();
  private readonly wiring = new Map<GraphStage, StageLink[]>();
  private readonly exporters = new Map<string, ExporterEnd>();
  private readonly routes = new Map<string, OutletRoutes>();
  /** Stages that end in a connector, by the connector's key, with what their links to it do. */
  private readonly connectorFeeds = new Map<string, { readonly from: GraphStage; readonly link: LinkTo }[]>();

  constructor(settings: BuilderSettings) {
    this.settings = settings;
    this.plan = settings.plan;
    this.components = settings.components;
    const kept = (name: string) =>
      this.keeps(journalUnit(name))
        ? settings.takenOver?.parts.journals.find((journal) => journal.name === name)
        : undefined;
    this.journals = new GraphJournals({ ...settings, intakeLimit: settings.budget.limit, kept });
  }

  build(): GraphParts {
    for (const spec of this.plan.exporters.values()) this.exporters.set(spec.id, this.exporterEnd(spec));
    for (const pipeline of this.plan.pipelines) this.addPipeline(pipeline);
    for (const spec of this.plan.processors.values()) this.addConnectorOfProcessor(spec);
    const receivers = new Map([...this.plan.receivers].map(([id, spec]) => [id, this.receiver(spec)]));
    const { plan, stages, wiring, exporters, routes } = this;
    return { plan, stages, wiring, receivers, exporters, routes, journals: this.journals.all.toReversed() };
  }

  /** Called in an order in which each pipeline comes after those that feed it. */
  private addPipeline(pipeline: PlannedPipeline): void {
    const feeds = pipeline.receivers.flatMap((id) => this.feedsFrom(id, pipeline));
    const steps = this.stepsOf(pipeline);
    const first = steps[0]!;
    const last = steps.at(-1)!;
    for (const { from, node } of feeds) this.linkToPipeline(from, node, pipeline, first);
    for (const [i, step] of steps.slice(0, -1).entries()) this.link(step, linkTo(steps[i + 1]!));
    for (const id of pipeline.exporters) this.linkToEnd(last, id, pipeline);
  }

  private linkToPipeline(from: GraphStage, node: string, { id }: PlannedPipeline, to: GraphStage): void {
    const flow = this.settings.flows.from(node, id);
    this.link(from, {
      key: `pipeline:${id}`,
      pipeline: id,
      to,
      next(delivery) {
        if (delivery.setback === undefined) flow.pass(delivery.batch);
        to.next(delivery);
      },
    });
  }

  /** The stages that feed a pipeline; a connector that reads several signals has several. */
  private feedsFrom(id: string, pipeline: PlannedPipeline): { readonly from: GraphStage; readonly node: string }[] {
    const connector = this.plan.connectors.get(id);
    const feeding = connector === undefined ? [this.sourceOf(id, pipeline.signal)] : this.stagesOf(connector, pipeline);
    const node = nodeId(connector === undefined ? "receiver" : "connector", id);
    return feeding.map((from) => ({ from, node }));
  }

  /** The entry of a receiver's batches. It stays when the receiver is replaced, because it holds nothing. */
  private sourceOf(receiver: string, signal: Signal): GraphStage {
    return this.stage(`${nodeId("receiver", receiver)} ${signal}`, undefined, () => ({}));
  }

  private stagesOf(spec: PlannedComponent<ConnectorFactory>, { signal: to }: PlannedPipeline): GraphStage[] {
    const feeding = this.plan.pipelines.filter(({ exporters }) => exporters.includes(spec.id));
    const signals = [...new Set(feeding.map(({ signal }) => signal))];
    return signals.filter((from) => hasRoute(spec, from, to)).map((from) => this.connectorStage(spec, from, to));
  }

  private connectorStage(spec: PlannedComponent<ConnectorFactory>, from: Signal, to: Signal): GraphStage {
    const node = nodeId("connector", spec.id);
    const key = `${node} ${from}>${to}`;
    const known = this.stages.get(key);
    if (known !== undefined) return known;
    const owner = { id: spec.id, path: ["connectors", spec.id] };
    const wantsJournal = spec.factory.wantsJournal?.(spec.config);
    const running = this.journals.createOfConnector("connector", owner, wantsJournal, from);
    const first = running && this.journalStage(running);
    const mode = workerMode(spec.factory, spec.config);
    const stage = this.stage(key, node, () => {
      if (!this.runsHere(mode, "connector", spec.id)) return {};
      const targets = pipelinesFedBy(this.plan, spec.id, to).map(({ id }) => id);
      const { isAvailable } = this.settings;
      const journal = running?.journal.exchange;
      const context = { ...this.components.contextOf(spec.id, "connector"), from, to, targets, isAvailable, journal };
      const create = creatorOf(spec.factory, spec.config, context);
      const tally = this.settings.flows.tally(node);
      const processor = this.components.isolate(spec, "connector", from, create, { to, targets, tally });
      return { processor, distribute: routeToTargets(this.createMemory()) };
    });
    if (first !== undefined) this.link(first, linkTo(stage));
    const entry = this.exchangeBefore(first ?? stage, mode);
    for (const feed of this.connectorFeeds.get(key) ?? []) this.link(feed.from, feed.link(key, entry));
    return stage;
  }

  /** Links a pipeline's last stage to an exporter, or to a connector, once per output signal. */
  private linkToEnd(last: GraphStage, id: string, pipeline: PlannedPipeline): void {
    const end = this.exporters.get(id);
    if (end !== undefined) return this.linkToExporter(last, end, pipeline.id);
    const spec = this.plan.connectors.get(id)!;
    const fed = this.plan.pipelines.filter(({ receivers }) => receivers.includes(id));
    const signals = new Set(fed.map(({ signal }) => signal));
    for (const to of [...signals].filter((signal) => hasRoute(spec, pipeline.signal, signal))) {
      const isKept = reachesExporter(this.plan, pipeline);
      const passes = (delivery: Delivery) => to === pipeline.signal || passesToOtherSignal(delivery, isKept);
      const link: LinkTo = (key, stage) => ({
        key,
        to: stage,
        next(delivery) {
          if (passes(delivery)) stage.next(delivery);
        },
      });
      const key = `${nodeId("connector", id)} ${pipeline.signal}>${to}`;
      listOf(this.connectorFeeds, key).push({ from: last, link });
    }
  }

  private linkToExporter(from: GraphStage, end: ExporterEnd, pipeline: string): void {
    const mode = workerMode(end.spec.factory, end.spec.config);
    const link = linkToExporter(end, pipeline);
    const exchange = this.exchangeStage(`${link.key}@${pipeline}`, mode);
    if (exchange === undefined) return this.link(from, link);
    this.link(from, { ...linkTo(exchange), key: link.key });
    this.link(exchange, link);
  }

  /** The exchange in front of a stage, or the stage itself if every worker has its own. */
  private exchangeBefore(stage: GraphStage, mode: WorkerMode): GraphStage {
    const exchange = this.exchangeStage(stage.key, mode);
    if (exchange === undefined) return stage;
    this.link(exchange, linkTo(stage));
    return exchange;
  }

  /** All workers of an agent know the exchange by the same key. It stays at a reload, because it keeps nothing. */
  private exchangeStage(before: string, mode: WorkerMode): GraphStage | undefined {
    const { exchange, budget } = this.settings;
    if (exchange === undefined || mode === "each") return undefined;
    const key = `exchange:${mode}:${before}`;
    const create = () => ({ processor: exchangeOperator(exchange, key, mode, () => budget.limit) });
    return this.stage(key, undefined, create);
  }

  private runsHere(mode: WorkerMode, kind: ComponentKind, id: string): boolean {
    return runsHere(this.settings.exchange, mode, kind, id);
  }

  /** The processors of a pipeline with the exchanges in front of them, and its journal if it has one. At least one stage. */
  private stepsOf(pipeline: PlannedPipeline): GraphStage[] {
    const journal = this.journals.createOfPipeline(pipeline);
    const place = journalPlace(this.plan, pipeline);
    const steps: GraphStage[] = [];
    for (const [index, id] of pipeline.processors.entries()) {
      const { factory, config } = this.plan.processors.get(id)!;
      const exchange = this.exchangeStage(processorNodeId(pipeline.id, id), workerMode(factory, config));
      if (exchange !== undefined) steps.push(exchange);
      if (journal !== undefined && index === place) steps.push(this.journalStage(journal));
      steps.push(this.processorStage(id, pipeline, index));
    }
    if (journal !== undefined && place === pipeline.processors.length) steps.push(this.journalStage(journal));
    return steps.length > 0 ? steps : [this.stage(`pipeline:${pipeline.id}`, undefined, () => ({}))];
  }

  private processorStage(id: string, pipeline: PlannedPipeline, index: number): GraphStage {
    const spec = this.plan.processors.get(id)!;
    const node = processorNodeId(pipeline.id, id);
    if (spec.factory.copyTo !== undefined) return this.copyingStage(node, spec);
    return this.stage(node, node, () => {
      if (!this.runsHere(workerMode(spec.factory, spec.config), "processor", id)) return {};
      const context = this.processorContext(id, pipeline, index);
      const create = creatorOf(spec.factory, spec.config, context);
      const processor = this.components.isolate(spec, "processor", pipeline.signal, create, {
        onSetback: untreatedPiiWarning(this.plan, pipeline, index, context.logger),
        holds: spec.factory.maxHeldBytes !== undefined,
        keepsFailures: pipeline.errorMode === "dead_letter",
        flow: this.settings.flows.from(node, pipeline.id),
        tally: this.settings.flows.tally(node),
      });
      return { processor };
    });
  }

  private processorContext(id: string, pipeline: PlannedPipeline, index: number): ProcessorContext {
    const isBehindJournal = index >= journalPlace(this.plan, pipeline);
    const journal = isBehindJournal ? this.journals.get(pipeline.id)?.notesOf(id) : undefined;
    const context = processorContextWithoutJournal(this.components, id, pipeline);
    return journal === undefined ? context : { ...context, journal };
  }

  private copyingStage(node: string, { id }: PlannedComponent<ProcessorFactory>): GraphStage {
    const stage = this.stage(node, undefined, () => ({ distribute: copyToConnector(this.createMemory()) }));
    const link: LinkTo = (key, to) => ({ ...linkTo(to), key, isCopy: true });
    listOf(this.connectorFeeds, copyKey(id)).push({ from: stage, link });
    return stage;
  }

  /** A processor that copies to a connector has one connector for all pipelines, with an exporter behind it. */
  private addConnectorOfProcessor(spec: PlannedComponent<ProcessorFactory>): void {
    const feeds = this.connectorFeeds.get(copyKey(spec.id));
    if (feeds === undefined) return;
    const { connector, exporter } = spec.factory.copyTo!(spec.config);
    const [{ from, to }] = connector.routes as [ConnectorFactory["routes"][number]];
    const pipeline = this.plan.pipelines.find((one) => one.signal === to && one.exporters.includes(exporter.id));
    const end = this.exporters.get(exporter.id);
    if (pipeline === undefined || end === undefined) {
      return this.components.create(spec, () => {
        throw new StartError(`no pipeline of ${to} has the exporter ${exporter.id}`, exporter.path);
      });
    }
    const owner = { id: spec.id, path: ["processors", spec.id] };
    const running = this.journals.createOfConnector("processor", owner, connector.wantsJournal?.(spec.config), from);
    const first = running && this.journalStage(running);
    const mode = workerMode(connector, spec.config);
    const stage = this.stage(copyKey(spec.id), copyKey(spec.id), () => {
      if (!this.runsHere(mode, "processor", spec.id)) return {};
      const services = this.components.contextOf(spec.id, "processor");
      const context = {
        ...services,
        from,
        to,
        targets: [],
        isAvailable: () => true,
        journal: running?.journal.exchange,
      };
      const create = creatorOf(connector, spec.config, context);
      return { processor: this.components.isolate(spec, "processor", from, create, { to }) };
    });
    if (first !== undefined) this.link(first, linkTo(stage));
    const entry = this.exchangeBefore(first ?? stage, mode);
    for (const feed of feeds) this.link(feed.from, feed.link(copyKey(spec.id), entry));
    this.linkToExporter(stage, end, pipeline.id);
  }

  private journalStage(journal: RunningJournal): GraphStage {
    const unit = journalUnit(journal.name);
    return this.stage(unit, unit, () => ({ processor: journal.operator }));
  }

  private exporterEnd(spec: PlannedExporter): ExporterEnd {
    const { takenOver } = this.settings;
    const running = takenOver?.parts.exporters.get(spec.id);
    const runningRoutes = takenOver?.parts.routes.get(spec.id);
    if (running !== undefined && runningRoutes !== undefined && this.keeps(nodeId("exporter", spec.id))) {
      this.routes.set(spec.id, runningRoutes);
      return running;
    }
    const context = this.components.contextOf(spec.id, "exporter");
    const routes = new OutletRoutes(this.plan, spec.id);
    this.routes.set(spec.id, routes);
    if (!this.runsHere(workerMode(spec.factory, spec.config), "exporter", spec.id)) {
      const replaceable = new ReplaceableExporter(EXPORTER_ELSEWHERE);
      return new ExporterEnd({ spec, replaceable, outlet: OUTLET_ELSEWHERE, logger: context.logger });
    }
    const replaceable = new ReplaceableExporter(this.components.createExporter(spec));
    const outlet = createOutlet(spec, replaceable, context, routes, { ...this.settings, ...this.settings.replay });
    return new ExporterEnd({ spec, replaceable, outlet, logger: context.logger });
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
    const { intakeState: state, maxRecordValues, budget, flows } = this.settings;
    const tally = flows.tally(nodeId("receiver", receiver));
    const readers = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(receiver));
    const intakes: Partial<Record<Signal, Intake>> = {};
    for (const signal of new Set(readers.map((pipeline) => pipeline.signal))) {
      const source = this.sourceOf(receiver, signal);
      const intake = new SlicedIntake(source, this.settings.clock, signal);
      intake.follow(this.plan, receiver);
      const handIn = (delivery: Delivery) => intake.handIn(delivery);
      sliced.push(intake);
      intakes[signal] = createIntake({ receiver, signal, budget, handIn, maxRecordValues, state, tally, health });
    }
    return intakes;
  }

  private keeps(unit: string): boolean {
    return this.settings.takenOver?.keeps(unit) ?? false;
  }

  /** The stage with this key: known, taken over if its unit stays, or made now. Without a unit, it always stays. */
  private stage(key: string, unit: string | undefined, make: () => Partial<StageParts>): GraphStage {
    const known = this.stages.get(key);
    if (known !== undefined) return known;
    const running = this.settings.takenOver?.parts.stages.get(key);
    const stays = running !== undefined && (unit === undefined || this.keeps(unit));
    const stage = stays ? running : this.createStage(key, make());
    this.stages.set(key, stage);
    this.wiring.set(stage, []);
    return stage;
  }

  private createStage(key: string, { processor = (stream) => stream, distribute }: Partial<StageParts>): GraphStage {
    const { logger } = this.settings;
    return new GraphStage(key, { processor, logger, distribute: distribute ?? fanOut(this.createMemory()) });
  }

  private link(from: GraphStage, link: StageLink): void {
    this.wiring.get(from)!.push(link);
  }

  /** Every fan-out has its own memory. */
  private createMemory(): PartialAcceptance<string> {
    const { clock, metrics } = this.settings;
    const description = "Records of retries that were skipped for an exporter or pipeline that already had them.";
    return new PartialAcceptance(clock, metrics.counter("sluice_fan_out_duplicates", { description }));
  }
}

export function processorContextWithoutJournal(
  components: ComponentMaker,
  id: string,
  { id: pipeline, signal }: PlannedPipeline,
): ProcessorContext {
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

interface StageParts {
  readonly processor: ConstructorParameters<typeof GraphStage>[1]["processor"];
  readonly distribute: Distribute;
}

type LinkTo = (key: string, stage: GraphStage) => StageLink;

function linkTo(stage: GraphStage): StageLink {
  return { key: stage.key, to: stage, next: (delivery) => stage.next(delivery) };
}

function linkToExporter(end: ExporterEnd, pipeline: string): StageLink {
  return { key: nodeId("exporter", end.id), to: end, next: (delivery) => end.accept(delivery, pipeline) };
}

/** Key and unit of the connector of a processor. */
function copyKey(processor: string): string {
  return connectorJournalName("processor", processor);
}

function hasRoute({ factory }: PlannedComponent<ConnectorFactory>, from: Signal, to: Signal): boolean {
  return factory.routes.some((route) => route.from === from && route.to === to);
}

function listOf<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
