import type { Clock } from "../contract/clock.js";
import type {
  ComponentContext,
  ComponentKind,
  ConnectorFactory,
  Exporter,
  Intake,
  Processor,
  ProcessorContext,
  Receiver,
} from "../contract/component.js";
import { nowhereToKeep } from "../contract/dead-letter.js";
import type { Delivery } from "../contract/delivery.js";
import { exporterSettingsSchema } from "../contract/exporter-settings.js";
import type { Logger, Metrics } from "../contract/observability.js";
import type { Outlet, OutletFactory } from "../contract/outlet.js";
import type { GraphPlan, Planned, PlannedExporter, PlannedPipeline } from "../contract/plan.js";
import type { Watch } from "../contract/watch.js";
import { wordsOf } from "../contract/words-of.js";
import type { Signal } from "../telemetry/signal.js";
import { Budget } from "./budget.js";
import { checkMade } from "./check-made.js";
import { fanOut } from "./fanout.js";
import { guardExporter } from "./guard-exporter.js";
import { createIntake, type Inlet } from "./intake.js";
import { isolate } from "./isolate.js";
import { ReplaySteps } from "./replay-steps.js";
import { type RunningPipeline, runPipeline } from "./run.js";
import { warningOfUntreated } from "./untreated.js";

export interface GraphSettings {
  readonly plan: GraphPlan;
  /** Bytes that may be taken from clients and not yet answered. */
  readonly intakeLimit: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly outletFactory: OutletFactory;
  readonly isOpen: () => boolean;
  readonly watch?: Watch | undefined;
}

export interface RunningExporter {
  readonly spec: PlannedExporter;
  readonly exporter: Exporter;
  readonly outlet: Outlet;
}

/** All components of a config, wired up. Nothing has been started yet. */
export interface Graph {
  readonly receivers: readonly { readonly spec: Planned<unknown>; readonly receiver: Receiver }[];
  readonly exporters: readonly RunningExporter[];
  /** Pipelines and connectors in the order in which they are to be drained: none before one that feeds it. */
  readonly runs: readonly RunningPipeline[];
  readonly budget: Budget;
}

/** A component could not be made; says which one. */
export class ComponentError extends Error {
  override readonly name = "ComponentError";
  readonly component: Planned<unknown>;

  constructor(component: Planned<unknown>, cause: unknown) {
    super(wordsOf(cause), { cause });
    this.component = component;
  }
}

/** Wires a config's components up, from the exporters back to the receivers. */
export function buildGraph(settings: GraphSettings): Graph {
  return new GraphBuilder(settings).build();
}

class GraphBuilder {
  private readonly settings: GraphSettings;
  private readonly plan: GraphPlan;
  private readonly budget: Budget;
  private readonly exporters = new Map<string, RunningExporter>();
  private readonly pipelines = new Map<string, RunningPipeline>();
  /** By connector, then by "from>to". */
  private readonly connectors = new Map<string, RunningPipeline>();
  private readonly replaySteps: ReplaySteps;
  /** Built from the last to the first, so drained from the last built to the first. */
  private readonly built: RunningPipeline[] = [];

  constructor(settings: GraphSettings) {
    this.settings = settings;
    this.plan = settings.plan;
    this.budget = new Budget(settings.intakeLimit);
    this.replaySteps = new ReplaySteps(this.plan, (id, pipeline) => this.processorContext(id, pipeline));
  }

  build(): Graph {
    for (const spec of this.plan.exporters.values()) this.exporters.set(spec.id, this.createExporter(spec));
    for (const pipeline of [...this.plan.pipelines].reverse()) {
      const outlets = pipeline.exporters.flatMap((id) => this.outletsOf(id, pipeline));
      this.addRun(this.pipelines, pipeline.id, this.processorsOf(pipeline), fanOut(outlets));
    }
    const receivers = [...this.plan.receivers.values()].map((spec) => ({
      spec,
      receiver: making(spec, () => {
        const context = { ...this.contextOf(spec.id, "receiver"), intakes: this.intakesOf(spec.id) };
        return checkMade("receiver", spec.factory.create(spec.config, context));
      }),
    }));
    return { receivers, exporters: [...this.exporters.values()], runs: [...this.built].reverse(), budget: this.budget };
  }

  private createExporter(spec: PlannedExporter): RunningExporter {
    const context = this.contextOf(spec.id, "exporter");
    const made = making(spec, () => checkMade("exporter", spec.factory.create(spec.config, context)));
    const exporter = spec.plugin === undefined ? made : guardExporter(spec.id, made, this.settings.watch);
    const { clock, random, logger, metrics } = context;
    const { id, settings } = spec;
    const typeDefaults = exporterSettingsSchema.parse(spec.factory.defaults ?? {});
    const prepareReplay = this.replaySteps.prepare.bind(this.replaySteps);
    const pipelines = this.plan.pipelines.filter(({ exporters }) => exporters.includes(id));
    const signals = [...new Set(pipelines.map(({ signal }) => signal))];
    const own = { id, exporter, settings, typeDefaults, signals, prepareReplay };
    const outlet = this.settings.outletFactory({ ...own, clock, random, logger, metrics });
    return { spec, exporter, outlet };
  }

  private processorsOf(pipeline: PlannedPipeline): Processor[] {
    return pipeline.processors.map((id, place) => {
      const spec = this.plan.processors.get(id)!;
      const context = this.processorContext(id, pipeline);
      const create = () => spec.factory.create(spec.config, context);
      const onSetback = warningOfUntreated(this.plan, pipeline, place, context.logger);
      return this.isolated(spec, "processor", pipeline.signal, create, { onSetback });
    });
  }

  private processorContext(id: string, pipeline: PlannedPipeline): ProcessorContext {
    return { ...this.contextOf(id, "processor"), signal: pipeline.signal, pipeline: pipeline.id };
  }

  /** Where a pipeline's exporter id leads: to the exporter, or through a connector to the pipelines it feeds. */
  private outletsOf(id: string, from: PlannedPipeline): Inlet[] {
    const exporter = this.exporters.get(id);
    if (exporter !== undefined) return [(delivery) => exporter.outlet.accept(delivery, from.id)];
    const spec = this.plan.connectors.get(id)!;
    const fed = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(id));
    return [...new Set(fed.map((pipeline) => pipeline.signal))]
      .filter((to) => spec.factory.routes.some((route) => route.from === from.signal && route.to === to))
      .map((to) => {
        const { inlet } = this.connector(spec, from.signal, to, fed);
        return to === from.signal ? inlet : this.withoutSetbacks(inlet, from);
      });
  }

  /** What was taken out of a pipeline is not turned into another signal. It must have an exporter elsewhere. */
  private withoutSetbacks(inlet: Inlet, from: PlannedPipeline): Inlet {
    const isKeptElsewhere = this.reachesExporter(from);
    return (delivery) => {
      if (delivery.setback === undefined) inlet(delivery);
      else if (isKeptElsewhere || delivery.setback.onlyIfAlwaysSaved) delivery.accept();
      else delivery.refuse(nowhereToKeep(delivery.setback));
    };
  }

  private reachesExporter(pipeline: PlannedPipeline): boolean {
    return pipeline.exporters.some(
      (id) => this.exporters.has(id) || this.fedBy(id, pipeline.signal).some((p) => this.reachesExporter(p)),
    );
  }

  private fedBy(connector: string, signal: Signal): PlannedPipeline[] {
    return this.plan.pipelines.filter((p) => p.receivers.includes(connector) && p.signal === signal);
  }

  /** A pipeline is available while all of its exporters are, and one at least of the pipelines behind each connector. */
  private isAvailable(pipeline: PlannedPipeline): boolean {
    return pipeline.exporters.every((id) => {
      const exporter = this.exporters.get(id);
      if (exporter !== undefined) return exporter.outlet.isAvailable ?? true;
      const fed = this.fedBy(id, pipeline.signal);
      return fed.length === 0 || fed.some((next) => this.isAvailable(next));
    });
  }

  private connector(
    spec: Planned<ConnectorFactory>,
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
    const context = { ...this.contextOf(spec.id, "connector"), from, to, targets, isAvailable };
    const operator = this.isolated(spec, "connector", from, () => spec.factory.create(spec.config, context), {
      to,
      targets,
    });
    const inlets = new Map(targets.map((id) => [id, this.pipelines.get(id)!.inlet]));
    return this.addRun(this.connectors, key, [operator], route(inlets));
  }

  private addRun(
    into: Map<string, RunningPipeline>,
    id: string,
    processors: Processor[],
    outlet: Inlet,
  ): RunningPipeline {
    const run = runPipeline(processors, outlet, this.settings.logger.child({ pipeline: id }));
    into.set(id, run);
    this.built.push(run);
    return run;
  }

  private isolated(
    spec: Planned<unknown>,
    kind: ComponentKind,
    from: Signal,
    create: () => Processor,
    { to = from, targets, onSetback }: IsolationChoices = {},
  ): Processor {
    const { metrics, logger, clock } = this.contextOf(spec.id, kind);
    const attributes = { [kind]: spec.id, otel_signal: from };
    const counter = (name: string, description: string) => metrics.counter(name, { description }, attributes);
    return making(spec, () =>
      isolate(() => checkMade(kind, create()), {
        id: spec.id,
        logger,
        clock,
        signal: to,
        targets,
        watch: spec.plugin === undefined ? undefined : this.settings.watch,
        incoming: counter(`otelcol_${kind}_incoming_items`, "Records that went in."),
        outgoing: counter(`otelcol_${kind}_outgoing_items`, "Records that came out."),
        failures: counter(
          "sluice_component_failures",
          "Times the component failed on a batch, or as a whole and was started anew.",
        ),
        takesSetbacks: kind === "connector",
        onSetback,
      }),
    );
  }

  private intakesOf(receiver: string): Partial<Record<Signal, Intake>> {
    const intakes: Partial<Record<Signal, Intake>> = {};
    const reading = this.plan.pipelines.filter((pipeline) => pipeline.receivers.includes(receiver));
    for (const signal of new Set(reading.map((pipeline) => pipeline.signal))) {
      const inlets = reading.filter((p) => p.signal === signal).map((p) => this.pipelines.get(p.id)!.inlet);
      const { isOpen } = this.settings;
      intakes[signal] = createIntake({ receiver, signal, budget: this.budget, inlet: fanOut(inlets), isOpen });
    }
    return intakes;
  }

  private contextOf(id: string, kind: ComponentKind): ComponentContext {
    const { logger, metrics, clock, random } = this.settings;
    return { id, kind, logger: logger.child({ component: `${kind} ${id}` }), metrics, clock, random };
  }
}

/** What differs between processors and connectors. */
interface IsolationChoices {
  readonly to?: Signal;
  readonly targets?: readonly string[];
  readonly onSetback?: (() => void) | undefined;
}

/**
 * Sends a connector's delivery to the pipelines it chose, once each, or to all. None chosen is a deliberate drop. The
 * choice ends there: it says nothing to the next connector.
 */
function route(inlets: ReadonlyMap<string, Inlet>): Inlet {
  const toAll = fanOut([...inlets.values()]);
  return (delivery: Delivery) => {
    if (delivery.route === undefined) return toAll(delivery);
    const chosen = [...new Set(delivery.route)].flatMap((id) => inlets.get(id) ?? []);
    const parts = delivery.to(undefined).copies(chosen.length);
    parts.forEach((part, i) => {
      chosen[i]!(part);
    });
  };
}

function making<T>(spec: Planned<unknown>, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new ComponentError(spec, error);
  }
}
