import type { IgnoredKeys } from "#contract/built-in";
import type { Findings } from "../text/findings.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import type { ComponentDefinition, ComponentDefinitions } from "./spec.js";

/** Warns about keys that have no effect because of an extension's settings. */
export function warnOfIgnoredKeys(
  { extensions, exporters }: ComponentDefinitions,
  used: ReadonlySet<ComponentDefinition>,
  configOf: (definition: ComponentDefinition) => unknown,
  findings: Findings,
): void {
  for (const extension of extensions.values()) {
    if (!used.has(extension)) continue;
    const ignored = ignoredBy(extension, configOf(extension), findings);
    if (ignored === undefined) continue;
    warn(extension, ignored.own, ignored.reason, findings);
    for (const exporter of exporters.values()) warn(exporter, ignored.ofExporters, ignored.reason, findings);
  }
}

/** Undefined for an extension that ignores no keys, and for one whose function fails. */
function ignoredBy(extension: ComponentDefinition, config: unknown, findings: Findings): IgnoredKeys | undefined {
  const { factory } = extension;
  if (config === undefined || factory?.kind !== "extension" || factory.ignoredKeys === undefined) return undefined;
  return callPlugin(
    () => factory.ignoredKeys!(config),
    pluginCode("ignoredKeys", extension, factory, "warning"),
    findings,
  );
}

function warn(
  { section, name, node }: ComponentDefinition,
  keys: readonly string[],
  reason: string,
  findings: Findings,
): void {
  for (const key of keys) {
    const entry = node.kind === "map" ? node.entries.get(key) : undefined;
    if (entry) findings.warn("ignored_key", entry.key, [section, name, key], `"${key}" has no effect: ${reason}`);
  }
}
