import type { Logger } from "../contract/observability.js";

/**
 * A program's logger, called from inside a pipeline: whatever it throws or rejects with stays here, so that a log that
 * fails costs its line and nothing else. What has no children of its own, such as `console`, is told their fields.
 */
export function safeLogger(logger: Logger, bound: Readonly<Record<string, unknown>> = {}): Logger {
  const say = (level: "debug" | "info" | "warn" | "error") => (fields: object, message: string) => {
    try {
      swallow(logger[level]({ ...bound, ...fields }, message));
    } catch {
      // Nobody is left to tell.
    }
  };
  return {
    debug: say("debug"),
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
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
function swallow(result: unknown): void {
  if (result instanceof Promise) result.catch(() => {});
}
