import { parseId, SECTIONS, type SectionName } from "../config/schema/component-id.js";
import { isNull, type MapNode } from "../config/text/node.js";
import type { ComponentKind } from "../contract/component.js";
import { BUILTINS, DEFAULT_EXTENSIONS, type LoadFactory } from "./builtin-table.js";
import { noEffectReason, Registry } from "./registry.js";

/**
 * The built-in components that a config needs: those it names, and those that always run. All of them when it has
 * plugins, which may clash with any, or names a type that is none of them, for which the nearest is to be found; and
 * without a config.
 */
export async function builtinRegistry(config?: MapNode): Promise<Registry> {
  const needed = config === undefined ? undefined : neededBuiltins(config);
  if (needed !== undefined) return new Registry(new Set(await Promise.all(needed.map((load) => load()))));
  const { builtins } = await import("./builtins.js");
  return new Registry(builtins);
}

/** Undefined when not all of them are known. */
function neededBuiltins({ entries }: MapNode): LoadFactory[] | undefined {
  const plugins = entries.get("plugins");
  if (plugins !== undefined && !isNull(plugins.value)) return undefined;
  const needed = new Set(DEFAULT_EXTENSIONS.map((type) => BUILTINS.extension[type]!));
  for (const section of Object.keys(SECTIONS) as SectionName[]) {
    const value = entries.get(section)?.value;
    if (value?.kind !== "map") continue;
    for (const name of value.entries.keys()) {
      const load = findBuiltin(SECTIONS[section], parseId(name)?.type);
      if (load === undefined) return undefined;
      if (load !== "nothing") needed.add(load);
    }
  }
  return [...needed];
}

function findBuiltin(kind: ComponentKind, type: string | undefined): LoadFactory | "nothing" | undefined {
  if (type === undefined) return undefined;
  if (noEffectReason(kind, type) !== undefined) return "nothing";
  return Object.hasOwn(BUILTINS[kind], type) ? BUILTINS[kind][type] : undefined;
}
