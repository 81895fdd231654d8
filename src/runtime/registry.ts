import { CONTRACT_VERSION, type ComponentFactory, type ComponentKind } from "./contract/component.js";
import { nearest } from "./contract/suggest.js";

export type FactoryOf<Kind extends ComponentKind> = Extract<ComponentFactory, { kind: Kind }>;

/** The component types that a config may name, by kind and by any of their spellings. */
export class Registry {
  private readonly factories: ComponentFactory[] = [];
  private readonly byName = new Map<string, ComponentFactory>();

  constructor(factories: Iterable<ComponentFactory> = []) {
    for (const factory of factories) this.add(factory);
  }

  /** Throws when a spelling is taken, or when the factory was built for another contract. */
  add(factory: ComponentFactory): this {
    if (factory.contract !== CONTRACT_VERSION) {
      throw new RegistryError(
        `${factory.kind} "${factory.type}" was built for contract ${factory.contract}; this is contract ${CONTRACT_VERSION}`,
      );
    }
    for (const name of spellings(factory)) {
      const key = nameKey(factory.kind, name);
      if (this.byName.has(key)) throw new RegistryError(`another ${factory.kind} is called "${name}"`);
      this.byName.set(key, factory);
    }
    this.factories.push(factory);
    return this;
  }

  get<Kind extends ComponentKind>(kind: Kind, type: string): FactoryOf<Kind> | undefined {
    return this.byName.get(nameKey(kind, type)) as FactoryOf<Kind> | undefined;
  }

  all(): readonly ComponentFactory[];
  all<Kind extends ComponentKind>(kind: Kind): readonly FactoryOf<Kind>[];
  all(kind?: ComponentKind): readonly ComponentFactory[] {
    return kind === undefined ? this.factories : this.factories.filter((factory) => factory.kind === kind);
  }

  /** The type of this kind that is most likely meant. */
  suggest(kind: ComponentKind, type: string): string | undefined {
    return nearest(type, this.all(kind).flatMap(spellings));
  }

  /** The kinds in which a type of this name exists. */
  kindsOf(type: string): ComponentKind[] {
    return this.factories.filter((factory) => spellings(factory).includes(type)).map((factory) => factory.kind);
  }
}

export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code = "SLUICE_REGISTRY";
}

const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  "extension memory_ballast": "Node.js needs no ballast, and the Collector has removed it too; take it out",
  "extension pprof": "Sluice has no pprof endpoint; to profile, start it with node --cpu-prof",
  "extension zpages": "Sluice has no zPages",
  "processor queued_retry": "every exporter has sending_queue and retry_on_failure; take it out",
};

/**
 * Types that no longer exist, or that only look inside a Go process: a config may still name them, and they do nothing.
 * Gives the reason, or undefined for any other type.
 */
export function withoutEffect(kind: ComponentKind, type: string): string | undefined {
  return WITHOUT_EFFECT[`${kind} ${type}`];
}

function spellings(factory: ComponentFactory): string[] {
  return [factory.type, ...(factory.aliases ?? [])];
}

function nameKey(kind: ComponentKind, type: string): string {
  return `${kind} ${type}`;
}
