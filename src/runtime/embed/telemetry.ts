import process from "node:process";
import type { ResolvedConfig } from "../config/spec.js";
import type { Logger } from "../contract/observability.js";
import { createSelfTelemetry, type SelfTelemetry } from "../self-telemetry/index.js";
import { safeLogger } from "./safe-logger.js";

const TELEMETRY = ["service", "telemetry"];

/**
 * What an embedded Sluice says of itself. Unless the config tells otherwise it logs from warnings on, and no port is
 * opened for its metrics.
 */
export function embeddedTelemetry(config: ResolvedConfig, logger: Logger | undefined): SelfTelemetry {
  const isWritten = (...path: string[]) => config.placeOf([...TELEMETRY, ...path]) !== undefined;
  const { logs, metrics, ...others } = config.service.telemetry;
  const isExported = isWritten("metrics", "readers") || isWritten("metrics", "address");
  const telemetry = {
    ...others,
    logs: isWritten("logs", "level") ? logs : { ...logs, level: "warn" as const },
    metrics: isExported ? metrics : { ...metrics, level: "none" as const },
  };
  const { stderr } = process;
  const embeddedConfig = { ...config, service: { ...config.service, telemetry } };
  return createSelfTelemetry(embeddedConfig, {
    stderr,
    isTerminal: stderr.isTTY === true,
    logger: logger && safeLogger(logger),
  });
}
