import { openConfig } from "#config";
import type { Registry } from "#config/resolve";
import { loadPlugins } from "#host";
import type { CommandContext } from "./command.js";
import { configSources } from "./config-sources.js";
import { showProblems } from "./show-problems.js";

/**
 * The built-in components, and those of the plugins that `--config` and `--plugin` name. Returns undefined when a
 * plugin cannot be loaded, after printing why. Other problems of the config are ignored.
 */
export async function registryWithPlugins(context: CommandContext): Promise<Registry | undefined> {
  const { values, terminal } = context;
  const registry = await context.registry();
  const files = (values["config"] ?? []) as readonly string[];
  const extra = (values["plugin"] ?? []) as readonly string[];
  if (files.length === 0 && extra.length === 0) return registry;
  const opened = openConfig({ sources: configSources(files, terminal.env), env: terminal.env });
  const { root, findings } = opened;
  const loaded = await loadPlugins(root, { registry, findings, extra });
  const errors = findings.problems.filter(
    ({ severity, code, path }) => severity === "error" && (READ_ERROR_CODES.test(code) || path.startsWith("plugins")),
  );
  if (errors.length === 0) return loaded;
  showProblems(errors, opened.resolve(loaded).lineAt, terminal.err);
  return undefined;
}

const READ_ERROR_CODES = /^(plugin_|yaml_|unreadable_file$|empty_config$|not_a_map$)/;
