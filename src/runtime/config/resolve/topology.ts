import { didYouMean } from "#contract/schema";
import type { Findings } from "../text/findings.js";
import { nodeAt } from "../text/node.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import type { Link, LinkedPipeline } from "./link-pipelines.js";
import type { ComponentDefinition } from "./spec.js";

/**
 * Checks how connectors join pipelines. Returns the pipelines in an order in which each comes after those that feed it.
 */
export function orderPipelines(
  pipelines: readonly LinkedPipeline[],
  connectors: Iterable<ComponentDefinition>,
  findings: Findings,
): LinkedPipeline[] {
  for (const connector of connectors) checkConnector(connector, pipelines, findings);
  const order: LinkedPipeline[] = [];
  const state = new Map<LinkedPipeline, "open" | "done">();
  const trail: PipelineHop[] = [];
  const visit = (pipeline: LinkedPipeline): void => {
    state.set(pipeline, "open");
    for (const exit of pipeline.exporters.filter(isConnector)) {
      for (const next of pipelinesFedBy(exit, pipelines)) {
        trail.push({ pipeline, exit });
        if (state.get(next) === "open") reportCycle(trail, next, findings);
        else if (state.get(next) === undefined) visit(next);
        trail.pop();
      }
    }
    state.set(pipeline, "done");
    order.unshift(pipeline);
  };
  // Goes backwards, so that independent pipelines keep the order of the config.
  for (const pipeline of pipelines.toReversed()) if (!state.has(pipeline)) visit(pipeline);
  return order;
}

interface PipelineHop {
  readonly pipeline: LinkedPipeline;
  readonly exit: Link;
}

interface ConnectorSide {
  readonly pipeline: LinkedPipeline;
  readonly link: Link;
}

function isConnector(link: Link): boolean {
  return link.definition.kind === "connector";
}

function pipelinesFedBy(exit: Link, pipelines: readonly LinkedPipeline[]): LinkedPipeline[] {
  return pipelines.filter((each) => each.receivers.some((link) => link.definition === exit.definition));
}

function reportCycle(trail: readonly PipelineHop[], back: LinkedPipeline, findings: Findings): void {
  const cycle = trail.slice(trail.findIndex((step) => step.pipeline === back));
  const names = cycle.map(({ pipeline, exit }) => `pipeline ${pipeline.pipeline.id} -> connector ${exit.reference.id}`);
  const { reference } = trail.at(-1)!.exit;
  const message = `data would circulate forever: ${names.join(" -> ")} -> pipeline ${back.pipeline.id}`;
  findings.error("connector_cycle", reference.span, reference.path, message);
}

function checkConnector(
  connector: ComponentDefinition,
  pipelines: readonly LinkedPipeline[],
  findings: Findings,
): void {
  const inputs = connectorSides(connector, pipelines, "exporters");
  const outputs = connectorSides(connector, pipelines, "receivers");
  if (inputs.length === 0 && outputs.length === 0) return;
  const only = inputs[0] ?? outputs[0]!;
  if (outputs.length === 0) {
    if (hasUnreadableList(pipelines, "receivers", findings)) return;
    const message = `connector "${connector.id}" leads nowhere: no pipeline has it among its receivers`;
    findings.error("connector_one_sided", only.link.reference.span, only.link.reference.path, message);
  } else if (inputs.length === 0) {
    if (hasUnreadableList(pipelines, "exporters", findings)) return;
    const message = `connector "${connector.id}" gets nothing: no pipeline has it among its exporters`;
    findings.error("connector_one_sided", only.link.reference.span, only.link.reference.path, message);
  } else checkRoutes(connector, inputs, outputs, findings);
}

/** True when a pipeline's list could not be read: it may name the connector, and the error is already reported. */
function hasUnreadableList(
  pipelines: readonly LinkedPipeline[],
  list: "receivers" | "exporters",
  findings: Findings,
): boolean {
  return pipelines.some(({ pipeline }) => pipeline[list].length === 0 && findings.hasErrorAt([...pipeline.path, list]));
}

/** Checks that the pipelines named in a connector's config are among those it feeds. */
export function checkNamedPipelines(
  connector: ComponentDefinition,
  config: unknown,
  pipelines: readonly LinkedPipeline[],
  findings: Findings,
): void {
  const { factory } = connector;
  const fed = connectorSides(connector, pipelines, "receivers").map((side) => side.pipeline.pipeline.id);
  if (factory?.kind !== "connector" || fed.length === 0) return;
  const defined = new Set(pipelines.map(({ pipeline }) => pipeline.id));
  const ask = () =>
    [...(factory.namedPipelines?.(config) ?? [])].map(({ pipeline, path }) => ({ pipeline, path: [...path] }));
  const named = callPlugin(ask, pluginCode("namedPipelines", connector, factory, "error"), findings);
  for (const { pipeline, path } of named ?? []) {
    if (fed.includes(pipeline)) continue;
    const problem = defined.has(pipeline)
      ? `pipeline "${pipeline}" does not have "${connector.id}" among its receivers`
      : `pipeline "${pipeline}" is not defined under service.pipelines`;
    const span = nodeAt(connector.node, path) ?? connector.key;
    const fullPath = [connector.section, connector.name, ...path];
    findings.error("undefined_reference", span, fullPath, problem, didYouMean(pipeline, fed));
  }
}

function connectorSides(
  connector: ComponentDefinition,
  pipelines: readonly LinkedPipeline[],
  list: "receivers" | "exporters",
): ConnectorSide[] {
  return pipelines.flatMap((pipeline) =>
    pipeline[list].filter((link) => link.definition === connector).map((link) => ({ pipeline, link })),
  );
}

/** Each pipeline on one side needs a pipeline on the other side whose signal the connector can convert from or to. */
function checkRoutes(
  connector: ComponentDefinition,
  inputs: readonly ConnectorSide[],
  outputs: readonly ConnectorSide[],
  findings: Findings,
): void {
  const { factory } = connector;
  if (factory?.kind !== "connector") return;
  const routes = factory.routes.map(({ from, to }) => `${from} to ${to}`);
  const connects = (a: ConnectorSide, b: ConnectorSide) =>
    factory.routes.some((r) => r.from === a.pipeline.pipeline.signal && r.to === b.pipeline.pipeline.signal);
  const stray = [
    ...inputs.filter((a) => !outputs.some((b) => connects(a, b))),
    ...outputs.filter((b) => !inputs.some((a) => connects(a, b))),
  ];
  for (const { pipeline, link } of stray) {
    const message = `connector "${connector.id}" has no other end for the ${pipeline.pipeline.signal} of pipeline "${pipeline.pipeline.id}"; it connects ${routes.join(", ")}`;
    findings.error("unsupported_signal", link.reference.span, link.reference.path, message);
  }
}
