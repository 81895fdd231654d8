import type { IgnoredKeys } from "#contract/built-in";
import { completeSettings, durationText, type ExporterSettings } from "#contract/schema";
import type { Findings } from "../text/findings.js";
import { nodeAt } from "../text/node.js";
import { callPlugin, pluginCode } from "./call-plugin.js";
import type { ParsedComponent } from "./parse-component.js";
import type { ComponentDefinition, ComponentDefinitions } from "./spec.js";

const SECTION = "retry_on_failure";
const KEYS = ["initial_interval", "max_interval"] as const;

/**
 * Reports an `initial_interval` above `max_interval`, after merging an exporter's keys with the defaults of the
 * extension `reliability`. With such values every wait would be `max_interval`, and `initial_interval` would have no
 * effect.
 */
export function checkIntervals(
  { extensions, exporters }: ComponentDefinitions,
  parsed: ReadonlyMap<ComponentDefinition, ParsedComponent>,
  used: ReadonlySet<ComponentDefinition>,
  findings: Findings,
): void {
  const extension = [...extensions.values()].find((each) => used.has(each) && each.type === "reliability");
  const defaults = extension && (parsed.get(extension)?.config as ExporterSettings | undefined);
  if (extension !== undefined) check(extension, [defaults], findings);
  for (const exporter of exporters.values())
    if (used.has(exporter)) check(exporter, [parsed.get(exporter)?.settings, defaults], findings);
}

/**
 * Reports nothing if this component sets neither key: the problem then belongs to another one. If only `max_interval`
 * is set, it limits the default of `initial_interval`.
 */
function check(
  { section, name, node }: ComponentDefinition,
  layers: readonly (ExporterSettings | undefined)[],
  findings: Findings,
): void {
  const { initial_interval, max_interval } = completeSettings(...layers).retry_on_failure;
  const key = KEYS.find((each) => nodeAt(node, [SECTION, each]) !== undefined);
  const hasInitial = layers.some((layer) => layer?.retry_on_failure?.initial_interval !== undefined);
  if (key === undefined || !hasInitial || initial_interval <= max_interval) return;
  const path = [section, name, SECTION, key];
  const message = `initial_interval (${durationText(initial_interval)}) is above max_interval (${durationText(max_interval)})`;
  findings.error("wrong_value", nodeAt(node, [SECTION, key]), path, message, {
    suggestion: "raise max_interval, or lower initial_interval",
  });
}

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
