import type { ComponentKind } from "#contract";
import type { BuiltInComponentFactory, BuiltInExtensionFactory } from "#contract/built-in";
import { alternatives, type ConfigPath, didYouMean } from "#contract/schema";
import { SECTIONS } from "../schema/component-id.js";
import type { ServiceSettings } from "../schema/service-schema.js";
import type { Findings } from "../text/findings.js";
import { comparable, locatePath, type MapNode, mapNode, withCorrectedKeys } from "../text/node.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import { authenticatorsFirst, checkAuthenticators } from "./check-authenticators.js";
import {
  type ConfiguredListener,
  checkListeners,
  componentListeners,
  metricListeners,
  OWN_METRICS,
  warnOfOpenListeners,
} from "./check-listeners.js";
import { checkIntervals, warnOfIgnoredKeys } from "./check-settings.js";
import { parseDefinition, readDefinitions } from "./component-definitions.js";
import { checkForwards, linkForwards } from "./forwards.js";
import { checkHolding } from "./holding-processors.js";
import {
  checkConfiguredSignals,
  type Link,
  type LinkedPipeline,
  type LinkOptions,
  linkExtensions,
  linkPipelines,
} from "./link-pipelines.js";
import { withOlderConnectors } from "./older-connectors.js";
import { type ParsedComponent, parseNode, receiverTypes } from "./parse-component.js";
import { readService } from "./read-service.js";
import type { FactoryOf, Registry } from "./registry.js";
import type {
  ComponentDefinition,
  ComponentDefinitions,
  ComponentSpec,
  ExporterSpec,
  PipelineSpec,
  ResolvedConfig,
} from "./spec.js";
import { checkNamedPipelines, orderPipelines } from "./topology.js";
import { checkZoneOrder } from "./zone-order.js";

interface ResolveOptions {
  readonly registry: Registry;
  readonly allowNoReceivers: boolean;
  readonly addDefaults: boolean;
  readonly findings: Findings;
  /** Hashes the config; the text is its generation. */
  readonly hash: (root: MapNode) => { readonly text: string; prepare(): Promise<void> };
}

/**
 * Turns a merged tree into the config that the agent runs. Returns undefined when there are errors; the findings have
 * all of them.
 */
export function resolveConfig(written: MapNode, options: ResolveOptions): ResolvedConfig | undefined {
  const { registry, findings } = options;
  reportUnknownSections(written, findings);
  const root = withCorrectedKeys(written, SECTION_NAMES);
  const definitions = readDefinitions(root, registry, findings);
  const service = readService(root, findings);
  const linkOptions: LinkOptions = { definitions, allowNoReceivers: options.allowNoReceivers, findings };
  const pipelines = linkPipelines(service.pipelines, linkOptions);
  const extensions = linkExtensions(service, linkOptions);
  const unlisted = options.addDefaults ? unlistedDefaultExtensions(definitions, extensions) : [];
  const used = new Set([...pipelines.flatMap(linksOf).map(definitionOf), ...extensions.map(definitionOf), ...unlisted]);
  const forwards = linkForwards(definitions, used, findings);
  for (const { to } of forwards) used.add(to);
  const parsed = parseDefinitions(definitions, used, registry, findings);
  for (const connector of definitions.connectors.values()) {
    const component = used.has(connector) ? parsed.get(connector) : undefined;
    if (component !== undefined) checkNamedPipelines(connector, component.config, pipelines, findings);
  }
  const ordered = orderPipelines(pipelines, definitions.connectors.values(), findings);
  checkZoneOrder(ordered, service.settings?.strict_order ?? false, findings);
  const build = new SpecBuilder(root, used, parsed, registry);
  const enabled = build.specs("extension", [...unlisted, ...extensions.map(definitionOf)]);
  const unwritten = options.addDefaults ? defaultExtensions(root, registry, enabled, findings) : [];
  const intakeLimit = service.settings?.intake.max_bytes ?? Number.POSITIVE_INFINITY;
  const keepsJournals = [...enabled, ...unwritten].some(([, { factory, config }]) => factory.keepsJournals?.(config));
  const configOf = (definition: ComponentDefinition) => parsed.get(definition)?.config;
  checkHolding(pipelines, configOf, { intakeLimit, keepsJournals, findings });
  checkConfiguredSignals(pipelines, configOf, findings);
  warnOfIgnoredKeys(definitions, used, configOf, findings);
  checkIntervals(definitions, parsed, used, findings);
  checkForwards(forwards, pipelines, configOf, findings);
  const asked = checkAuthenticators({ root, definitions, used, configOf, findings });
  // After an error, a component may be unused only because its reference is wrong.
  if (!findings.hasErrors) warnOfUnused(definitions, used, findings);
  const listeners = [
    ...(service.settings === undefined ? [] : metricListeners(service.settings, options.addDefaults)),
    ...unwritten.flatMap(([id, { factory, config }]) =>
      componentListeners(`extension "${id}"`, undefined, factory.listensAt?.(config) ?? []),
    ),
    ...usedListeners(used, parsed, findings),
  ];
  const displaced = checkListeners(listeners, root, findings);
  warnOfOpenListeners(listeners, root, findings);
  if (findings.hasErrors || service.settings === undefined) return undefined;
  const graph = withOlderConnectors(
    {
      receivers: build.specs("receiver", definitions.receivers.values()),
      processors: build.specs("processor", definitions.processors.values()),
      exporters: build.exporters(definitions.exporters.values()),
      connectors: build.specs("connector", definitions.connectors.values()),
      pipelines: ordered.map(pipelineSpec),
    },
    definitions,
    findings,
  );
  if (findings.hasErrors) return undefined;
  const running = unwritten.filter(([id]) => !displaced.has(`extension "${id}"`));
  let hash: ReturnType<ResolveOptions["hash"]> | undefined; // made on demand, because it takes some milliseconds
  const madeHash = () => (hash ??= options.hash(root));

  return {
    ...graph,
    extensions: authenticatorsFirst([...running, ...enabled], asked),
    receiverTypes: receiverTypes(registry, root),
    service: displaced.has(OWN_METRICS) ? withoutOwnMetrics(service.settings) : service.settings,
    get generation() {
      return madeHash().text;
    },
    prepareGeneration: () => madeHash().prepare(),
    placeOf(path: ConfigPath) {
      const found = locatePath(root, path);
      return found.exact ? found.place : undefined;
    },
  };
}

function withoutOwnMetrics(settings: ServiceSettings): ServiceSettings {
  const { telemetry } = settings;
  return { ...settings, telemetry: { ...telemetry, metrics: { ...telemetry.metrics, readers: [] } } };
}

/**
 * Extensions that are configured but not listed in service.extensions, and run by default: one per type, unless one of
 * that type is listed.
 */
function unlistedDefaultExtensions(definitions: ComponentDefinitions, named: readonly Link[]): ComponentDefinition[] {
  const types = new Set(named.flatMap(({ definition: { factory } }) => typesOf(factory)));
  return [...definitions.extensions.values()].filter(({ factory }) => {
    if (factory?.kind !== "extension" || !factory.onByDefault || types.has(factory.type)) return false;
    types.add(factory.type);
    return true;
  });
}

/** Extensions that run by default and are neither listed nor configured, with their default config. */
function defaultExtensions(
  root: MapNode,
  registry: Registry,
  enabled: ReadonlyMap<string, ComponentSpec<BuiltInExtensionFactory>>,
  findings: Findings,
): [string, ComponentSpec<BuiltInExtensionFactory>][] {
  const types = new Set([...enabled.values()].flatMap((spec) => typesOf(spec.factory)));
  return registry
    .all("extension")
    .filter((factory) => factory.onByDefault && !types.has(factory.type))
    .flatMap((factory) => {
      const { type, schema } = factory;
      const parsed = parseNode(mapNode(root, new Map()), schema, ["extensions", type], findings, { key: root });
      if (parsed === undefined) return [];
      const spec = { id: type, path: `extensions.${type}`, factory, config: parsed.value, placeOf: () => undefined };
      return [[type, { ...spec, written: null }]];
    });
}

/** The type of a component, and the type that it replaces. */
function typesOf(factory: BuiltInComponentFactory | undefined): string[] {
  if (factory === undefined) return [];
  return factory.kind === "extension" && factory.replaces !== undefined
    ? [factory.type, factory.replaces]
    : [factory.type];
}

class SpecBuilder {
  private readonly root: MapNode;
  private readonly used: ReadonlySet<ComponentDefinition>;
  private readonly parsed: ReadonlyMap<ComponentDefinition, ParsedComponent>;
  private readonly registry: Registry;

  constructor(
    root: MapNode,
    used: ReadonlySet<ComponentDefinition>,
    parsed: ReadonlyMap<ComponentDefinition, ParsedComponent>,
    registry: Registry,
  ) {
    this.root = root;
    this.used = used;
    this.parsed = parsed;
    this.registry = registry;
  }

  specs<Kind extends ComponentKind>(_kind: Kind, definitions: Iterable<ComponentDefinition>) {
    const found = new Map<string, ComponentSpec<FactoryOf<Kind>>>();
    for (const definition of definitions) {
      const parsed = this.used.has(definition) ? this.parsed.get(definition) : undefined;
      if (parsed === undefined) continue;
      found.set(definition.id, { ...this.spec(definition, parsed), factory: definition.factory as FactoryOf<Kind> });
    }
    return found;
  }

  exporters(definitions: Iterable<ComponentDefinition>): Map<string, ExporterSpec> {
    const found = new Map<string, ExporterSpec>();
    const all = [...definitions];
    for (const [id, spec] of this.specs("exporter", all)) {
      const { settings } = this.parsed.get(all.find((definition) => definition.id === id)!)!;
      found.set(id, { ...spec, settings: settings! });
    }
    return found;
  }

  private spec(definition: ComponentDefinition, { config }: ParsedComponent) {
    const base = [definition.section, definition.name];
    const plugin = definition.factory && this.registry.originOf(definition.factory);
    return {
      id: definition.id,
      path: base.join("."),
      config,
      written: comparable(definition.node),
      ...(plugin === undefined ? {} : { plugin }),
      placeOf: (path: ConfigPath) => locatePath(this.root, [...base, ...path]).place,
    };
  }
}

function parseDefinitions(
  definitions: ComponentDefinitions,
  used: ReadonlySet<ComponentDefinition>,
  registry: Registry,
  findings: Findings,
) {
  const parsed = new Map<ComponentDefinition, ParsedComponent>();
  for (const section of Object.values(definitions)) {
    for (const definition of section.values()) {
      const result = parseDefinition(definition, used.has(definition), registry, findings);
      if (result !== undefined) parsed.set(definition, result);
    }
  }
  return parsed;
}

/** The addresses that the components of a config listen on, in the order of the config. */
function usedListeners(
  used: ReadonlySet<ComponentDefinition>,
  parsed: ReadonlyMap<ComponentDefinition, ParsedComponent>,
  findings: Findings,
): ConfiguredListener[] {
  return [...parsed].flatMap(([definition, { config }]) => {
    const { factory, kind, id, section, name } = definition;
    if (!used.has(definition) || factory?.listensAt === undefined) return [];
    const ask = () => factory.listensAt!(config);
    const listeners = callPlugin(ask, pluginCode("listensAt", definition, factory, "error"), findings) ?? [];
    return componentListeners(`${kind} "${id}"`, [section, name], listeners);
  });
}

const SECTION_NAMES = [...Object.keys(SECTIONS), "plugins", "service"];

function reportUnknownSections(root: MapNode, findings: Findings): void {
  const known = SECTION_NAMES;
  for (const [name, { key }] of root.entries) {
    if (known.includes(name)) continue;
    const message = `unknown section "${name}"; expected ${alternatives(known)}`;
    findings.error("unknown_key", key, [name], message, didYouMean(name, known));
  }
}

function definitionOf(link: Link): ComponentDefinition {
  return link.definition;
}

function linksOf({ receivers, processors, exporters }: LinkedPipeline): Link[] {
  return [...receivers, ...processors, ...exporters];
}

function pipelineSpec({ pipeline, receivers, processors, exporters }: LinkedPipeline): PipelineSpec {
  const ids = (links: readonly Link[]) =>
    links.filter((link) => link.definition.noEffect === undefined).map((link) => link.definition.id);
  return {
    id: pipeline.id,
    signal: pipeline.signal,
    receivers: ids(receivers),
    processors: ids(processors),
    exporters: ids(exporters),
    durableIntake: pipeline.durableIntake,
    errorMode: pipeline.errorMode,
  };
}

/** Warns about components that are defined but not used. Their config is checked anyway. */
function warnOfUnused(
  definitions: ComponentDefinitions,
  used: ReadonlySet<ComponentDefinition>,
  findings: Findings,
): void {
  for (const section of Object.values(definitions)) {
    for (const definition of section.values()) if (isUnused(definition, used)) warnOfUnusedOne(definition, findings);
  }
}

/** Components without effect and unknown types are reported elsewhere. */
function isUnused(definition: ComponentDefinition, used: ReadonlySet<ComponentDefinition>): boolean {
  return !used.has(definition) && definition.factory !== undefined && definition.noEffect === undefined;
}

function warnOfUnusedOne({ kind, id, section, name, key }: ComponentDefinition, findings: Findings): void {
  const where = kind === "extension" ? "service.extensions does not name it" : "no pipeline names it";
  findings.warn("unused_component", key, [section, name], `${kind} "${id}" is not used: ${where}`);
}
