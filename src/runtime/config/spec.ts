import type {
  ConnectorFactory,
  ExporterFactory,
  ExtensionFactory,
  ProcessorFactory,
  ReceiverFactory,
} from "../contract/component.js";
import type { ExporterSettings } from "../contract/exporter-settings.js";
import type { Signal } from "../telemetry/signal.js";
import type { Place } from "./problem.js";
import type { ServiceSettings } from "./service-schema.js";

/** A component as the config names it: its factory and its parsed config. */
export interface ComponentSpec<Factory> {
  /** `type[/name]` as written. */
  readonly id: string;
  readonly factory: Factory;
  /** What the factory's schema made of the config. */
  readonly config: unknown;
  /** Where a key of this component's config stands, or the component itself when the key is not written. */
  placeOf(path: readonly (string | number)[]): Place;
}

export interface ExporterSpec extends ComponentSpec<ExporterFactory> {
  /** The keys every exporter has. */
  readonly settings: ExporterSettings;
}

export interface PipelineSpec {
  /** `signal[/name]` as written. */
  readonly id: string;
  readonly signal: Signal;
  /** Ids of receivers, and of connectors that feed this pipeline. */
  readonly receivers: readonly string[];
  readonly processors: readonly string[];
  /** Ids of exporters, and of connectors that this pipeline feeds. */
  readonly exporters: readonly string[];
}

/**
 * A config with nothing left to find out: every reference resolved, every component's config parsed, no problems. Holds
 * only components that a pipeline (or service.extensions) uses.
 */
export interface ResolvedConfig {
  readonly receivers: ReadonlyMap<string, ComponentSpec<ReceiverFactory>>;
  readonly processors: ReadonlyMap<string, ComponentSpec<ProcessorFactory>>;
  readonly exporters: ReadonlyMap<string, ExporterSpec>;
  readonly connectors: ReadonlyMap<string, ComponentSpec<ConnectorFactory>>;
  /** In the order of service.extensions. */
  readonly extensions: ReadonlyMap<string, ComponentSpec<ExtensionFactory>>;
  /** In an order in which no pipeline comes before one that feeds it through a connector. */
  readonly pipelines: readonly PipelineSpec[];
  readonly service: ServiceSettings;
  /** Where a key of the config stands, such as ["service", "telemetry", "metrics"]; undefined when it is not written. */
  placeOf(path: readonly (string | number)[]): Place | undefined;
}
