import type { Registry } from "./resolve/registry.js";
import { resolveConfig } from "./resolve/resolve-config.js";
import type { ResolvedConfig } from "./resolve/spec.js";
import { ConfigHash } from "./secrets/config-hash.js";
import { maskedLines } from "./secrets/masked-lines.js";
import { Findings } from "./text/findings.js";
import { isNull, type MapNode } from "./text/node.js";
import type { Place, Problem } from "./text/problem.js";
import { type ConfigSource, readSources, readTextFile } from "./text/read-sources.js";

export type { ConfigSource } from "./text/read-sources.js";

/** The sources of a config, and the component types that it may use. */
export interface LoadOptions {
  /** Merged in this order: later sources override earlier ones. */
  readonly sources: readonly ConfigSource[];
  /** `a.b.c=value`; these override all sources. */
  readonly sets?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly readFile?: (path: string) => string;
  readonly registry: Registry;
  /** Allows pipelines without receivers: programs that embed Sluice feed them directly. */
  readonly allowNoReceivers?: boolean;
  /** Adds the extensions that run without being named. Agents set this, embedded instances do not. */
  readonly addDefaults?: boolean;
}

/** A config and its problems. */
export interface LoadedConfig {
  /** Absent when the problems include an error. */
  readonly config?: ResolvedConfig;
  /** Errors and warnings, sorted by place. */
  readonly problems: readonly Problem[];
  /** All sources merged, whether valid or not; for print-config. */
  readonly tree: MapNode | undefined;
  /** The component types that the config was checked against, including those of its plugins. */
  readonly registry: Registry;
  /** The source line at a place, with secrets masked. */
  lineAt(place: Place): string | undefined;
}

/** A config whose sources are read and merged, but whose components are not checked yet. */
interface OpenedConfig {
  readonly root: MapNode | undefined;
  readonly findings: Findings;
  /** Checks the config against these component types. */
  resolve(registry: Registry): LoadedConfig;
}

/** The first half of loading. Plugins can be loaded between it and `resolve`. */
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
      const hash = (merged: MapNode) => new ConfigHash(merged, registry);
      const config = root && resolveConfig(root, { registry, allowNoReceivers, addDefaults, findings, hash });
      const problems = sortProblems(findings.problems, [...texts.keys()]);
      const lineAt = maskedLines(root, texts, registry);
      return { ...(config && !findings.hasErrors ? { config } : {}), problems, tree: root, registry, lineAt };
    },
  };
}

/** Loads a config without plugins. Never throws because of its content: everything wrong is returned as a problem. */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const opened = openConfig(options);
  const plugins = opened.root?.entries.get("plugins");
  if (plugins !== undefined && !isNull(plugins.value)) {
    const message = "plugins cannot be loaded here: use loadConfigWithPlugins";
    opened.findings.error("plugins_not_loaded", plugins.key, ["plugins"], message);
  }
  return opened.resolve(options.registry);
}

/** Sorts problems by file, in the order given, then by line. The same message at the same place is reported once. */
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
