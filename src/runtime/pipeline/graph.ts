import type { Exporter, GraphPlan, PlannedExporter } from "#contract";
import { ComponentMaker } from "./component-maker.js";
import { describeGraph } from "./describe-graph.js";
import { GraphBuilder, type GraphParts, type TakenOver } from "./graph-builder.js";
import { Flows, IntakeBudget } from "./intake/intake.js";
import { type GraphServices, PartMaker, type PartSettings, type RunningReceiver } from "./part-maker.js";
import { pipelinesFedBy } from "./plan-paths.js";
import type { Retired, Wiring } from "./wiring.js";
import { EXPORTER_ELSEWHERE, runsHere } from "./worker-exchange.js";

interface GraphSettings extends GraphServices {
  readonly plan: GraphPlan;
  /** Limit for bytes that were accepted from clients and not yet answered. */
  readonly intakeLimit: number;
}

/** Creates all components of a config and connects them. The components are not started. */
export function buildGraph(settings: GraphSettings): Graph {
  return new Graph(settings);
}

/**
 * The running streams of a config. `prepare` makes the parts for another config beside those that run; `use` switches
 * to them in one synchronous step, so that every delivery takes either the old way or the new one.
 */
export class Graph {
  readonly budget: IntakeBudget;
  /** Traffic between the components. */
  readonly flows = new Flows();
  private current: GraphParts;
  /**
   * Set before anything is aborted: a connector that still runs must not pass refused deliveries to streams that have
   * ended.
   */
  private isAborting = false;
  private isDraining = false;
  /** Prepared and not used yet. It already leads to places that run, which would wait for it when they drain. */
  private unused: Wiring | undefined;

  constructor({ plan, intakeLimit, ...services }: GraphSettings) {
    this.budget = new IntakeBudget(intakeLimit);
    this.current = this.prepare(plan, services);
    this.current.wiring.use();
    this.unused = undefined;
  }

  get parts(): GraphParts {
    return this.current;
  }

  get receivers(): readonly RunningReceiver[] {
    return [...this.current.receivers.values()];
  }

  /** Creates an exporter that is to take the place of another one behind the same outlet. */
  createExporter(spec: PlannedExporter, services: GraphServices): Exporter {
    if (!runsHere(services.exchange, "exporter", spec)) return EXPORTER_ELSEWHERE;
    return new ComponentMaker(services).createExporter(spec);
  }

  /** Switches to prepared parts. Returns what they have replaced. If the graph is being stopped, the parts are too. */
  use(parts: GraphParts): Retired {
    this.unused = undefined;
    this.current = parts;
    const retired = parts.wiring.use();
    for (const [id, routes] of parts.routes) routes.follow(parts.plan, id);
    for (const [id, { intakes }] of parts.receivers) for (const intake of intakes) intake.follow(parts.plan, id);
    for (const [id, exporter] of parts.exporters) exporter.spec = parts.plan.exporters.get(id)!;
    this.flows.keepOnly(describeGraph(parts.plan));
    if (this.isAborting) this.abort();
    else if (this.isDraining) void parts.wiring.drain();
    return retired;
  }

  /** Removes prepared parts that are not going to be used. */
  discard(): void {
    this.unused?.discard();
    this.unused = undefined;
  }

  /** Ends the input of all receivers. Processors flush what they hold, journals and outlets drain. */
  async drain(): Promise<void> {
    this.isDraining = true;
    this.discard();
    await Promise.all(this.receivers.flatMap(({ intakes }) => intakes.map((intake) => intake.drain())));
    return this.current.wiring.drain();
  }

  /** Refuses everything that is still inside. */
  abort(): void {
    this.isAborting = true;
    this.discard();
    this.current.wiring.abort();
  }

  /** Makes the parts of a plan. New places are connected; nothing that runs is changed. */
  prepare(plan: GraphPlan, services: GraphServices, takenOver?: TakenOver): GraphParts {
    const isAborting = () => this.isAborting;
    const components = new ComponentMaker({ ...services, isAborting });
    const settings: PartSettings = {
      ...services,
      components,
      plan,
      budget: this.budget,
      flows: this.flows,
      isAborting,
      isAvailable: (pipeline) => this.isAvailable(pipeline),
      replay: {
        prepareReplay: (batch, pipeline, onlyCheck) => this.current.replaySteps.prepare(batch, pipeline, onlyCheck),
        hasPipeline: (pipeline) => this.current.replaySteps.hasPipeline(pipeline),
      },
    };
    const parts = new GraphBuilder(settings, new PartMaker(settings), takenOver).build();
    this.unused = parts.wiring;
    return parts;
  }

  /** A pipeline is available while all of its exporters are, and at least one pipeline behind each connector. */
  private isAvailable(id: string): boolean {
    const { plan, exporters } = this.current;
    const pipeline = plan.pipelines.find((each) => each.id === id);
    if (pipeline === undefined) return false;
    return pipeline.exporters.every((end) => {
      const exporter = exporters.get(end);
      if (exporter !== undefined) return exporter.outlet.isAvailable ?? true;
      const fed = pipelinesFedBy(plan, end, pipeline.signal);
      return fed.length === 0 || fed.some((next) => this.isAvailable(next.id));
    });
  }
}
