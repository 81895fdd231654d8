import type { ResolvedConfig } from "#config/resolve";
import type { ExtensionFactory } from "#contract";

/** The part of a config that the parent of several workers runs: the extensions that show the agent as a whole. */
export function configOfParent(config: ResolvedConfig): ResolvedConfig {
  const none = new Map<string, never>();
  return {
    ...config,
    ...{ receivers: none, processors: none, exporters: none, connectors: none, pipelines: [] },
    extensions: extensionsIn(config, "parent"),
  };
}

/** The part of a config that each of several workers runs. Limits hold for all workers together, so each gets a share. */
export function configOfWorker(config: ResolvedConfig, workers: number): ResolvedConfig {
  const { service, receivers, processors } = config;
  const { intake } = service;
  return {
    ...config,
    receivers: mapSpecs(receivers, (spec) => ({ ...spec, config: withShareOfConnections(spec.config, workers) })),
    processors: mapSpecs(processors, (spec) => {
      const shared = spec.factory.shareOf?.(spec.config, workers);
      return shared === undefined ? spec : { ...spec, config: shared };
    }),
    extensions: extensionsIn(config, "workers"),
    service: { ...service, workers: 1, intake: { ...intake, max_bytes: shareOf(intake.max_bytes, workers) } },
  };
}

function shareOf(limit: number, workers: number): number {
  return Math.max(1, Math.floor(limit / workers));
}

function mapSpecs<S>(specs: ReadonlyMap<string, S>, map: (spec: S) => S): ReadonlyMap<string, S> {
  return new Map([...specs].map(([id, spec]) => [id, map(spec)]));
}

/** Every server of a receiver has this key. */
const CONNECTIONS = "max_connections";

function withShareOfConnections(config: unknown, workers: number): unknown {
  if (typeof config !== "object" || config === null || Object.getPrototypeOf(config) !== Object.prototype)
    return config;
  const entries = Object.entries(config).map(([key, value]) => {
    const isLimit = key === CONNECTIONS && typeof value === "number";
    return [key, isLimit ? shareOf(value, workers) : withShareOfConnections(value, workers)];
  });
  return Object.fromEntries(entries);
}

function extensionsIn({ extensions }: ResolvedConfig, place: "parent" | "workers"): ResolvedConfig["extensions"] {
  return new Map([...extensions].filter(([, { factory }]) => [place, "both"].includes(placeOf(factory))));
}

function placeOf({ runsIn = "workers" }: ExtensionFactory): NonNullable<ExtensionFactory["runsIn"]> {
  return runsIn;
}
