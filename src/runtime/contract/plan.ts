import type { Signal } from "#otlp/signals";
import type { ConnectorFactory, ExporterFactory, ProcessorFactory, ReceiverFactory } from "./component.js";
import type { ExporterSettings } from "./schema/exporter-settings.js";

/** A component to be made: its factory and its parsed config. */
export interface PlannedComponent<Factory> {
  /** `type[/name]` as written. */
  readonly id: string;
  /** Dotted path of the component in the config, such as receivers.otlp. */
  readonly path: string;
  readonly factory: Factory;
  /** What the factory's schema made of the config. */
  readonly config: unknown;
  /** The plugin it comes from, as the config names it; absent for the components that come with Sluice. */
  readonly plugin?: string;
}

export interface PlannedExporter extends PlannedComponent<ExporterFactory> {
  /** The keys every exporter has. */
  readonly settings: ExporterSettings;
}

export interface PlannedPipeline {
  /** `signal[/name]` as written. */
  readonly id: string;
  readonly signal: Signal;
  /** Ids of receivers, and of connectors that feed this pipeline. */
  readonly receivers: readonly string[];
  readonly processors: readonly string[];
  /** Ids of exporters, and of connectors that this pipeline feeds. */
  readonly exporters: readonly string[];
  /** Whether what comes is kept on disk before it is answered; `auto`, which is the default: if a processor holds it back. */
  readonly durableIntake?: DurableIntake;
  /** What becomes of data on which a processor throws; refused unless told. */
  readonly errorMode?: PipelineErrorMode;
}

/** `propagate` refuses the request; `dead_letter` keeps the record, or where that is not known the batch, as a dead letter. */
export type PipelineErrorMode = "propagate" | "dead_letter";

export type DurableIntake = "auto" | "on" | "off";

/** What a graph is built from: every reference resolves, every component is used. */
export interface GraphPlan {
  readonly receivers: ReadonlyMap<string, PlannedComponent<ReceiverFactory>>;
  readonly processors: ReadonlyMap<string, PlannedComponent<ProcessorFactory>>;
  readonly exporters: ReadonlyMap<string, PlannedExporter>;
  readonly connectors: ReadonlyMap<string, PlannedComponent<ConnectorFactory>>;
  /** In an order in which no pipeline comes before one that feeds it through a connector. */
  readonly pipelines: readonly PlannedPipeline[];
}
