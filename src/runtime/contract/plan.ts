import type { Signal } from "#otlp/signals";
import type {
  BuiltInConnectorFactory,
  BuiltInExporterFactory,
  BuiltInProcessorFactory,
  BuiltInReceiverFactory,
} from "./built-in/component.js";
import type { ChooseWorkerMode, WorkerMode } from "./component.js";
import type { DurableIntake } from "./operators/outlet.js";
import type { ExporterSettings } from "./schema/exporter-settings.js";
import type { ReceiverTypes } from "./services/extension-services.js";

/** A component to be created: its factory and its parsed config. */
export interface PlannedComponent<Factory> {
  /** `type[/name]` as written. */
  readonly id: string;
  /** Dotted path of the component in the config, such as receivers.otlp. */
  readonly path: string;
  readonly factory: Factory;
  /** The config as parsed by the factory's schema. */
  readonly config: unknown;
  /** The plugin it comes from, as named in the config; absent for built-in components. */
  readonly plugin?: string;
}

export interface PlannedExporter extends PlannedComponent<BuiltInExporterFactory> {
  /** The values of the keys that every exporter has. */
  readonly settings: ExporterSettings;
}

export interface PlannedPipeline {
  /** `signal[/name]` as written. */
  readonly id: string;
  /** The id by which connectors choose it, if it is the first half of a pipeline that was cut in two. */
  readonly chosenAs?: string;
  readonly signal: Signal;
  /** Ids of receivers, and of connectors that feed this pipeline. */
  readonly receivers: readonly string[];
  readonly processors: readonly string[];
  /** Ids of exporters, and of connectors that this pipeline feeds. */
  readonly exporters: readonly string[];
  /** Whether data is stored on disk before it is answered. `auto`, the default: only if a processor holds data back. */
  readonly durableIntake?: DurableIntake;
  /** Says what happens to data on which a processor throws; by default it is refused. */
  readonly errorMode?: PipelineErrorMode;
}

/**
 * `propagate` refuses the request. `dead_letter` keeps the record, or the batch if the record is not known, as a dead
 * letter.
 */
export type PipelineErrorMode = "propagate" | "dead_letter";

/** The plan from which a graph is built. Every reference is resolved, and every component is used. */
export interface GraphPlan {
  readonly receivers: ReadonlyMap<string, PlannedComponent<BuiltInReceiverFactory>>;
  readonly processors: ReadonlyMap<string, PlannedComponent<BuiltInProcessorFactory>>;
  readonly exporters: ReadonlyMap<string, PlannedExporter>;
  readonly connectors: ReadonlyMap<string, PlannedComponent<BuiltInConnectorFactory>>;
  /** Sorted so that a pipeline comes after those that feed it through a connector. */
  readonly pipelines: readonly PlannedPipeline[];
  /** The types of receivers that a receiver may start. */
  readonly receiverTypes?: ReceiverTypes<BuiltInReceiverFactory>;
}

/** How a component of this type and config runs in an agent with several workers. */
export function workerMode<Config>(
  { workers = "each" }: { readonly workers?: WorkerMode | ChooseWorkerMode<Config> },
  config: Config,
): WorkerMode {
  return typeof workers === "function" ? workers(config) : workers;
}
