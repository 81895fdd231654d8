import { type BuiltInExtensionFactory, defineBuiltInExtension } from "#contract/built-in";
import type { QueueStore } from "#queue/store";
import {
  exporterDefaults,
  exporterSettings,
  ignoredKeys,
  keepsJournals,
  loadConditions,
  OWN_KEYS,
  type ReliabilityConfig,
  reliabilitySchema,
} from "./config.js";

let loaded: typeof import("./reliability.js") | undefined;

/** Wraps every exporter. */
export const reliability = defineBuiltInExtension<ReliabilityConfig>({
  type: "reliability",
  onByDefault: true,
  summary: "Gives every exporter a durable queue, retries, a circuit breaker, dead letters and replay.",
  schema: reliabilitySchema,
  keepsJournals,
  ignoredKeys,
  exporterSettings,
  exporterDefaults,
  restartKeys: OWN_KEYS,
  async prepareConfig(hasKey) {
    if (hasKey("save_if")) await loadConditions();
  },
  async prepareCreate() {
    loaded ??= await import("./reliability.js");
  },
  create: (config, context) => new loaded!.Reliability(config, context),
});

/** Makes the same extension with stores that are not on disk. It creates no directory. */
export function reliabilityWithStores(createStore: (exporter: string) => QueueStore): BuiltInExtensionFactory {
  return {
    ...reliability,
    create: (config, context) => new loaded!.Reliability(config as ReliabilityConfig, context, createStore),
  };
}
