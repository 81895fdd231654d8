import { noEffectReason, type Registry, RegistryError } from "#config/resolve";
import { parseId, SECTIONS, type SectionName } from "#config/schema";
import { type Findings, isNull, isScalar, type MapNode, type Node, type ProblemCode, type Span } from "#config/text";
import type { ComponentKind } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { ConfigPath } from "#contract/schema";
import { exportedComponents } from "./exported-components.js";
import { type ImportModule, importPlugin } from "./import-plugin.js";
import { locatePlugin } from "./locate-plugin.js";
import { findPackage, hasPluginKeyword } from "./package-entry.js";

interface LoadPluginsOptions {
  /** The types other than the plugins'; not changed. */
  readonly registry: Registry;
  readonly findings: Findings;
  /** Further plugins, resolved against `folder`. */
  readonly extra?: readonly string[];
  readonly folder?: string;
  readonly load?: ImportModule | undefined;
  /** Called with the plugin and its URL before its code runs, and with undefined afterwards. */
  readonly onLoading?: ((plugin: string | undefined, url?: string) => void) | undefined;
}

/**
 * Loads the plugins of a config: those listed under `plugins:`, and installed packages named like an unknown type.
 * Returns a registry with their components. Adds a finding for each plugin that cannot be loaded.
 */
export async function loadPlugins(root: MapNode | undefined, options: LoadPluginsOptions): Promise<Registry> {
  const loader = new PluginLoader(options);
  for (const specifier of options.extra ?? []) {
    await loader.load({ specifier, displayName: specifier, folder: options.folder ?? ".", span: undefined, path: [] });
  }
  for (const named of root === undefined ? [] : listedPlugins(root, options.findings)) await loader.load(named);
  for (const named of root === undefined ? [] : missingTypes(root, loader.registry)) await loader.loadForType(named);
  return loader.registry;
}

/** A plugin to load, and the place that names it. */
interface PluginReference {
  readonly specifier: string;
  /** Its name in problems, without values that came from a variable. */
  readonly displayName: string;
  readonly folder: string;
  readonly span: Span | undefined;
  readonly path: ConfigPath;
}

interface MissingType {
  readonly kind: ComponentKind;
  readonly type: string;
  readonly key: Span;
  readonly path: ConfigPath;
}

class PluginLoader {
  readonly registry: Registry;
  private readonly options: LoadPluginsOptions;
  private readonly loaded = new Set<string>();

  constructor(options: LoadPluginsOptions) {
    this.options = options;
    this.registry = options.registry.copy();
  }

  async load(named: PluginReference): Promise<void> {
    const location = locatePlugin(named.specifier, named.folder);
    if ("problem" in location)
      return this.report("plugin_not_found", named, `: ${location.problem}`, location.suggestion);
    if (this.loaded.has(location.url)) return;
    this.loaded.add(location.url);
    const module = await this.importModule(named, location.url);
    if (module === undefined) return;
    const { factories, errors } = exportedComponents(module);
    for (const complaint of errors) this.report("plugin_component", named, ` ${complaint}`);
    if (errors.length > 0) return;
    for (const factory of factories) {
      if (this.registry.get(factory.kind, factory.type) === factory) continue; // another plugin has re-exported it
      try {
        this.registry.add(factory, named.displayName);
      } catch (error) {
        if (!(error instanceof RegistryError)) throw error;
        const code = error.code === ERROR_CODES.SLUICE_CONTRACT ? "plugin_contract" : "plugin_type_taken";
        const message =
          code === "plugin_contract" ? error.message : `has a ${factory.kind} "${factory.type}", but ${error.message}`;
        this.report(code, named, code === "plugin_contract" ? `: ${message}` : ` ${message}`, error.hint);
      }
    }
  }

  /** Looks for an installed package with the keyword `sluice-plugin` whose name fits an unknown type. */
  async loadForType({ kind, type, key, path }: MissingType): Promise<void> {
    const { folder } = key.source;
    const installed = packageNames(kind, type).filter((each) => findPackage(each, folder) !== undefined);
    const name = installed.find((each) => hasPluginKeyword(findPackage(each, folder)!));
    if (name === undefined) return this.suggestListing(installed[0], key, path);
    const named = { specifier: name, displayName: name, folder, span: key, path };
    await this.load(named);
    if (this.registry.get(kind, type) !== undefined || this.options.findings.hasErrors) return;
    const has = this.registry.all().filter((factory) => this.registry.originOf(factory) === name);
    const types = has.map((factory) => `the ${factory.kind} "${factory.type}"`).join(", ");
    this.report("plugin_component", named, ` is named like it, but has no ${kind} "${type}", only ${types}`);
  }

  private suggestListing(installed: string | undefined, key: Span, path: ConfigPath): void {
    if (installed === undefined) return;
    const message = `a package "${installed}" is installed; to use its components, list it: plugins: [${installed}]`;
    this.options.findings.warn("plugin_not_listed", key, path, message);
  }

  private async importModule(named: PluginReference, url: string) {
    const { load, onLoading } = this.options;
    onLoading?.(named.displayName, url);
    const result = await importPlugin(url, load);
    onLoading?.(undefined);
    if ("module" in result) return result.module;
    const { code, problem, suggestion } = result.failure;
    this.report(code, named, ` ${problem}`, suggestion);
    return undefined;
  }

  private report(
    code: ProblemCode,
    { displayName, span, path }: PluginReference,
    problem: string,
    suggestion?: string,
  ): void {
    const extra = suggestion === undefined ? {} : { suggestion };
    this.options.findings.error(code, span, path, `plugin "${displayName}"${problem}`, extra);
  }
}

function listedPlugins(root: MapNode, findings: Findings): PluginReference[] {
  const list = root.entries.get("plugins")?.value;
  if (list === undefined || isNull(list)) return [];
  if (list.kind !== "list") {
    const suggestion = isScalar(list) && !list.substituted ? { suggestion: `write a list: [${list.text}]` } : {};
    findings.error("wrong_type", list, ["plugins"], EXPECTED, suggestion);
    return [];
  }
  return list.items.flatMap((item, i) => listedPlugin(item, ["plugins", i], findings));
}

const EXPECTED = "expected a list of packages and files, such as [my-package, ./my-processor.js]";

function listedPlugin(item: Node, path: ConfigPath, findings: Findings): PluginReference[] {
  if (isNull(item)) return [];
  if (item.kind !== "scalar" || typeof item.value !== "string" || item.text.trim() === "") {
    findings.error("wrong_type", item, path, "expected the name of a package or the path of a file");
    return [];
  }
  const specifier = item.text.trim();
  const displayName = item.substituted ? "(from a variable)" : specifier;
  return [{ specifier, displayName, folder: item.source.folder, span: item, path }];
}

function missingTypes(root: MapNode, registry: Registry): MissingType[] {
  return (Object.keys(SECTIONS) as SectionName[]).flatMap((section) => {
    const entries = root.entries.get(section)?.value;
    if (entries?.kind !== "map") return [];
    const kind = SECTIONS[section];
    return [...entries.entries].flatMap(([name, { key }]) => {
      const type = parseId(name)?.type;
      if (type === undefined || registry.get(kind, type) !== undefined || noEffectReason(kind, type)) return [];
      return [{ kind, type, key, path: [section, name] }];
    });
  });
}

/** Names of packages that may provide a type, the most specific first. */
function packageNames(kind: ComponentKind, type: string): string[] {
  const dashed = type.toLowerCase().replaceAll("_", "-");
  return [...new Set([`sluice-${kind}-${dashed}`, `sluice-plugin-${dashed}`, dashed, type])];
}
