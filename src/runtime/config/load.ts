import type { Registry } from "./resolve/registry.js";
import { resolveConfig } from "./resolve/resolve-config.js";
import type { ResolvedConfig } from "./resolve/spec.js";
import { maskedLines } from "./secrets/masked-lines.js";
import { Findings } from "./text/findings.js";
import { isNull, type MapNode } from "./text/node.js";
import type { Place, Problem } from "./text/problem.js";
import { type ConfigSource, readSources, readTextFile } from "./text/read-sources.js";

export type { ConfigSource } from "./text/read-sources.js";

/** Where a config comes from, and what it is held against. */
export interface LoadOptions {
  /** Merged in this order, later over earlier. */
  readonly sources: readonly ConfigSource[];
  /** `a.b.c=value`, over all sources. */
  readonly sets?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly readFile?: (path: string) => string;
  readonly registry: Registry;
  /** For embedders, who feed pipelines themselves. */
  readonly allowNoReceivers?: boolean;
  /** Adds the extensions that run without being named: for the agent, not for embedders. */
  readonly addDefaults?: boolean;
}

/** A config and all that is wrong with it. */
export interface LoadedConfig {
  /** Absent when there is any error among the problems. */
  readonly config?: ResolvedConfig;
  /** Errors and warnings, by place. */
  readonly problems: readonly Problem[];
  /** All sources merged, whether valid or not; for print-config. */
  readonly tree: MapNode | undefined;
  /** The component types it was held against, with those of its plugins. */
  readonly registry: Registry;
  /** The source line of a place, secrets taken out. */
  lineAt(place: Place): string | undefined;
}

/** Sources read and merged, components not yet looked at. */
export interface OpenedConfig {
  readonly root: MapNode | undefined;
  readonly findings: Findings;
  /** Holds the config against these component types. */
  resolve(registry: Registry): LoadedConfig;
}

/** The first half of loading: between it and the second, plugins can be loaded. */
export function openConfig(options: Omit<LoadOptions, "registry">): OpenedConfig {
  const findings = new Findings();
  const { allowNoReceivers = false, addDefaults = false } = options;
  const { root, texts } = readSources({
    sources: options.sources,
    sets: options.sets ?? [],
    env: options.env ?? {},
    readFile: options.readFile ?? readTextFile,
    findings,
  });
  if (options.sources.length === 0) findings.error("no_config", undefined, [], "no config was given");
  return {
    root,
    findings,
    resolve(registry) {
      const config = root && resolveConfig(root, { registry, allowNoReceivers, addDefaults, findings });
      const problems = sortProblems(findings.problems, [...texts.keys()]);
      const lineAt = maskedLines(root, texts, registry);
      return { ...(config && !findings.hasErrors ? { config } : {}), problems, tree: root, registry, lineAt };
    },
  };
}

/**
 * Loads a config that names no plugins, from its sources. Never throws for what is in them: all that is wrong comes back
 * as problems.
 */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const opened = openConfig(options);
  const plugins = opened.root?.entries.get("plugins");
  if (plugins !== undefined && !isNull(plugins.value)) {
    const message = "plugins cannot be loaded here: use loadConfigWithPlugins";
    opened.findings.error("plugins_not_loaded", plugins.key, ["plugins"], message);
  }
  return opened.resolve(options.registry);
}

/** Problems stand as one reads: by file in the order given, then by line. The same words at the same place are said once. */
function sortProblems(problems: readonly Problem[], files: readonly string[]): Problem[] {
  const rank = ({ place }: Problem) => (place === undefined ? -1 : files.indexOf(place.file));
  const seen = new Set<string>();
  return problems
    .filter((problem) => {
      const key = JSON.stringify([problem.code, problem.place, problem.path, problem.message]);
      return !seen.has(key) && seen.add(key);
    })
    .toSorted(
      (a, b) =>
        rank(a) - rank(b) ||
        (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
        (a.place?.column ?? 0) - (b.place?.column ?? 0),
    );
}
