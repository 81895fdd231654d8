import type { ResolvedConfig } from "#config/resolve";
import type { BuiltInExtensionFactory } from "#contract/built-in";
import { type SharingWorker, shareOfLimit, workerMode } from "#contract/operators";

/** The part of a config that the parent of several workers runs: the extensions that show the agent as a whole. */
export function configOfParent(config: ResolvedConfig): ResolvedConfig {
  const none = new Map<string, never>();
  return {
    ...config,
    receivers: none,
    processors: none,
    exporters: none,
    connectors: none,
    pipelines: [],
    extensions: extensionsIn(config, "parent"),
  };
}

/** The part of a config that each of several workers runs. Limits hold for all workers together, so each gets a share. */
export function configOfWorker(config: ResolvedConfig, worker: SharingWorker): ResolvedConfig {
  const { service, receivers, processors } = config;
  const { intake } = service;
  return {
    ...config,
    receivers: mapSpecs(receivers, (spec) => {
      const isShared = workerMode(spec.factory, spec.config) === "each";
      return isShared ? { ...spec, config: withShareOfConnections(spec.config, worker) } : spec;
    }),
    processors: mapSpecs(processors, (spec) => {
      const shared = spec.factory.shareOf?.(spec.config, worker);
      return shared === undefined ? spec : { ...spec, config: shared };
    }),
    extensions: extensionsIn(config, "workers"),
    service: { ...service, workers: 1, intake: { ...intake, max_bytes: shareOfLimit(intake.max_bytes, worker) } },
  };
}

function mapSpecs<S>(specs: ReadonlyMap<string, S>, map: (spec: S) => S): ReadonlyMap<string, S> {
  return new Map([...specs].map(([id, spec]) => [id, map(spec)]));
}

/** Every server of a receiver has these keys. */
const CONNECTIONS: readonly string[] = ["max_connections", "max_connections_per_client"];

function withShareOfConnections(config: unknown, worker: SharingWorker): unknown {
  if (typeof config !== "object" || config === null || Object.getPrototypeOf(config) !== Object.prototype)
    return config;
  const entries = Object.entries(config).map(([key, value]) => {
    const isLimit = CONNECTIONS.includes(key) && typeof value === "number";
    return [key, isLimit ? shareOfLimit(value, worker) : withShareOfConnections(value, worker)];
  });
  return Object.fromEntries(entries);
}

function extensionsIn({ extensions }: ResolvedConfig, place: "parent" | "workers"): ResolvedConfig["extensions"] {
  return new Map([...extensions].filter(([, { factory }]) => [place, "both"].includes(placeOf(factory))));
}

function placeOf({ runsIn = "workers" }: BuiltInExtensionFactory): NonNullable<BuiltInExtensionFactory["runsIn"]> {
  return runsIn;
}
