import type {
  ConnectorFactory,
  ExporterFactory,
  ExtensionFactory,
  GraphPlan,
  PlannedComponent,
  PlannedExporter,
  PlannedPipeline,
  ProcessorFactory,
  ReceiverFactory,
} from "#contract";
import type { ServiceSettings } from "../schema/service-schema.js";
import type { Place } from "../text/problem.js";

/** A component as the config names it. */
export interface ComponentSpec<Factory> extends PlannedComponent<Factory> {
  /** Where a key of this component's config stands, or the component itself when the key is not written. */
  placeOf(path: readonly (string | number)[]): Place | undefined;
}

export interface ExporterSpec extends ComponentSpec<ExporterFactory>, PlannedExporter {}

export type PipelineSpec = PlannedPipeline;

/**
 * A config with nothing left to find out: every reference resolved, every component's config parsed, no problems. Holds
 * only components that a pipeline (or service.extensions) uses.
 */
export interface ResolvedConfig extends GraphPlan {
  readonly receivers: ReadonlyMap<string, ComponentSpec<ReceiverFactory>>;
  readonly processors: ReadonlyMap<string, ComponentSpec<ProcessorFactory>>;
  readonly exporters: ReadonlyMap<string, ExporterSpec>;
  readonly connectors: ReadonlyMap<string, ComponentSpec<ConnectorFactory>>;
  /** In the order of service.extensions, but none before one that it asks to authenticate. */
  readonly extensions: ReadonlyMap<string, ComponentSpec<ExtensionFactory>>;
  readonly service: ServiceSettings;
  /** A short hash of all that the config says, variables filled in. */
  readonly generation: string;
  /** Where a key of the config stands, such as ["service", "telemetry", "metrics"]; undefined when it is not written. */
  placeOf(path: readonly (string | number)[]): Place | undefined;
}
