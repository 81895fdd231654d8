import type { MapNode, Registry } from "#config";
import { type LoadedConfig, type LoadOptions, openConfig } from "#config";
import type { ImportModule } from "./import-plugin.js";
import { loadPlugins } from "./load-plugins.js";

/** As for `loadConfig`, and how plugins are loaded. */
interface LoadWithPluginsOptions extends Omit<LoadOptions, "registry"> {
  /** The component types beside those of the plugins, or where to get those that a config needs. */
  readonly registry: Registry | ((config: MapNode | undefined) => Promise<Registry>);
  /** Plugins beside those that the config lists: packages and files, seen from the working directory. */
  readonly plugins?: readonly string[];
  /** How a plugin's code is run; `import` unless told. */
  readonly importModule?: ImportModule;
  /** Told before a plugin's code runs, with where that is, and with undefined when it has. */
  readonly onLoading?: (plugin: string | undefined, url?: string) => void;
}

/**
 * Loads a config with the plugins it names, whose code runs here. Never rejects for what is in the config or in the
 * plugins: all that is wrong comes back as problems. The types of `registry` are there too; it is left as it is.
 */
export async function loadConfigWithPlugins(options: LoadWithPluginsOptions): Promise<LoadedConfig> {
  const { plugins = [], importModule, onLoading, ...rest } = options;
  const opened = openConfig(rest);
  const { root, findings } = opened;
  const isFixed = typeof options.registry !== "function";
  const registry = isFixed ? options.registry : await options.registry(plugins.length > 0 ? undefined : root);
  return opened.resolve(await loadPlugins(root, { registry, findings, extra: plugins, load: importModule, onLoading }));
}
