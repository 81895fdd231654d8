import type {
  Authenticators,
  Clock,
  ComponentContext,
  ComponentKind,
  Exporter,
  ListenSockets,
  Logger,
  Metrics,
  PlannedComponent,
  PlannedExporter,
  PlannedPipeline,
  Processor,
} from "#contract";
import { checkComponent, GarbageCollection, guardExporter, type PluginTracker } from "#contract/border";
import type { BuiltInProcessorContext } from "#contract/built-in";
import { errorMessage } from "#contract/errors";
import type { ExtensionServices } from "#contract/services";
import type { Signal } from "#otlp/signals";
import type { Flow, Tally } from "./intake/intake.js";
import { isolate } from "./isolate.js";

/** Services of the agent for its components. */
export interface ComponentServices {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly pluginTracker?: PluginTracker | undefined;
  readonly authenticators?: Authenticators | undefined;
  readonly extensions?: ExtensionServices | undefined;
  /**
   * Runs a full garbage collection. Without it, deliveries dropped by a plugin are found only when Node.js needs
   * memory.
   */
  readonly collectGarbage?: (() => void) | undefined;
  /** True as soon as the whole graph is being aborted. */
  readonly isAborting?: (() => boolean) | undefined;
  /** How large a processor may make a record, in bytes. */
  readonly maxRecordSize?: number | undefined;
  /** The listening servers of the agent. */
  readonly sockets?: ListenSockets | undefined;
}

/** Settings that differ between processors and connectors. */
interface IsolationOverrides {
  readonly to?: Signal;
  readonly targets?: readonly string[];
  readonly onSetback?: (() => void) | undefined;
  /** True for a component that declares that it holds deliveries. */
  readonly holds?: boolean;
  readonly keepsFailures?: boolean;
  readonly flow?: Flow;
  readonly tally?: Tally;
}

/** A component could not be created; the message says which one. */
export class ComponentCreateError extends Error {
  override readonly name = "ComponentError";
  readonly component: PlannedComponent<unknown>;

  constructor(component: PlannedComponent<unknown>, cause: unknown) {
    super(errorMessage(cause), { cause });
    this.component = component;
  }
}

/** Creates components with the services that they need; components of plugins get guards. */
export class ComponentMaker {
  private readonly settings: ComponentServices;
  private readonly garbageCollection: GarbageCollection | undefined;

  constructor(settings: ComponentServices) {
    this.settings = settings;
    const { clock, collectGarbage } = settings;
    this.garbageCollection = collectGarbage && new GarbageCollection(clock, collectGarbage);
  }

  contextOf(id: string, kind: ComponentKind): ComponentContext {
    const { logger, metrics, clock, random, authenticators, extensions, maxRecordSize, sockets } = this.settings;
    const own = { id, kind, logger: logger.child({ component: `${kind} ${id}` }) };
    const context = { ...own, metrics, clock, random, maxRecordSize, sockets };
    return { ...context, ...(authenticators && { authenticators }), ...(extensions && { extensions }) };
  }

  processorContextOf(id: string, { id: pipeline, signal }: PlannedPipeline): BuiltInProcessorContext {
    return { ...this.contextOf(id, "processor"), signal, pipeline };
  }

  /** Creates a component. An error is rethrown with the component's name. */
  create<T>(spec: PlannedComponent<unknown>, create: () => T): T {
    try {
      return create();
    } catch (error) {
      throw new ComponentCreateError(spec, error);
    }
  }

  createExporter(spec: PlannedExporter): Exporter {
    const context = this.contextOf(spec.id, "exporter");
    const created = this.create(spec, () => checkComponent("exporter", spec.factory.create(spec.config, context)));
    const { logger, clock } = context;
    const { pluginTracker } = this.settings;
    return spec.plugin === undefined ? created : guardExporter(spec.id, created, { logger, clock, pluginTracker });
  }

  /** Wraps a processor or connector so that its failures stay isolated, and are counted. */
  isolate(
    spec: PlannedComponent<unknown>,
    kind: ComponentKind,
    from: Signal,
    create: () => Processor,
    { to = from, targets, onSetback, holds = false, keepsFailures = false, flow, tally }: IsolationOverrides = {},
  ): Processor {
    const { metrics, logger, clock } = this.contextOf(spec.id, kind);
    const attributes = { [kind]: spec.id, otel_signal: from };
    const counter = (name: string, description: string) => metrics.counter(name, { description }, attributes);
    return this.create(spec, () =>
      isolate(() => checkComponent(kind, create()), {
        id: spec.id,
        logger,
        clock,
        signal: to,
        targets,
        plugin:
          spec.plugin === undefined ? undefined : { garbageCollection: holds ? undefined : this.garbageCollection },
        pluginTracker: spec.plugin === undefined ? undefined : this.settings.pluginTracker,
        incoming: counter(`otelcol_${kind}_incoming_items`, "Records that went in."),
        outgoing: counter(`otelcol_${kind}_outgoing_items`, "Records that came out."),
        failures: counter(
          "sluice_component_failures",
          "Times the component failed on a batch, or failed as a whole and was restarted.",
        ),
        takesSetbacks: kind === "connector",
        keepsFailures,
        isAborting: this.settings.isAborting,
        maxRecordSize: this.settings.maxRecordSize,
        onSetback,
        flow,
        tally,
      }),
    );
  }
}
