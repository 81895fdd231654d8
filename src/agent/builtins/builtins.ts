import type { ComponentFactory, ComponentKind } from "#contract";
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
export async function builtins(): Promise<ComponentFactory[]> {
  const factories = await loadAll(BUILTINS);
  for (const factory of factories) if (factory.kind === "extension") await factory.prepareConfig?.(() => true);
  return factories;
}

export function loadAll(wanted: Iterable<Builtin>): Promise<ComponentFactory[]> {
  return Promise.all(Array.from(wanted, ({ load }) => load()));
}

/** Returns undefined when no built-in component of this kind has this type. */
export function findBuiltin(kind: ComponentKind, type: string): Builtin | undefined {
  return BUILTINS.find((builtin) => builtin.kind === kind && builtin.types.includes(type));
}
