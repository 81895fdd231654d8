import { merge, tap } from "rxjs";
import type {
  ConnectorFactory,
  Delivery,
  Exporter,
  GraphPlan,
  Intake,
  PlannedComponent,
  PlannedExporter,
  PlannedPipeline,
  Processor,
  ProcessorContext,
  ProcessorFactory,
  Receiver,
  ReceiverFactory,
} from "#contract";
import { checkComponent } from "#contract/border";
import { StartError } from "#contract/errors";
import { ReceiverHealth } from "#contract/operations";
import type { JournalFactory, Outlet, OutletFactory, OutletSettings } from "#contract/operators";
import type { Signal } from "#otlp/signals";
import { ComponentCreateError, ComponentMaker, type ComponentServices, createComponent } from "./component-maker.js";
import { createOutlet } from "./create-outlet.js";
import { nodeId, processorNodeId } from "./describe-graph.js";
import { copyStream, fanOut, routeToTargets } from "./fan-out.js";
import { type Flow, Flows } from "./flows.js";
import { GraphJournals, type RunningJournal } from "./graph-journals.js";
import { createIntake, IntakeBudget, type IntakeState } from "./intake.js";
import { journalPlace } from "./journal-place.js";
import { PartialAcceptance } from "./partial-acceptance.js";
import { needsWholeBatches, pipelinesFedBy, reachesExporter } from "./plan-paths.js";
import { ReplaySteps } from "./replay-steps.js";
import { type RunningGraph, runGraph } from "./run-graph.js";
import { SlicedIntake } from "./sliced-intake.js";
import {
  type Deliveries,
  DeliverySource,
  type EndedStream,
  endInOutlet,
  type OutletFeed,
  settleSetbacks,
} from "./stream-ends.js";
import { untreatedPiiWarning } from "./untreated-pii.js";

export interface GraphSettings extends ComponentServices {
  readonly plan: GraphPlan;
  /** Limit for bytes that were accepted from clients and not yet answered. */
  readonly intakeLimit: number;
  /** How many values a record may have on its way in. */
  readonly maxRecordValues: number;
  readonly outletFactory: OutletFactory;
  readonly journalFactory?: JournalFactory | undefined;
  /** True when some senders never see a refusal: their refused data is kept. */
  readonly keepsRefused?: boolean | undefined;
  readonly intakeState: IntakeState;
}

export interface RunningExporter {
  readonly spec: PlannedExporter;
  readonly exporter: Exporter;
  readonly outlet: Outlet;
}

interface RunningReceiver {
  readonly spec: PlannedComponent<unknown>;
  readonly receiver: Receiver;
  readonly health: ReceiverHealth;
}

/** All components of a config, connected but not started. */
export interface Graph extends RunningGraph {
  readonly receivers: readonly RunningReceiver[];
  readonly exporters: readonly RunningExporter[];
  /** In start order: each comes after those that it feeds. */
  readonly journals: readonly RunningJournal[];
  readonly budget: IntakeBudget;
  /** Traffic between the components. */
  readonly flows: Flows;
}

/**
 * Creates a config's components and connects them as streams of deliveries:
 *
 *     receivers ---+                                     +---> exporters: an outlet, mostly with a queue
 *     (intakes)    +--> merge --> processors --> fan-out +
 *     connectors --+                                     +---> connectors: merge --> connector --> route to pipelines
 *
 * Completion starts at the receivers and drains the streams; unsubscription starts at the exporters and aborts them.
 */
export function buildGraph(settings: GraphSettings): Graph {
  return new GraphBuilder(settings).build();
}

class GraphBuilder {
  private readonly settings: GraphSettings;
  private readonly plan: GraphPlan;
  private readonly budget: IntakeBudget;
  private readonly flows = new Flows();
  private readonly exporters = new Map<string, RunningExporter>();
  private readonly replay: Required<Pick<OutletSettings, "prepareReplay" | "hasPipeline">>;
  private readonly components: ComponentMaker;
  private readonly journals: GraphJournals;
  /** Entry points of each receiver's batches, by "receiver signal". */
  private readonly intakeSources = new Map<string, DeliverySource>();
  private readonly slicedIntakes: SlicedIntake[] = [];
  /** Streams from receivers and connectors to pipelines, by "receiver signal" and "connector from>to", then by pipeline. */
  private readonly outputs = new Map<string, ReadonlyMap<string, Deliveries>>();
  /** Streams from pipelines to exporters, by exporter. */
  private readonly exporterFeeds = new Map<string, OutletFeed[]>();
  /** Streams from pipelines to connectors, by "connector from>to", and to connectors of processors, by processor. */
  private readonly connectorFeeds = new Map<string, Deliveries[]>();
  /**
   * Set before anything is unsubscribed: a connector that still runs must not pass refused deliveries to streams that
   * have ended.
   */
  private isAborting = false;
  /** Feeds the parts that have no other input, so that they drain with the rest. */
  private readonly idle = new DeliverySource();

  constructor(settings: GraphSettings) {
    this.settings = settings;
    this.plan = settings.plan;
    this.budget = new IntakeBudget(settings.intakeLimit);
    this.components = new ComponentMaker({ ...settings, isAborting: () => this.isAborting });
    const steps = new ReplaySteps(this.plan, (id, pipeline) => this.processorContext(id, pipeline));
    this.replay = { prepareReplay: steps.prepare.bind(steps), hasPipeline: steps.hasPipeline.bind(steps) };
    this.journals = new GraphJournals({ ...settings, replay: this.replay });
  }

  build(): Graph {
    for (const spec of this.plan.exporters.values()) this.exporters.set(spec.id, this.createExporter(spec));
    for (const pipeline of this.plan.pipelines) this.addPipeline(pipeline);
    for (const spec of this.plan.processors.values()) this.addConnectorOfProcessor(spec);
    const receivers = [...this.plan.receivers.values()].map((spec) => this.createReceiver(spec));
    const ends = [...this.exporters.values()].map((exporter) => this.endInExporter(exporter));
    return {
      receivers,
      exporters: [...this.exporters.values()],
      journals: this.journals.all.toReversed(),
      budget: this.budget,
      flows: this.flows,
      ...this.run(ends),
    };
  }

  private run(ends: readonly EndedStream[]): RunningGraph {
    const { drain, abort } = runGraph(ends, [...this.intakeSources.values(), this.idle], this.settings.logger);
    return {
      drain: async () => {
        await Promise.all(this.slicedIntakes.map((intake) => intake.drain()));
        return drain();
      },
      abort: () => {
        this.isAborting = true;
        abort();
      },
    };
  }

  /** Called in an order in which each pipeline comes after those that feed it. */
  private addPipeline(pipeline: PlannedPipeline): void {
    const input = this.join(pipeline.receivers.flatMap((id) => this.feedsFrom(id, pipeline)));
    const output = through(input, this.stepsOf(pipeline));
    const ends = pipeline.exporters.flatMap((id) => this.endsAt(id, pipeline));
    const branches = fanOut(output, ends.length, this.createMemory());
    for (const [i, add] of ends.entries()) add(branches[i]!);
  }

  /** The streams from a receiver or connector to a pipeline; a connector that reads several signals gives several. */
  private feedsFrom(id: string, pipeline: PlannedPipeline): Deliveries[] {
    const connector = this.plan.connectors.get(id);
    const outputs =
      connector === undefined ? [this.outputOfReceiver(id, pipeline)] : this.outputsOf(connector, pipeline);
    const node = nodeId(connector === undefined ? "receiver" : "connector", id);
    const flow = this.flows.from(node, pipeline.id);
    return outputs.flatMap((byPipeline) => byPipeline.get(pipeline.id) ?? []).map((stream) => counted(stream, flow));
  }

  private outputOfReceiver(receiver: string, { signal }: PlannedPipeline): ReadonlyMap<string, Deliveries> {
    const key = `${receiver} ${signal}`;
    return getOrCreate(this.outputs, key, () => {
      const source = new DeliverySource();
      this.intakeSources.set(key, source);
      const readers = pipelinesFedBy(this.plan, receiver, signal);
      const branches = fanOut(source.deliveries, readers.length, this.createMemory());
      return new Map(readers.map(({ id }, i) => [id, branches[i]!]));
    });
  }

  private outputsOf(spec: PlannedComponent<ConnectorFactory>, { signal: to }: PlannedPipeline) {
    const feeding = this.plan.pipelines.filter(({ exporters }) => exporters.includes(spec.id));
    const signals = [...new Set(feeding.map(({ signal }) => signal))];
    return signals
      .filter((from) => hasRoute(spec, from, to))
      .map((from) => getOrCreate(this.outputs, `${spec.id} ${from}>${to}`, () => this.runConnector(spec, from, to)));
  }

  private runConnector(spec: PlannedComponent<ConnectorFactory>, from: Signal, to: Signal) {
    const fed = pipelinesFedBy(this.plan, spec.id, to);
    const targets = fed.map(({ id }) => id);
    const isAvailable = (target: string) => fed.some((each) => each.id === target && this.isAvailable(each));
    const owner = { id: spec.id, path: ["connectors", spec.id] };
    const running = this.journals.createOfConnector("connector", owner, spec.factory.wantsJournal?.(spec.config), from);
    const journal = running?.journal.exchange;
    const services = this.components.contextOf(spec.id, "connector");
    const context = { ...services, from, to, targets, isAvailable, journal };
    const create = () => spec.factory.create(spec.config, context);
    const tally = this.flows.tally(nodeId("connector", spec.id));
    const operator = this.components.isolate(spec, "connector", from, create, { to, targets, tally });
    const input = this.join(this.connectorFeeds.get(`${spec.id} ${from}>${to}`) ?? []);
    return routeToTargets(through(input, withJournal([operator], running, 0)), targets, this.createMemory());
  }

  /**
   * Returns functions that connect a stream to a pipeline's exporter id: to the exporter, or to a connector, once per
   * output signal.
   */
  private endsAt(id: string, from: PlannedPipeline): ((stream: Deliveries) => void)[] {
    if (this.exporters.has(id))
      return [(deliveries) => listOf(this.exporterFeeds, id).push({ pipeline: from.id, deliveries })];
    const spec = this.plan.connectors.get(id)!;
    const fed = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(id));
    const signals = [...new Set(fed.map(({ signal }) => signal))].filter((to) => hasRoute(spec, from.signal, to));
    return signals.map((to) => (stream) => {
      const feed = to === from.signal ? stream : settleSetbacks(stream, reachesExporter(this.plan, from));
      listOf(this.connectorFeeds, `${id} ${from.signal}>${to}`).push(feed);
    });
  }

  /** The processors of a pipeline, and its journal if it has one. */
  private stepsOf(pipeline: PlannedPipeline): Processor[] {
    const journal = this.journals.createOfPipeline(pipeline);
    const processors = pipeline.processors.map((id, index) => this.createProcessor(id, pipeline, index));
    return withJournal(processors, journal, journalPlace(this.plan, pipeline));
  }

  private createProcessor(id: string, pipeline: PlannedPipeline, index: number): Processor {
    const spec = this.plan.processors.get(id)!;
    if (spec.factory.copyTo !== undefined) return (stream) => this.copyToConnector(spec, stream);
    const context = this.processorContext(id, pipeline, index);
    const node = processorNodeId(pipeline.id, id);
    return this.components.isolate(
      spec,
      "processor",
      pipeline.signal,
      () => spec.factory.create(spec.config, context),
      {
        onSetback: untreatedPiiWarning(this.plan, pipeline, index, context.logger),
        holds: spec.factory.maxHeldBytes !== undefined,
        keepsFailures: pipeline.errorMode === "dead_letter",
        flow: this.flows.from(node, pipeline.id),
        tally: this.flows.tally(node),
      },
    );
  }

  /** Without `index` the processor has no journal. */
  private processorContext(id: string, pipeline: PlannedPipeline, index?: number): ProcessorContext {
    const isBehindJournal = index !== undefined && index >= journalPlace(this.plan, pipeline);
    const journal = isBehindJournal ? this.journals.get(pipeline.id)?.notesOf(id) : undefined;
    const context = { ...this.components.contextOf(id, "processor"), signal: pipeline.signal, pipeline: pipeline.id };
    return journal === undefined ? context : { ...context, journal };
  }

  private copyToConnector({ id }: PlannedComponent<ProcessorFactory>, input: Deliveries): Deliveries {
    const { stream, copy } = copyStream(input, this.createMemory());
    listOf(this.connectorFeeds, id).push(copy);
    return stream;
  }

  /** A processor that copies to a connector has one connector for all pipelines, with an exporter behind it. */
  private addConnectorOfProcessor(spec: PlannedComponent<ProcessorFactory>): void {
    const feeds = this.connectorFeeds.get(spec.id);
    if (feeds === undefined) return;
    const { connector, exporter } = spec.factory.copyTo!(spec.config);
    const [{ from, to }] = connector.routes as [ConnectorFactory["routes"][number]];
    const pipeline = this.plan.pipelines.find((one) => one.signal === to && one.exporters.includes(exporter.id));
    if (pipeline === undefined || !this.exporters.has(exporter.id)) {
      const message = `no pipeline of ${to} has the exporter ${exporter.id}`;
      throw new ComponentCreateError(spec, new StartError(message, exporter.path));
    }
    const services = this.components.contextOf(spec.id, "processor");
    const owner = { id: spec.id, path: ["processors", spec.id] };
    const running = this.journals.createOfConnector("processor", owner, connector.wantsJournal?.(spec.config), from);
    const journal = running?.journal.exchange;
    const context = { ...services, from, to, targets: [], isAvailable: () => true, journal };
    const create = () => connector.create(spec.config, context);
    const operator = this.components.isolate(spec, "processor", from, create, { to });
    const deliveries = through(this.join(feeds), withJournal([operator], running, 0));
    listOf(this.exporterFeeds, exporter.id).push({ pipeline: pipeline.id, deliveries });
  }

  private endInExporter({ spec, outlet }: RunningExporter): EndedStream {
    const idle = { pipeline: "", deliveries: this.idle.deliveries };
    const { logger } = this.components.contextOf(spec.id, "exporter");
    return endInOutlet(outlet, this.exporterFeeds.get(spec.id) ?? [idle], logger);
  }

  private createExporter(spec: PlannedExporter): RunningExporter {
    const exporter = this.components.createExporter(spec);
    const context = this.components.contextOf(spec.id, "exporter");
    return { spec, exporter, outlet: createOutlet(spec, exporter, context, { ...this.settings, ...this.replay }) };
  }

  private createReceiver(spec: PlannedComponent<ReceiverFactory>): RunningReceiver {
    const health = new ReceiverHealth(spec.id, this.settings.clock, this.settings.metrics);
    const receiver = createComponent(spec, () => {
      const common = this.components.contextOf(spec.id, "receiver");
      const context = { ...common, intakes: this.intakesOf(spec.id, health), health };
      return checkComponent("receiver", spec.factory.create(spec.config, context));
    });
    return { spec, receiver, health };
  }

  private intakesOf(receiver: string, health: ReceiverHealth): Partial<Record<Signal, Intake>> {
    const { budget } = this;
    const { intakeState: state, maxRecordValues } = this.settings;
    const tally = this.flows.tally(nodeId("receiver", receiver));
    const readers = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(receiver));
    const intakes: Partial<Record<Signal, Intake>> = {};
    for (const { signal } of readers) {
      const source = this.intakeSources.get(`${receiver} ${signal}`)!;
      intakes[signal] ??= createIntake({
        receiver,
        signal,
        budget,
        handIn: this.handInTo(source, receiver, signal),
        maxRecordValues,
        state,
        tally,
        health,
      });
    }
    return intakes;
  }

  private handInTo(source: DeliverySource, receiver: string, signal: Signal): (delivery: Delivery) => void {
    const intake = new SlicedIntake(source, this.settings.clock, needsWholeBatches(this.plan, receiver, signal));
    this.slicedIntakes.push(intake);
    return (delivery) => intake.handIn(delivery);
  }

  /** A pipeline is available while all of its exporters are, and at least one pipeline behind each connector. */
  private isAvailable(pipeline: PlannedPipeline): boolean {
    return pipeline.exporters.every((id) => {
      const exporter = this.exporters.get(id);
      if (exporter !== undefined) return exporter.outlet.isAvailable ?? true;
      const fed = pipelinesFedBy(this.plan, id, pipeline.signal);
      return fed.length === 0 || fed.some((next) => this.isAvailable(next));
    });
  }

  private join(feeds: readonly Deliveries[]): Deliveries {
    if (feeds.length === 0) return this.idle.deliveries;
    return feeds.length === 1 ? feeds[0]! : merge(...feeds);
  }

  /** Every fan-out has its own memory. */
  private createMemory(): PartialAcceptance<DeliverySource> {
    const { clock, metrics } = this.settings;
    const description =
      "Records that were sent again and not given a second time to an exporter or pipeline that had them.";
    return new PartialAcceptance(clock, metrics.counter("sluice_fan_out_duplicates", { description }));
  }
}

function through(stream: Deliveries, steps: readonly Processor[]): Deliveries {
  return steps.reduce((upstream, step) => step(upstream), stream);
}

function withJournal(steps: readonly Processor[], journal: RunningJournal | undefined, place: number): Processor[] {
  return journal === undefined ? [...steps] : steps.toSpliced(place, 0, journal.operator);
}

/** Deliveries with a setback are not counted. */
function counted(stream: Deliveries, flow: Flow): Deliveries {
  return stream.pipe(tap(({ batch, setback }) => setback === undefined && flow.pass(batch)));
}

function hasRoute({ factory }: PlannedComponent<ConnectorFactory>, from: Signal, to: Signal): boolean {
  return factory.routes.some((route) => route.from === from && route.to === to);
}

function listOf<T>(lists: Map<string, T[]>, key: string): T[] {
  return getOrCreate(lists, key, () => []);
}

function getOrCreate<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
