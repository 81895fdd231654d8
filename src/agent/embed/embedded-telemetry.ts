import process from "node:process";
import type { ResolvedConfig } from "#config/resolve";
import type { Logger, MetricAttributes } from "#contract";
import { createSelfTelemetry, type MetricFamily, type MetricRegistry, type SelfTelemetry } from "#host";

const TELEMETRY = ["service", "telemetry"];

/**
 * @internal Logs and metrics of an embedded Sluice itself. By default it logs warnings and errors only, and opens no port
 * for its metrics.
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
    // JavaScript programs may pass null for no logger, and false for no log at all.
    logger: logger === undefined || logger === null ? undefined : safeLogger(logger),
  });
}

/**
 * Wraps the program's logger, because it is called inside pipelines: an error or rejection of the logger costs one log
 * line and nothing else. For a logger without `child`, such as `console`, the wrapper adds the child's fields itself.
 */
function safeLogger(logger: Logger, bound: Readonly<Record<string, unknown>> = {}): Logger {
  const logMethod = (level: "debug" | "info" | "warn" | "error") => (fields: object, message: string) => {
    try {
      ignoreRejection(logger[level]({ ...bound, ...fields }, message));
    } catch {
      // The logger itself failed, so the error cannot be logged.
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

/** A log method may return a promise, whatever its type says. */
function ignoreRejection(result: unknown): void {
  if (result instanceof Promise) result.catch(() => {});
}

/** The current value of one of Sluice's own metrics. */
export type MetricSample =
  | {
      readonly name: string;
      readonly kind: "counter" | "gauge";
      readonly attributes: MetricAttributes;
      readonly value: number;
    }
  | {
      readonly name: string;
      readonly kind: "histogram";
      readonly attributes: MetricAttributes;
      readonly count: number;
      readonly sum: number;
    };

/** @internal The current values of all metrics in a registry. A gauge whose callback fails is skipped. */
export function metricSamples(registry: MetricRegistry): MetricSample[] {
  return [...registry.all()].flatMap(samplesOf);
}

function samplesOf(family: MetricFamily): MetricSample[] {
  const { name, kind } = family;
  if (kind === "histogram") {
    return [...family.series.values()].map(({ attributes, count, sum }) => ({ name, kind, attributes, count, sum }));
  }
  return [...family.series.values()].flatMap((series) => {
    try {
      return [{ name, kind, attributes: series.attributes, value: series.read() }];
    } catch {
      return [];
    }
  });
}
