import type { ResolvedConfig } from "../config/spec.js";
import { noMetrics, silentLogger } from "../contract/observability.js";

/** Stands in for self-telemetry on this branch. */
export function createSelfTelemetry(
  _config: ResolvedConfig,
  _options: { stderr: NodeJS.WritableStream; isTerminal: boolean },
) {
  return { logger: silentLogger, metrics: noMetrics, start: async () => {}, stop: async () => {} };
}
