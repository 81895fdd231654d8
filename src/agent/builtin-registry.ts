import { isNull, type MapNode, noEffectReason, parseId, Registry, SECTIONS, type SectionName } from "#config";
import { BUILTINS, type Builtin, findBuiltin, loadAll } from "./builtins.js";

/**
 * The built-in components that a config needs: those it names, and those that always run. All of them when it has
 * plugins, which may clash with any, or names a type that is none of them, for which the nearest is to be found; and
 * without a config.
 */
export async function builtinRegistry(config?: MapNode): Promise<Registry> {
  const needed = config === undefined ? undefined : neededBuiltins(config);
  return new Registry(await loadAll(needed ?? BUILTINS));
}

/** Undefined when not all of them are known. */
function neededBuiltins({ entries }: MapNode): Set<Builtin> | undefined {
  const plugins = entries.get("plugins");
  if (plugins !== undefined && !isNull(plugins.value)) return undefined;
  const needed = new Set(BUILTINS.filter(({ onByDefault }) => onByDefault));
  for (const section of Object.keys(SECTIONS) as SectionName[]) {
    const value = entries.get(section)?.value;
    if (value?.kind !== "map") continue;
    for (const name of value.entries.keys()) {
      const type = parseId(name)?.type;
      if (type === undefined) return undefined;
      if (noEffectReason(SECTIONS[section], type) !== undefined) continue;
      const builtin = findBuiltin(SECTIONS[section], type);
      if (builtin === undefined) return undefined;
      needed.add(builtin);
    }
  }
  return needed;
}
