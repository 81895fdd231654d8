import { checkComponent } from "../contract/border/check-component.js";
import type {
  ConnectorFactory,
  Exporter,
  Intake,
  Processor,
  ProcessorContext,
  ProcessorFactory,
  Receiver,
} from "../contract/component.js";
import { refusalOfSetback } from "../contract/dead-letter.js";
import { statefulProcessor } from "../contract/operators/stateful-processor.js";
import type { Journal, JournalFactory, Outlet, OutletFactory, OutletSettings } from "../contract/outlet.js";
import type { GraphPlan, PlannedComponent, PlannedExporter, PlannedPipeline } from "../contract/plan.js";
import { uncheckedExporterSettingsSchema } from "../contract/schema/exporter-settings.js";
import { StartError } from "../contract/start-error.js";
import type { Signal } from "../telemetry/bytes/signal.js";
import { batchingByPipeline } from "./batching.js";
import { ComponentCreateError, ComponentMaker, type ComponentServices, createComponent } from "./component-maker.js";
import { nodeId, processorNodeId } from "./describe-graph.js";
import { fanOut, routeToTargets } from "./fan-out.js";
import { Flows } from "./flows.js";
import { GraphJournals, type RunningJournal } from "./graph-journals.js";
import { createIntake, type DeliveryConsumer } from "./intake.js";
import { IntakeBudget } from "./intake-budget.js";
import { journalPlace } from "./journal-place.js";
import { PartialAcceptance } from "./partial-acceptance.js";
import { ReplaySteps } from "./replay-steps.js";
import { type RunningPipeline, runPipeline } from "./run-pipeline.js";
import { untreatedPiiWarning } from "./untreated-pii.js";

export interface GraphSettings extends ComponentServices {
  readonly plan: GraphPlan;
  /** Bytes that may be taken from clients and not yet answered. */
  readonly intakeLimit: number;
  readonly outletFactory: OutletFactory;
  readonly journalFactory?: JournalFactory | undefined;
  /** Some of what comes in has senders that hear of no refusal: it is to be kept. */
  readonly keepsRefused?: boolean | undefined;
  readonly isOpen: () => boolean;
}

export interface RunningExporter {
  readonly spec: PlannedExporter;
  readonly exporter: Exporter;
  readonly outlet: Outlet;
}

/** All components of a config, wired up. Nothing has been started yet. */
export interface Graph {
  readonly receivers: readonly { readonly spec: PlannedComponent<unknown>; readonly receiver: Receiver }[];
  readonly exporters: readonly RunningExporter[];
  /** Pipelines and connectors in the order in which they are to be drained: none before one that feeds it. */
  readonly runningPipelines: readonly RunningPipeline[];
  /** In the order in which they are to be started: none before one that it feeds. */
  readonly journals: readonly RunningJournal[];
  readonly budget: IntakeBudget;
  /** What passes between the components. */
  readonly flows: Flows;
}

/** Wires a config's components up, from the exporters back to the receivers. */
export function buildGraph(settings: GraphSettings): Graph {
  return new GraphBuilder(settings).build();
}

class GraphBuilder {
  private readonly settings: GraphSettings;
  private readonly plan: GraphPlan;
  private readonly budget: IntakeBudget;
  private readonly flows = new Flows();
  private readonly exporters = new Map<string, RunningExporter>();
  private readonly pipelines = new Map<string, RunningPipeline>();
  /** By connector, then by "from>to". */
  private readonly connectors = new Map<string, RunningPipeline>();
  private readonly replay: Required<Pick<OutletSettings, "prepareReplay" | "hasPipeline">>;
  private readonly components: ComponentMaker;
  private readonly journals: GraphJournals;
  /** Built from the last to the first, so drained from the last built to the first. */
  private readonly built: RunningPipeline[] = [];

  constructor(settings: GraphSettings) {
    this.settings = settings;
    this.plan = settings.plan;
    this.budget = new IntakeBudget(settings.intakeLimit);
    this.components = new ComponentMaker(settings);
    const steps = new ReplaySteps(this.plan, (id, pipeline) => this.processorContext(id, pipeline));
    this.replay = { prepareReplay: steps.prepare.bind(steps), hasPipeline: steps.hasPipeline.bind(steps) };
    const createMemory = () => this.createMemory();
    this.journals = new GraphJournals({ ...settings, replay: this.replay, createMemory });
  }

  build(): Graph {
    for (const spec of this.plan.exporters.values()) this.exporters.set(spec.id, this.createExporter(spec));
    for (const pipeline of [...this.plan.pipelines].reverse()) {
      const consumers = pipeline.exporters.flatMap((id) => this.consumersOf(id, pipeline));
      this.addPipeline(pipeline, fanOut(consumers, this.createMemory()));
    }
    const receivers = [...this.plan.receivers.values()].map((spec) => ({
      spec,
      receiver: createComponent(spec, () => {
        const context = { ...this.components.contextOf(spec.id, "receiver"), intakes: this.intakesOf(spec.id) };
        return checkComponent("receiver", spec.factory.create(spec.config, context));
      }),
    }));
    return {
      receivers,
      exporters: [...this.exporters.values()],
      runningPipelines: [...this.built].reverse(),
      journals: this.journals.all,
      budget: this.budget,
      flows: this.flows,
    };
  }

  private createExporter(spec: PlannedExporter): RunningExporter {
    const context = this.components.contextOf(spec.id, "exporter");
    const exporter = this.components.createExporter(spec);
    const { clock, random, logger, metrics } = context;
    const { id, settings } = spec;
    const typeDefaults = uncheckedExporterSettingsSchema.parse(spec.factory.defaults ?? {});
    const { prepareReplay, hasPipeline } = this.replay;
    const pipelines = this.plan.pipelines.filter(({ exporters }) => exporters.includes(id));
    const signals = [...new Set(pipelines.map(({ signal }) => signal))];
    const batching = batchingByPipeline(this.plan, pipelines);
    const otherIds = otherSpellings(spec).filter((other) => !this.plan.exporters.has(other));
    const outletSettings = {
      id,
      otherIds,
      exporter,
      settings,
      typeDefaults,
      signals,
      pipelines: pipelines.map(({ id: pipeline, signal }) => ({ id: pipeline, signal })),
      batching,
      prepareReplay,
      hasPipeline,
    };
    const outlet = this.settings.outletFactory({ ...outletSettings, clock, random, logger, metrics });
    return { spec, exporter, outlet };
  }

  /** With a journal it is two: what is done before anything is on disk, and what begins with a processor that holds. */
  private addPipeline(pipeline: PlannedPipeline, output: DeliveryConsumer): void {
    const { id } = pipeline;
    const journal = this.journals.createOfPipeline(pipeline);
    const processors = this.processorsOf(pipeline);
    if (journal === undefined) return void this.addRunningPipeline(this.pipelines, id, processors, output);
    const place = journalPlace(this.plan, pipeline);
    const [before, behind] = [processors.slice(0, place), processors.slice(place)];
    this.addRun(this.pipelines, id, this.journals.run(journal, id, before, behind, output));
  }

  private processorsOf(pipeline: PlannedPipeline): Processor[] {
    return pipeline.processors.map((id, index) => {
      const spec = this.plan.processors.get(id)!;
      if (spec.factory.beside !== undefined) return this.passAndCopy(this.runBeside(spec, pipeline.signal));
      const context = this.processorContext(id, pipeline, index);
      const create = () => spec.factory.create(spec.config, context);
      const onSetback = untreatedPiiWarning(this.plan, pipeline, index, context.logger);
      const holds = spec.factory.maxHeldBytes !== undefined;
      const keepsFailures = pipeline.errorMode === "dead_letter";
      const node = processorNodeId(pipeline.id, id);
      const seen = { flow: this.flows.from(node, pipeline.id), tally: this.flows.tally(node) };
      const overrides = { onSetback, holds, keepsFailures, ...seen };
      return this.components.isolate(spec, "processor", pipeline.signal, create, overrides);
    });
  }

  /** Without its place in the pipeline it has no journal. */
  private processorContext(id: string, pipeline: PlannedPipeline, index?: number): ProcessorContext {
    const isBehindJournal = index !== undefined && index >= journalPlace(this.plan, pipeline);
    const journal = isBehindJournal ? this.journals.get(pipeline.id)?.notesOf(id) : undefined;
    const context = { ...this.components.contextOf(id, "processor"), signal: pipeline.signal, pipeline: pipeline.id };
    return journal === undefined ? context : { ...context, journal };
  }

  /** Where a pipeline's exporter id leads: to the exporter, or through a connector to the pipelines it feeds. */
  private consumersOf(id: string, from: PlannedPipeline): DeliveryConsumer[] {
    const exporter = this.exporters.get(id);
    if (exporter !== undefined) return [(delivery) => exporter.outlet.accept(delivery, from.id)];
    const spec = this.plan.connectors.get(id)!;
    const fed = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(id));
    return [...new Set(fed.map((pipeline) => pipeline.signal))]
      .filter((to) => spec.factory.routes.some((route) => route.from === from.signal && route.to === to))
      .map((to) => {
        const { consume } = this.runConnector(spec, from.signal, to, fed);
        return to === from.signal ? consume : this.settlingSetbacks(consume, from);
      });
  }

  /** What was taken out of a pipeline is not turned into another signal. It must have an exporter elsewhere. */
  private settlingSetbacks(consumer: DeliveryConsumer, from: PlannedPipeline): DeliveryConsumer {
    const isKeptElsewhere = this.reachesExporter(from);
    return (delivery) => {
      if (delivery.setback === undefined) consumer(delivery);
      else if (isKeptElsewhere || delivery.setback.onlyIfAlwaysSaved) delivery.accept();
      else delivery.refuse(refusalOfSetback(delivery.setback));
    };
  }

  private reachesExporter(pipeline: PlannedPipeline): boolean {
    return pipeline.exporters.some(
      (id) => this.exporters.has(id) || this.pipelinesFedBy(id, pipeline.signal).some((p) => this.reachesExporter(p)),
    );
  }

  private pipelinesFedBy(connector: string, signal: Signal): PlannedPipeline[] {
    return this.plan.pipelines.filter((p) => p.receivers.includes(connector) && p.signal === signal);
  }

  /** A pipeline is available while all of its exporters are, and one at least of the pipelines behind each connector. */
  private isAvailable(pipeline: PlannedPipeline): boolean {
    return pipeline.exporters.every((id) => {
      const exporter = this.exporters.get(id);
      if (exporter !== undefined) return exporter.outlet.isAvailable ?? true;
      const fed = this.pipelinesFedBy(id, pipeline.signal);
      return fed.length === 0 || fed.some((next) => this.isAvailable(next));
    });
  }

  private runConnector(
    spec: PlannedComponent<ConnectorFactory>,
    from: Signal,
    to: Signal,
    fed: readonly PlannedPipeline[],
  ): RunningPipeline {
    const key = `${spec.id} ${from}>${to}`;
    const existing = this.connectors.get(key);
    if (existing !== undefined) return existing;
    const byId = new Map(fed.filter((pipeline) => pipeline.signal === to).map((pipeline) => [pipeline.id, pipeline]));
    const targets = [...byId.keys()];
    const isAvailable = (target: string) => {
      const pipeline = byId.get(target);
      return pipeline !== undefined && this.isAvailable(pipeline);
    };
    const context = { ...this.components.contextOf(spec.id, "connector"), from, to, targets, isAvailable };
    const node = nodeId("connector", spec.id);
    const operator = this.components.isolate(spec, "connector", from, () => spec.factory.create(spec.config, context), {
      to,
      targets,
      tally: this.flows.tally(node),
    });
    const consumers = new Map(targets.map((id) => [id, this.entryOf(id, node)]));
    const output = routeToTargets(consumers, this.createMemory());
    const owner = { id: spec.id, path: ["connectors", spec.id] };
    const journal = this.journals.createOfConnector("connector", owner, spec.factory.wantsJournal?.(spec.config), from);
    return this.addConnector(key, operator, output, journal);
  }

  private addConnector(
    key: string,
    operator: Processor,
    output: DeliveryConsumer,
    journal: { readonly name: string; readonly journal: Journal } | undefined,
  ): RunningPipeline {
    if (journal === undefined) return this.addRunningPipeline(this.connectors, key, [operator], output);
    const run = this.journals.run(journal.journal, journal.name, [], [operator], output);
    return this.addRun(this.connectors, key, run);
  }

  /** The connector beside a processor, which all pipelines with that processor share, and the exporter behind it. */
  private runBeside(spec: PlannedComponent<ProcessorFactory>, from: Signal): RunningPipeline {
    const key = `processor ${spec.id}`;
    const existing = this.connectors.get(key);
    if (existing !== undefined) return existing;
    const { connector, exporter } = spec.factory.beside!(spec.config);
    const [{ to }] = connector.routes as [ConnectorFactory["routes"][number]];
    const ending = this.plan.pipelines.find((one) => one.signal === to && one.exporters.includes(exporter.id));
    const outlet = this.exporters.get(exporter.id)?.outlet;
    if (outlet === undefined || ending === undefined) {
      const message = `no pipeline of ${to} has the exporter ${exporter.id}`;
      throw new ComponentCreateError(spec, new StartError(message, exporter.path));
    }
    const context = {
      ...this.components.contextOf(spec.id, "processor"),
      from,
      to,
      targets: [],
      isAvailable: () => true,
    };
    const create = () => connector.create(spec.config, context);
    const operator = this.components.isolate(spec, "processor", from, create, { to });
    const output: DeliveryConsumer = (delivery) => outlet.accept(delivery, ending.id);
    const owner = { id: spec.id, path: ["processors", spec.id] };
    const journal = this.journals.createOfConnector("processor", owner, connector.wantsJournal?.(spec.config), from);
    return this.addConnector(key, operator, output, journal);
  }

  /** What a processor before it took out of the pipeline is not copied. */
  private passAndCopy({ consume }: RunningPipeline): Processor {
    return statefulProcessor((out) => {
      const offer = fanOut([consume, (delivery) => out.next(delivery)], this.createMemory());
      return { next: (delivery) => (delivery.setback === undefined ? offer(delivery) : out.next(delivery)) };
    });
  }

  private addRunningPipeline(
    into: Map<string, RunningPipeline>,
    id: string,
    processors: Processor[],
    output: DeliveryConsumer,
  ): RunningPipeline {
    return this.addRun(into, id, runPipeline(processors, output, this.settings.logger.child({ pipeline: id })));
  }

  private addRun(into: Map<string, RunningPipeline>, id: string, run: RunningPipeline): RunningPipeline {
    into.set(id, run);
    this.built.push(run);
    return run;
  }

  private intakesOf(receiver: string): Partial<Record<Signal, Intake>> {
    const intakes: Partial<Record<Signal, Intake>> = {};
    const readers = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(receiver));
    for (const signal of new Set(readers.map((pipeline) => pipeline.signal))) {
      const node = nodeId("receiver", receiver);
      const consumers = readers.filter((p) => p.signal === signal).map((p) => this.entryOf(p.id, node));
      const consumer = fanOut(consumers, this.createMemory());
      const { budget } = this;
      const { isOpen } = this.settings;
      intakes[signal] = createIntake({ receiver, signal, budget, consumer, isOpen, tally: this.flows.tally(node) });
    }
    return intakes;
  }

  /** The beginning of a pipeline, for a receiver or connector that feeds it. */
  private entryOf(pipeline: string, node: string): DeliveryConsumer {
    const { consume } = this.pipelines.get(pipeline)!;
    const flow = this.flows.from(node, pipeline);
    return (delivery) => {
      if (delivery.setback === undefined) flow.pass(delivery.batch);
      consume(delivery);
    };
  }

  /** Of each fan-out its own. */
  private createMemory(): PartialAcceptance<DeliveryConsumer> {
    const { clock, metrics } = this.settings;
    const description = "Records sent again that an exporter or pipeline had, and was not given a second time.";
    return new PartialAcceptance(clock, metrics.counter("sluice_fan_out_duplicates", { description }));
  }
}

/** Its id with the other names of its type. */
function otherSpellings({ id, factory }: PlannedExporter): string[] {
  const [written = ""] = id.split("/", 1);
  const names = [factory.type, ...(factory.aliases ?? [])].filter((name) => name !== written);
  return names.map((name) => `${name}${id.slice(written.length)}`);
}
