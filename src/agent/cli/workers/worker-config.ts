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

/** The part of a config that each of several workers runs. */
export function configOfWorker(config: ResolvedConfig, workers: number): ResolvedConfig {
  const { service } = config;
  const share = (limit: number) => Math.max(1, Math.floor(limit / workers));
  return {
    ...config,
    extensions: extensionsIn(config, "workers"),
    service: { ...service, workers: 1, intake: { ...service.intake, max_bytes: share(service.intake.max_bytes) } },
  };
}

function extensionsIn({ extensions }: ResolvedConfig, place: "parent" | "workers"): ResolvedConfig["extensions"] {
  return new Map([...extensions].filter(([, { factory }]) => [place, "both"].includes(placeOf(factory))));
}

function placeOf({ runsIn = "workers" }: ExtensionFactory): NonNullable<ExtensionFactory["runsIn"]> {
  return runsIn;
}
