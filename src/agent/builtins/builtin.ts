import type { ComponentKind } from "#contract";
import type { BuiltInComponentFactory } from "#contract/built-in";

/** A component that comes with Sluice, before its code is loaded. */
export interface Builtin {
  readonly kind: ComponentKind;
  /** All names of its type. The first is the canonical one; the others are aliases. */
  readonly types: readonly [string, ...string[]];
  readonly load: () => Promise<BuiltInComponentFactory>;
  /** Marks an extension that runs in every agent, even if the config does not name it. */
  readonly onByDefault?: true;
}
