import { type LoadedConfig, type LoadOptions, openConfig } from "#config";
import type { Registry } from "#config/resolve";
import type { MapNode, Node } from "#config/text";
import type { ImportModule } from "./import-plugin.js";
import { loadPlugins } from "./load-plugins.js";

/** The options of `loadConfig`, and how plugins are loaded. */
interface LoadWithPluginsOptions extends Omit<LoadOptions, "registry"> {
  /** The component types other than the plugins', or a function that loads those that a config needs. */
  readonly registry: Registry | ((config: MapNode | undefined) => Promise<Registry>);
  /** Further plugins: packages and files, resolved against the working directory. */
  readonly plugins?: readonly string[];
  /** Imports a plugin's code; default: `import`. */
  readonly importModule?: ImportModule;
  /** Called with the plugin and its URL before its code runs, and with undefined afterwards. */
  readonly onLoading?: (plugin: string | undefined, url?: string) => void;
}

/**
 * Loads a config and its plugins, whose code runs here. Never rejects because of the config or the plugins: everything
 * wrong is returned as a problem. The result includes the types of `registry`, which is not changed.
 */
export async function loadConfigWithPlugins(options: LoadWithPluginsOptions): Promise<LoadedConfig> {
  const { plugins = [], importModule, onLoading, ...rest } = options;
  const opened = openConfig(rest);
  const { root, findings } = opened;
  const isFixed = typeof options.registry !== "function";
  const registry = isFixed ? options.registry : await options.registry(plugins.length > 0 ? undefined : root);
  const all = await loadPlugins(root, { registry, findings, extra: plugins, load: importModule, onLoading });
  const hasKey = (key: string) => root !== undefined && isKeyInside(root, key, new Set());
  for (const factory of all.all("extension")) await factory.prepareConfig?.(hasKey);
  return opened.resolve(all);
}

/** `seen` holds the nodes that were looked at: aliases lead to the same node again. */
function isKeyInside(node: Node, key: string, seen: Set<Node>): boolean {
  if (seen.has(node) || node.kind === "scalar") return false;
  seen.add(node);
  if (node.kind === "list") return node.items.some((item) => isKeyInside(item, key, seen));
  return node.entries.has(key) || [...node.entries.values()].some(({ value }) => isKeyInside(value, key, seen));
}
