import { z } from "zod";
import { collectGarbage } from "../../src/agent/cli/v8.js";
import {
  type Clock,
  defineConnector,
  defineExporter,
  defineProcessor,
  defineReceiver,
  type Exporter,
  type Intake,
  type Logger,
  type Processor,
  SIGNALS,
  type Signal,
  type Zone,
} from "../../src/plugin.js";
import { directOutlet } from "../../src/runtime/contract/calls/direct-outlet.js";
import { systemClock } from "../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import type { GraphPlan, PlannedComponent } from "../../src/runtime/contract/plan.js";
import { uncheckedExporterSettingsSchema } from "../../src/runtime/contract/schema/exporter-settings.js";
import { buildGraph, type Graph } from "../../src/runtime/pipeline/graph.js";
import type { GraphParts } from "../../src/runtime/pipeline/graph-builder.js";

/** A graph described by functions, for tests of the pipeline alone. */
export interface Sketch {
  readonly processors?: Record<string, () => Processor>;
  /** Of some of the processors. */
  readonly zones?: Record<string, Zone>;
  readonly connectors?: Record<string, (targets: readonly string[]) => Processor>;
  readonly exporters: Record<string, Exporter>;
  readonly pipelines: Record<
    string,
    { readonly receivers: string[]; readonly processors?: string[]; readonly exporters: string[] }
  >;
}

export interface SketchedGraph {
  readonly graph: Graph;
  /** By receiver id, then signal. */
  intake(receiver: string, signal?: Signal): Intake;
  /** Makes the parts of another description beside those that run. All components with the same name stay. */
  prepare(next: Sketch): GraphParts;
  close(): void;
}

export interface SketchOptions {
  readonly limit?: number;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Treats all components as those of plugins. */
  readonly plugins?: boolean;
}

export function sketch(description: Sketch, options: SketchOptions = {}): SketchedGraph {
  const intakes = new Map<string, Partial<Record<Signal, Intake>>>();
  const intakeState = { isOpen: true };
  const plan = planOf(description, intakes, options.plugins === true);
  const services = {
    maxRecordValues: Number.POSITIVE_INFINITY,
    logger: options.logger ?? silentLogger,
    metrics: noMetrics,
    clock: options.clock ?? systemClock,
    random: Math.random,
    collectGarbage,
    outletFactory: directOutlet,
    intakeState,
  };
  const graph = buildGraph({ ...services, plan, intakeLimit: options.limit ?? 1 << 20 });
  return {
    graph,
    intake: (receiver, signal = "logs") => intakes.get(receiver)![signal]!,
    prepare: (next) => {
      const nextPlan = planOf(next, intakes, options.plugins === true);
      return graph.prepare(nextPlan, services, { parts: graph.parts, keeps: () => true });
    },
    close: () => {
      intakeState.isOpen = false;
    },
  };
}

function planOf(
  description: Sketch,
  intakes: Map<string, Partial<Record<Signal, Intake>>>,
  arePlugins: boolean,
): GraphPlan {
  const schema = z.unknown();
  const summary = "test";
  const connectorIds = new Set(Object.keys(description.connectors ?? {}));
  const receiverIds = new Set(Object.values(description.pipelines).flatMap((p) => p.receivers));
  const receivers = [...receiverIds]
    .filter((id) => !connectorIds.has(id))
    .map((id) =>
      defineReceiver({
        type: id,
        summary,
        schema,
        signals: SIGNALS,
        create(_config, context) {
          intakes.set(id, context.intakes);
          return { start: async () => {}, stop: async () => {} };
        },
      }),
    );
  const zoneOf = (type: string) => (description.zones?.[type] ? { zone: description.zones[type] } : {});
  const processors = entries(description.processors).map(([type, make]) =>
    defineProcessor({ type, summary, schema, signals: SIGNALS, create: make, ...zoneOf(type) }),
  );
  const exporters = entries(description.exporters).map(([type, exporter]) =>
    defineExporter({ type, summary, schema, signals: SIGNALS, create: () => exporter }),
  );
  const connectors = entries(description.connectors).map(([type, make]) =>
    defineConnector({
      type,
      summary,
      schema,
      routes: SIGNALS.map((signal) => ({ from: signal, to: signal })),
      create: (_config, context) => make(context.targets),
    }),
  );
  const settings = uncheckedExporterSettingsSchema.parse({});
  return {
    receivers: byId(receivers),
    processors: byId(processors, arePlugins),
    exporters: new Map([...byId(exporters)].map(([id, planned]) => [id, { ...planned, settings }])),
    connectors: byId(connectors, arePlugins),
    pipelines: entries(description.pipelines).map(([id, pipeline]) => ({
      id,
      signal: id.split("/")[0] as Signal,
      receivers: pipeline.receivers,
      processors: pipeline.processors ?? [],
      exporters: pipeline.exporters,
    })),
  };
}

function entries<T>(record: Record<string, T> | undefined): [string, T][] {
  return Object.entries(record ?? {});
}

function byId<F extends { type: string }>(
  factories: readonly F[],
  arePlugins = false,
): Map<string, PlannedComponent<F>> {
  return new Map(factories.map((factory) => [factory.type, planned(factory, arePlugins)]));
}

function planned<F extends { type: string }>(factory: F, isPlugin: boolean): PlannedComponent<F> {
  const plugin = isPlugin ? { plugin: factory.type } : {};
  return { id: factory.type, path: `test.${factory.type}`, factory, config: {}, ...plugin };
}
