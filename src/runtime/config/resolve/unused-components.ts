import type { Findings } from "../text/findings.js";
import type { ComponentDefinition, ComponentDefinitions } from "./spec.js";

/** Warns about components that are defined but not used. Their config is checked anyway. */
export function warnOfUnused(
  definitions: ComponentDefinitions,
  used: ReadonlySet<ComponentDefinition>,
  findings: Findings,
): void {
  for (const section of Object.values(definitions)) {
    for (const definition of section.values()) if (isUnused(definition, used)) warn(definition, findings);
  }
}

/** Components without effect and unknown types are reported elsewhere. */
function isUnused(definition: ComponentDefinition, used: ReadonlySet<ComponentDefinition>): boolean {
  return !used.has(definition) && definition.factory !== undefined && definition.noEffect === undefined;
}

function warn({ kind, id, section, name, key }: ComponentDefinition, findings: Findings): void {
  const where = kind === "extension" ? "service.extensions does not name it" : "no pipeline names it";
  findings.warn("unused_component", key, [section, name], `${kind} "${id}" is not used: ${where}`);
}
