import { withArticle } from "#contract/schema";
import { parseId, SECTIONS, type SectionName } from "../schema/component-id.js";
import type { Findings } from "../text/findings.js";
import { isNull, type MapNode, type Node, type Span, spanText } from "../text/node.js";
import { adviceOnType, noEffectReason } from "./other-types.js";
import { parseComponent } from "./parse-component.js";
import type { Registry } from "./registry.js";
import type { ComponentDefinition, ComponentDefinitions } from "./spec.js";

/** Reads all definitions of the five component sections, used or not. */
export function readDefinitions(root: MapNode, registry: Registry, findings: Findings): ComponentDefinitions {
  const read = (section: SectionName) => readSection(root, section, registry, findings);
  return {
    receivers: read("receivers"),
    processors: read("processors"),
    exporters: read("exporters"),
    connectors: read("connectors"),
    extensions: read("extensions"),
  };
}

function readSection(root: MapNode, section: SectionName, registry: Registry, findings: Findings) {
  const found = new Map<string, ComponentDefinition>();
  const entry = root.entries.get(section);
  if (entry === undefined || isNull(entry.value)) return found;
  if (entry.value.kind !== "map") {
    findings.error("wrong_type", entry.value, [section], `expected a map of ${section}, each under its id`);
    return found;
  }
  for (const [name, { key, value }] of entry.value.entries) {
    const definition = readDefinition(section, name, key, value, registry, findings);
    const earlier = definition && found.get(definition.id);
    if (definition === undefined) continue;
    if (earlier === undefined) found.set(definition.id, definition);
    else {
      const message = `${SECTIONS[section]} "${definition.id}" is defined twice; the first is at ${spanText(earlier.key)}`;
      findings.error("duplicate_id", key, [section, name], message);
    }
  }
  return found;
}

function readDefinition(
  section: SectionName,
  name: string,
  key: Span,
  node: Node,
  registry: Registry,
  findings: Findings,
): ComponentDefinition | undefined {
  const kind = SECTIONS[section];
  const id = parseId(name);
  if (id === undefined) {
    const message = `"${name}" is not a component id; expected type or type/name, such as otlp or otlp/second`;
    findings.error("invalid_id", key, [section, name], message);
    return undefined;
  }
  const factory = registry.get(kind, id.type);
  const noEffect = factory === undefined ? noEffectReason(kind, id.type) : undefined;
  return { ...id, kind, section, name, key, node, factory, noEffect };
}

/** A definition's parsed config; undefined when it has errors or no factory. Every problem is added to the findings. */
export function parseDefinition(
  definition: ComponentDefinition,
  used: boolean,
  registry: Registry,
  findings: Findings,
) {
  const path = [definition.section, definition.name];
  if (definition.noEffect !== undefined) {
    findings.warn("no_effect", definition.key, path, `"${definition.type}" does nothing here: ${definition.noEffect}`);
    return undefined;
  }
  if (definition.factory === undefined) {
    reportUnknownType(definition, used, registry, findings);
    return undefined;
  }
  return parseComponent(definition, definition.factory, registry, findings);
}

function reportUnknownType(
  definition: ComponentDefinition,
  used: boolean,
  registry: Registry,
  findings: Findings,
): void {
  if (hasPluginErrors(findings)) return; // the type may belong to the plugin that failed
  const { kind, type, section, name, key } = definition;
  const advice = adviceOnType(kind, type);
  const guess = advice === undefined ? registry.suggest(kind, type) : undefined;
  const others = registry.kindsOf(type).filter((other) => other !== kind);
  const elsewhere =
    others.length > 0 && advice === undefined ? `; there is ${withArticle(others[0]!)} of that name` : "";
  const help = advice ?? (guess && `did you mean "${guess}"?`);
  const suggestion = help === undefined ? {} : { suggestion: help };
  const message = `there is no ${kind} of type "${type}"${elsewhere}`;
  if (used) findings.error("unknown_component", key, [section, name], message, suggestion);
  else
    findings.warn(
      "unknown_component",
      key,
      [section, name],
      `${message}; it is not used, so it is left out`,
      suggestion,
    );
}

function hasPluginErrors({ problems }: Findings): boolean {
  return problems.some(({ severity, code }) => severity === "error" && code.startsWith("plugin_"));
}
