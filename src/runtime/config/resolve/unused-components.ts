import type { Findings } from "../text/findings.js";
import type { ComponentDefinition, ComponentDefinitions } from "./component-definitions.js";

/** Warns of components that are defined and run nowhere. Their config is checked all the same. */
export function warnOfUnused(
  definitions: ComponentDefinitions,
  used: ReadonlySet<ComponentDefinition>,
  findings: Findings,
): void {
  for (const section of Object.values(definitions)) {
    for (const definition of section.values()) if (isUnused(definition, used)) warn(definition, findings);
  }
}

/** Of what does nothing here, and of what there is no type, it is said already that it is left out. */
function isUnused(definition: ComponentDefinition, used: ReadonlySet<ComponentDefinition>): boolean {
  return !used.has(definition) && definition.factory !== undefined && definition.noEffect === undefined;
}

function warn({ kind, id, section, name, key }: ComponentDefinition, findings: Findings): void {
  const where = kind === "extension" ? "service.extensions does not name it" : "no pipeline names it";
  findings.warn("unused_component", key, [section, name], `${kind} "${id}" is not used: ${where}`);
}
