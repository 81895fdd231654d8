import { CONTRACT_VERSION, type ComponentKind } from "#contract";
import type { BuiltInComponentFactory } from "#contract/built-in";
import { ERROR_CODES, type ErrorCode } from "#contract/errors";
import { nearest, uncheckedExporterSettingsSchema } from "#contract/schema";

export type FactoryOf<Kind extends ComponentKind> = Extract<BuiltInComponentFactory, { kind: Kind }>;

/** The component types that a config may name, by kind and by any of their names. */
export class Registry {
  private readonly factories: BuiltInComponentFactory[] = [];
  private readonly byName = new Map<string, BuiltInComponentFactory>();
  private readonly origins = new Map<BuiltInComponentFactory, string>();

  constructor(factories: Iterable<BuiltInComponentFactory> = []) {
    for (const factory of factories) this.add(factory);
  }

  /**
   * Throws when a name is taken, or when the factory was built for another contract version. `origin` is the plugin
   * that provides the factory, as the config names it.
   */
  add(factory: BuiltInComponentFactory, origin?: string): this {
    const { kind, type, contract } = factory;
    if (contract !== CONTRACT_VERSION) {
      const hint = contract > CONTRACT_VERSION ? "update Sluice" : "update or rebuild the plugin";
      const message = `${kind} "${type}" was built for contract ${contract}; this Sluice has contract ${CONTRACT_VERSION}`;
      throw new RegistryError(ERROR_CODES.SLUICE_CONTRACT, message, hint);
    }
    for (const name of typeNames(factory)) {
      const taken = this.byName.get(registryKey(kind, name));
      if (taken !== undefined) throw this.nameTaken(kind, name, taken);
    }
    for (const name of typeNames(factory)) this.byName.set(registryKey(kind, name), factory);
    if (origin !== undefined) this.origins.set(factory, origin);
    this.factories.push(factory);
    return this;
  }

  /** A copy that types can be added to. */
  copy(): Registry {
    const copy = new Registry();
    for (const factory of this.factories) copy.add(factory, this.origins.get(factory));
    return copy;
  }

  /** The plugin that provides a factory; undefined for built-in ones. */
  originOf(factory: BuiltInComponentFactory): string | undefined {
    return this.origins.get(factory);
  }

  get<Kind extends ComponentKind>(kind: Kind, type: string): FactoryOf<Kind> | undefined {
    return this.byName.get(registryKey(kind, type)) as FactoryOf<Kind> | undefined;
  }

  all(): readonly BuiltInComponentFactory[];
  all<Kind extends ComponentKind>(kind: Kind): readonly FactoryOf<Kind>[];
  all(kind?: ComponentKind): readonly BuiltInComponentFactory[] {
    return kind === undefined ? this.factories : this.factories.filter((factory) => factory.kind === kind);
  }

  /** The schema of the keys that every exporter has: that of the extension which reads them, if there is one. */
  get exporterSettings() {
    return (
      this.all("extension").find(({ exporterSettings }) => exporterSettings !== undefined)?.exporterSettings ??
      uncheckedExporterSettingsSchema
    );
  }

  /** The most similar type of this kind. */
  suggest(kind: ComponentKind, type: string): string | undefined {
    return nearest(type, this.all(kind).flatMap(typeNames));
  }

  private nameTaken(kind: ComponentKind, name: string, by: BuiltInComponentFactory): RegistryError {
    const origin = this.originOf(by);
    const whose = origin === undefined ? "comes with Sluice" : `is in the plugin "${origin}"`;
    return new RegistryError(
      ERROR_CODES.SLUICE_TYPE_TAKEN,
      `another ${kind} called "${name}" ${whose}`,
      "give it another type",
    );
  }

  /** The kinds that have a type of this name. */
  kindsOf(type: string): ComponentKind[] {
    return this.factories.filter((factory) => typeNames(factory).includes(type)).map((factory) => factory.kind);
  }
}

/** A component type that cannot be added. `hint` says what to do about it. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, hint: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

function typeNames(factory: BuiltInComponentFactory): string[] {
  return [factory.type, ...(factory.aliases ?? [])];
}

function registryKey(kind: ComponentKind, type: string): string {
  return `${kind} ${type}`;
}
