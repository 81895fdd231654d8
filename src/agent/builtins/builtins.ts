import { noEffectReason, Registry } from "#config/resolve";
import { parseId, SECTIONS, type SectionName } from "#config/schema";
import { isNull, type MapNode } from "#config/text";
import type { ComponentKind } from "#contract";
import type { BuiltInComponentFactory } from "#contract/built-in";
import type { Builtin } from "./builtin.js";
import { CONNECTORS } from "./connectors.js";
import { EXPORTERS } from "./exporters.js";
import { EXTENSIONS } from "./extensions.js";
import { PROCESSORS } from "./processors.js";
import { RECEIVERS } from "./receivers.js";

/**
 * The list of all components that come with Sluice. Each is loaded only when a config names it: loading the code of all
 * of them takes longer than checking most configs.
 */
export const BUILTINS: readonly Builtin[] = [...RECEIVERS, ...PROCESSORS, ...CONNECTORS, ...EXPORTERS, ...EXTENSIONS];

/** Loads all components that come with Sluice, for any config: `new Registry(await builtins())`. */
export async function builtins(): Promise<BuiltInComponentFactory[]> {
  const factories = await loadAll(BUILTINS);
  for (const factory of factories) if (factory.kind === "extension") await factory.prepareConfig?.(() => true);
  return factories;
}

function loadAll(wanted: Iterable<Builtin>): Promise<BuiltInComponentFactory[]> {
  return Promise.all(Array.from(wanted, ({ load }) => load()));
}

/** Returns undefined when no built-in component of this kind has this type. */
export function findBuiltin(kind: ComponentKind, type: string): Builtin | undefined {
  return BUILTINS.find((builtin) => builtin.kind === kind && builtin.types.includes(type));
}

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
