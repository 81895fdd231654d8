import type { Logger } from "../contract/observability.js";

/**
 * A program's logger, called from inside a pipeline: whatever it throws or rejects with stays here, so that a log that
 * fails costs its line and nothing else. What has no children of its own, such as `console`, is told their fields.
 */
export function safeLogger(logger: Logger, bound: Readonly<Record<string, unknown>> = {}): Logger {
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
