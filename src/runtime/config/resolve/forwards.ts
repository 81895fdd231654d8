import { didYouMean } from "#contract/schema";
import type { Signal } from "#otlp/signals";
import type { Findings } from "../text/findings.js";
import { type Node, nodeAt } from "../text/node.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import type { LinkedPipeline } from "./link-pipelines.js";
import type { ComponentDefinition, ComponentDefinitions } from "./spec.js";

const KEY = ["dead_letter", "forward_to"];

/** One `dead_letter.forward_to`, of an exporter or of the extension that has the defaults for all exporters. */
interface Forward {
  readonly from: ComponentDefinition;
  readonly to: ComponentDefinition;
  readonly node: Node;
}

/** The exporters that dead letters are forwarded to. They run even if no pipeline ends in them. */
export function linkForwards(
  definitions: ComponentDefinitions,
  used: ReadonlySet<ComponentDefinition>,
  findings: Findings,
): Forward[] {
  const exporters = [...definitions.exporters.values()];
  return [...used].filter(hasForwardKey).flatMap((from) => {
    const node = nodeAt(from.node, KEY);
    if (node?.kind !== "scalar" || typeof node.value !== "string" || node.value === "") return [];
    const name = node.value;
    const to = exporters.find(({ id }) => id === name);
    const path = [from.section, from.name, ...KEY];
    if (to !== undefined && to !== from) return [{ from, to, node }];
    const message =
      to === undefined
        ? `exporter "${name}" is not defined under exporters`
        : "expected another exporter: it cannot forward its dead letters to itself";
    const known = exporters.filter((each) => each !== from).map(({ id }) => id);
    findings.error("undefined_reference", node, path, message, to === undefined ? didYouMean(name, known) : {});
    return [];
  });
}

/** Checks that these exporters accept the signals of the dead letters forwarded to them. */
export function checkForwards(
  forwards: readonly Forward[],
  pipelines: readonly LinkedPipeline[],
  configOf: (exporter: ComponentDefinition) => unknown,
  findings: Findings,
): void {
  for (const { from, to, node } of forwards) {
    for (const signal of signalsOf(from, to, pipelines)) {
      const reason = refusalOf(to, signal, configOf(to), findings);
      if (reason === undefined) continue;
      const message = `exporter "${to.id}" cannot send dead letters of ${signal}: ${reason}`;
      findings.error("unsupported_signal", node, [from.section, from.name, ...KEY], message);
    }
  }
}

/** Only the extension `reliability` has the keys of exporters. */
function hasForwardKey({ kind, type }: ComponentDefinition): boolean {
  return kind === "exporter" || (kind === "extension" && type === "reliability");
}

function signalsOf(
  from: ComponentDefinition,
  to: ComponentDefinition,
  pipelines: readonly LinkedPipeline[],
): ReadonlySet<Signal> {
  const isMeant = (exporter: ComponentDefinition) => (from.kind === "exporter" ? exporter === from : exporter !== to);
  const ending = pipelines.filter(({ exporters }) =>
    exporters.some(({ definition }) => definition.kind === "exporter" && isMeant(definition)),
  );
  return new Set(ending.map(({ pipeline }) => pipeline.signal));
}

function refusalOf(to: ComponentDefinition, signal: Signal, config: unknown, findings: Findings): string | undefined {
  const { factory } = to;
  if (factory?.kind !== "exporter") return undefined;
  if (!factory.signals.includes(signal)) return `it supports only ${factory.signals.join(" and ")}`;
  if (factory.refusesSignal === undefined || config === undefined) return undefined;
  const ask = () => factory.refusesSignal!(config, signal);
  return callPlugin(ask, pluginCode("refusesSignal", to, factory, "error"), findings);
}
