import { fileURLToPath } from "node:url";
import { type LoadedConfig, readTextFile } from "#config";
import type { RemoteConfigFile } from "#contract/operations";
import { importUrl, loadConfigWithPlugins, PluginFolders, Watchdog } from "#host";
import type { CommandContext } from "./command.js";
import { configFiles, configSources } from "./config-sources.js";

/** Terminals that were told about `--feature-gates`: reloads load the config again. */
const hasToldOfGates = new WeakSet<object>();

/**
 * Loads the config named by `--config` and `--set`, with its plugins. Adds the plugins' folders to `pluginFolders`.
 * `onFile` is called with every file that is read: the config, what `${file:...}` names, and plugins. `remoteFiles` are
 * merged after the files and before `--set`. `importModule` imports the code of a plugin.
 */
export async function loadFromArguments(
  { values, terminal, registry }: CommandContext,
  watchdog = new Watchdog({ json: false }),
  pluginFolders = new PluginFolders(),
  onFile: (file: string) => void = () => {},
  remoteFiles: readonly RemoteConfigFile[] = [],
  importModule = importUrl,
  readFile: (path: string) => string = readTextFile,
): Promise<LoadedConfig> {
  const files = configFiles(values);
  if (values["feature-gates"] !== undefined && !hasToldOfGates.has(terminal)) {
    hasToldOfGates.add(terminal);
    terminal.err.write("sluice: --feature-gates has no effect: Sluice has no feature gates\n");
  }
  return loadConfigWithPlugins({
    sources: [...configSources(files, terminal.env), ...remoteFiles],
    sets: (values["set"] ?? []) as readonly string[],
    env: terminal.env,
    readFile(path) {
      onFile(path);
      return readFile(path);
    },
    registry,
    importModule,
    addDefaults: true,
    onLoading(plugin, url) {
      watchdog.enter(plugin === undefined ? 0 : watchdog.register(`plugin ${plugin}`));
      if (plugin !== undefined && url !== undefined) pluginFolders.add(plugin, url);
      if (url?.startsWith("file:")) onFile(fileURLToPath(url));
    },
  });
}
