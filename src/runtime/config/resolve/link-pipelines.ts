import { didYouMean, withArticle } from "#contract/schema";
import type { SectionName } from "../schema/component-id.js";
import type { Findings } from "../text/findings.js";
import { spanText } from "../text/node.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import { adviceOnSignal } from "./other-types.js";
import type { ComponentReference, PipelineDefinition, ServiceDefinition } from "./read-service.js";
import type { ComponentDefinition, ComponentDefinitions } from "./spec.js";

/** A reference and the component that it refers to. */
export interface Link {
  readonly reference: ComponentReference;
  readonly definition: ComponentDefinition;
}

/**
 * A pipeline with all references resolved. Includes components without effect (see `noEffectReason`), which are left
 * out when the pipeline runs.
 */
export interface LinkedPipeline {
  readonly pipeline: PipelineDefinition;
  readonly receivers: readonly Link[];
  readonly processors: readonly Link[];
  readonly exporters: readonly Link[];
}

export interface LinkOptions {
  readonly definitions: ComponentDefinitions;
  /** Allows pipelines without receivers: a program that embeds the runtime feeds them. */
  readonly allowNoReceivers: boolean;
  readonly findings: Findings;
}

/** Resolves every reference in every pipeline, and reports those that are not allowed there. */
export function linkPipelines(pipelines: readonly PipelineDefinition[], options: LinkOptions): LinkedPipeline[] {
  reportDuplicates(pipelines, options.findings);
  return pipelines.map((pipeline) => {
    const linked: LinkedPipeline = {
      pipeline,
      receivers: warnOnRepeats(link(pipeline.receivers, ["receivers", "connectors"], options), options.findings),
      processors: rejectRepeats(link(pipeline.processors, ["processors"], options), options.findings),
      exporters: withoutIdle(
        warnOnRepeats(link(pipeline.exporters, ["exporters", "connectors"], options), options.findings),
        pipeline,
        options.findings,
      ),
    };
    checkEnds(pipeline, options);
    checkRunningEnds(linked, options);
    checkSignals(linked, options.findings);
    checkLimiterFirst(linked, options.findings);
    return linked;
  });
}

/** The extensions listed in `service.extensions`, in order. */
export function linkExtensions(service: ServiceDefinition, options: LinkOptions): Link[] {
  return warnOnRepeats(link(service.extensions, ["extensions"], options), options.findings);
}

function link(
  references: readonly ComponentReference[],
  sections: readonly SectionName[],
  options: LinkOptions,
): Link[] {
  return references.flatMap((reference) => {
    const found = sections
      .map((section) => options.definitions[section].get(reference.id))
      .find((d) => d !== undefined);
    if (found !== undefined) return [{ reference, definition: found }];
    reportUndefined(reference, sections, options);
    return [];
  });
}

function reportUndefined(
  reference: ComponentReference,
  sections: readonly SectionName[],
  { definitions, findings }: LinkOptions,
) {
  const { id, span, path } = reference;
  const elsewhere = (Object.keys(definitions) as SectionName[]).find((section) => definitions[section].has(id));
  const wanted = sections.map((section) => section.slice(0, -1)).join(" or ");
  if (elsewhere !== undefined) {
    const kind = definitions[elsewhere].get(id)!.kind;
    findings.error("wrong_kind", span, path, `"${id}" is ${withArticle(kind)}; expected ${withArticle(wanted)}`);
    return;
  }
  if (sections.some((section) => findings.hasErrorAt([section]) && definitions[section].size === 0)) return;
  const known = sections.flatMap((section) => [...definitions[section].keys()]);
  const guess = didYouMean(id, known);
  const message = `${wanted} "${id}" is not defined under ${sections.join(" or ")}`;
  findings.error("undefined_reference", span, path, message, guess);
}

function checkEnds(pipeline: PipelineDefinition, { allowNoReceivers, findings }: LinkOptions): void {
  const isEmpty = (list: "receivers" | "exporters") =>
    pipeline[list].length === 0 && !findings.hasErrorAt([...pipeline.path, list]);
  if (isEmpty("receivers") && !allowNoReceivers) {
    const message = `pipeline "${pipeline.id}" has no receivers; it needs at least one receiver or connector`;
    findings.error("no_receivers", pipeline.key, [...pipeline.path, "receivers"], message);
  }
  if (isEmpty("exporters")) {
    const message = `pipeline "${pipeline.id}" has no exporters; it needs at least one exporter or connector`;
    findings.error("no_exporters", pipeline.key, [...pipeline.path, "exporters"], message);
  }
}

/**
 * Components without effect are left out of a pipeline. A pipeline without receivers gets no data, which is a warning;
 * a pipeline without exporters would lose its data, which is an error.
 */
function checkRunningEnds({ pipeline, receivers, exporters }: LinkedPipeline, { findings }: LinkOptions): void {
  const path = (list: string) => [...pipeline.path, list];
  if (doNothing(receivers)) {
    const message = `pipeline "${pipeline.id}" gets no data: its only receiver does nothing here`;
    findings.warn("no_receivers", pipeline.key, path("receivers"), message);
  }
  if (doNothing(exporters)) {
    const message = `pipeline "${pipeline.id}" leads nowhere: its only exporter does nothing here`;
    const suggestion = exporters[0]!.definition.noEffect!;
    findings.error("no_exporters", pipeline.key, path("exporters"), message, { suggestion });
  }
}

function doNothing(links: readonly Link[]): boolean {
  return links.length > 0 && links.every(({ definition }) => definition.noEffect !== undefined);
}

function checkSignals({ pipeline, receivers, processors, exporters }: LinkedPipeline, findings: Findings): void {
  for (const { reference, definition } of [...receivers, ...processors, ...exporters]) {
    const { factory } = definition;
    if (factory === undefined || factory.kind === "connector" || factory.kind === "extension") continue;
    if (factory.signals.includes(pipeline.signal)) continue;
    const message = `${definition.kind} "${definition.id}" does not support ${pipeline.signal}, only ${factory.signals.join(" and ")}`;
    const suggestion = adviceOnSignal(definition.kind, factory.type, pipeline.signal);
    findings.error("unsupported_signal", reference.span, reference.path, message, suggestion ? { suggestion } : {});
  }
}

/**
 * Leaves out exporters that take this signal in the Collector but send nothing of it, with a warning. The only exporter
 * of a pipeline stays, which is an error: its data would be lost.
 */
function withoutIdle(links: readonly Link[], { signal }: PipelineDefinition, findings: Findings): Link[] {
  const adviceOf = ({ definition: { kind, factory } }: Link) =>
    factory === undefined ? undefined : adviceOnSignal(kind, factory.type, signal);
  if (links.every((each) => adviceOf(each) !== undefined)) return [...links];
  return links.filter((each) => {
    const suggestion = adviceOf(each);
    if (suggestion === undefined) return true;
    const { id, span, path } = each.reference;
    const message = `exporter "${id}" does not send ${signal}, so it is left out of this pipeline`;
    findings.warn("unsupported_signal", span, path, message, { suggestion });
    return false;
  });
}

/** Checks that the configs of processors and exporters fit the signals of the pipelines that name them. */
export function checkConfiguredSignals(
  pipelines: readonly LinkedPipeline[],
  configOf: (definition: ComponentDefinition) => unknown,
  findings: Findings,
): void {
  for (const { pipeline, processors, exporters } of pipelines) {
    for (const { reference, definition } of [...processors, ...exporters]) {
      const { factory } = definition;
      const config = configOf(definition);
      if (factory?.kind !== "exporter" && factory?.kind !== "processor") continue;
      if (factory.refusesSignal === undefined || config === undefined) continue;
      const ask = () => factory.refusesSignal!(config, pipeline.signal);
      const reason = callPlugin(ask, pluginCode("refusesSignal", definition, factory, "error"), findings);
      if (reason === undefined) continue;
      const verb = factory.kind === "exporter" ? "send" : "process";
      const message = `${factory.kind} "${definition.id}" cannot ${verb} ${pipeline.signal}: ${reason}`;
      findings.error("unsupported_signal", reference.span, reference.path, message);
    }
  }
}

function checkLimiterFirst({ processors }: LinkedPipeline, findings: Findings): void {
  for (const { reference, definition } of processors.slice(1)) {
    if (definition.type !== "memory_limiter") continue;
    const message = `"${definition.id}" should come first, so that it refuses data before others process it`;
    findings.warn("limiter_not_first", reference.span, reference.path, message);
  }
}

function reportDuplicates(pipelines: readonly PipelineDefinition[], findings: Findings): void {
  const seen = new Map<string, PipelineDefinition>();
  for (const pipeline of pipelines) {
    const earlier = seen.get(pipeline.id);
    if (earlier === undefined) seen.set(pipeline.id, pipeline);
    else {
      const message = `pipeline "${pipeline.id}" is defined twice; the first is at ${spanText(earlier.key)}`;
      findings.error("duplicate_id", pipeline.key, pipeline.path, message);
    }
  }
}

/** A processor listed twice in a pipeline would run twice, which is surely a mistake. */
function rejectRepeats(links: readonly Link[], findings: Findings): Link[] {
  return withoutRepeats(links, ({ reference }) => {
    findings.error(
      "duplicate_processor",
      reference.span,
      reference.path,
      `processor "${reference.id}" is listed twice`,
    );
  });
}

function warnOnRepeats(links: readonly Link[], findings: Findings): Link[] {
  return withoutRepeats(links, ({ reference }) => {
    findings.warn(
      "repeated_reference",
      reference.span,
      reference.path,
      `"${reference.id}" is listed twice; once is enough`,
    );
  });
}

function withoutRepeats(links: readonly Link[], report: (link: Link) => void): Link[] {
  const seen = new Set<string>();
  return links.filter((each) => {
    const repeated = seen.has(each.reference.id);
    if (repeated) report(each);
    seen.add(each.reference.id);
    return !repeated;
  });
}
