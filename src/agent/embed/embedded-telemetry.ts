import process from "node:process";
import type { ResolvedConfig } from "#config";
import type { Logger } from "#contract";
import { createSelfTelemetry, type SelfTelemetry } from "#host";

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
    // A program in JavaScript may say null for none given, and false for no log at all.
    logger: logger === undefined || logger === null ? undefined : safeLogger(logger),
  });
}

/**
 * A program's logger, called from inside a pipeline: whatever it throws or rejects with stays here, so that a log that
 * fails costs its line and nothing else. What has no children of its own, such as `console`, is told their fields.
 */
function safeLogger(logger: Logger, bound: Readonly<Record<string, unknown>> = {}): Logger {
  const logMethod = (level: "debug" | "info" | "warn" | "error") => (fields: object, message: string) => {
    try {
      ignoreRejection(logger[level]({ ...bound, ...fields }, message));
    } catch {
      // Nobody is left to tell.
    }
  };
  return {
    debug: logMethod("debug"),
    info: logMethod("info"),
    warn: logMethod("warn"),
    error: logMethod("error"),
    child(fields) {
      try {
        return safeLogger(logger.child(fields), bound);
      } catch {
        return safeLogger(logger, { ...bound, ...fields });
      }
    },
  };
}

/** A log method may be asynchronous, whatever its type says. */
function ignoreRejection(result: unknown): void {
  if (result instanceof Promise) result.catch(() => {});
}
