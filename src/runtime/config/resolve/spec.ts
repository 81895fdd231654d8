import type { ComponentKind, GraphPlan, PlannedComponent, PlannedExporter, PlannedPipeline } from "#contract";
import type {
  BuiltInComponentFactory,
  BuiltInConnectorFactory,
  BuiltInExporterFactory,
  BuiltInExtensionFactory,
  BuiltInProcessorFactory,
  BuiltInReceiverFactory,
} from "#contract/built-in";
import type { SectionName } from "../schema/component-id.js";
import type { ServiceSettings } from "../schema/service-schema.js";
import type { Node, Span } from "../text/node.js";
import type { Place } from "../text/problem.js";

/** A component as the config names it. */
export interface ComponentSpec<Factory> extends PlannedComponent<Factory> {
  /** The config as written, after substitution, for comparing it with another one. It may contain secrets. */
  readonly written: unknown;
  /** Place of a key in this component's config; the place of the component if the key is absent. */
  placeOf(path: readonly (string | number)[]): Place | undefined;
}

export interface ExporterSpec extends ComponentSpec<BuiltInExporterFactory>, PlannedExporter {}

export type ExtensionSpec = ComponentSpec<BuiltInExtensionFactory>;

export type PipelineSpec = PlannedPipeline;

/**
 * A valid config: every reference is resolved, and every component's config is parsed. Contains only components that a
 * pipeline or service.extensions uses.
 */
export interface ResolvedConfig extends GraphPlan {
  readonly receivers: ReadonlyMap<string, ComponentSpec<BuiltInReceiverFactory>>;
  readonly processors: ReadonlyMap<string, ComponentSpec<BuiltInProcessorFactory>>;
  readonly exporters: ReadonlyMap<string, ExporterSpec>;
  readonly connectors: ReadonlyMap<string, ComponentSpec<BuiltInConnectorFactory>>;
  /** In the order of service.extensions, except that an extension comes after those that it asks to authenticate. */
  readonly extensions: ReadonlyMap<string, ExtensionSpec>;
  readonly service: ServiceSettings;
  /** A short hash of the config's values, after substitution. */
  readonly generation: string;
  /** Computes the slow part of the generation in another thread, so that the first record need not wait for it. */
  prepareGeneration(): Promise<void>;
  /** Hashes of the files that components read only once, by path, if the loader of the config noted them. */
  readonly fileVersions?: ReadonlyMap<string, string>;
  /** Place of a key, such as ["service", "telemetry", "metrics"]; undefined when it is absent. */
  placeOf(path: readonly (string | number)[]): Place | undefined;
}

/** A component as it is defined in a section. */
export interface ComponentDefinition {
  readonly id: string;
  readonly type: string;
  readonly kind: ComponentKind;
  readonly section: SectionName;
  /** The key as written; it may have spaces around the slash. */
  readonly name: string;
  readonly key: Span;
  readonly node: Node;
  /** Undefined when the type is unknown. */
  readonly factory: BuiltInComponentFactory | undefined;
  /** The reason why the type is accepted although it has no effect. */
  readonly noEffect: string | undefined;
}

export type ComponentDefinitions = Readonly<Record<SectionName, ReadonlyMap<string, ComponentDefinition>>>;
