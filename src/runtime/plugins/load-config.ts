import { type LoadedConfig, type LoadOptions, openConfig } from "../config/load.js";
import type { ImportModule } from "./import-plugin.js";
import { loadPlugins } from "./load-plugins.js";

/** As for `loadConfig`, and how plugins are loaded. */
export interface LoadWithPluginsOptions extends LoadOptions {
  /** Plugins beside those that the config lists: packages and files, seen from the working directory. */
  readonly plugins?: readonly string[];
  /** How a plugin's code is run; `import` unless told. */
  readonly importModule?: ImportModule;
  /** Told before a plugin's code runs, and with undefined when it has. */
  readonly onLoading?: (plugin: string | undefined) => void;
}

/**
 * Loads a config with the plugins it names, whose code runs here. Never rejects for what is in the config or in the
 * plugins: all that is wrong comes back as problems. The types of `registry` are there too; it is left as it is.
 */
export async function loadConfigWithPlugins(options: LoadWithPluginsOptions): Promise<LoadedConfig> {
  const { plugins = [], importModule, onLoading, registry, ...rest } = options;
  const opened = openConfig(rest);
  const { root, findings } = opened;
  return opened.resolve(await loadPlugins(root, { registry, findings, extra: plugins, load: importModule, onLoading }));
}
