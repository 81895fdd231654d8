import { noEffectReason, Registry } from "#config/resolve";
import { parseId, SECTIONS, type SectionName } from "#config/schema";
import { isNull, type MapNode } from "#config/text";
import type { Builtin } from "./builtins/builtin.js";
import { BUILTINS, findBuiltin, loadAll } from "./builtins/builtins.js";
import { RECEIVERS } from "./builtins/receivers.js";

/**
 * Registry of the built-in components that a config needs: those it names, those that always run, and all receivers if
 * it names `receiver_creator`, which may start any of them. It holds all built-ins without a config, when the config
 * lists plugins (their types may clash with any built-in type), and when the config names an unknown type (to suggest
 * the nearest one).
 */
export async function builtinRegistry(config?: MapNode): Promise<Registry> {
  const needed = config === undefined ? undefined : neededBuiltins(config);
  return new Registry(await loadAll(needed ?? BUILTINS));
}

/** Returns undefined when all built-ins are needed. */
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
      if (builtin.types[0] === "receiver_creator") for (const each of RECEIVERS) needed.add(each);
    }
  }
  return needed;
}
