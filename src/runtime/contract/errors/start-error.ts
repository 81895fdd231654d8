import { ERROR_CODES, hasErrorCode } from "./error-codes.js";

/**
 * Means that a component cannot start as configured. Thrown by `start`, it is reported with its place in the config,
 * and nothing is left running. `path` is the responsible key in the component's config, if there is one.
 *
 * @example
 * throw new StartError("the port is taken", ["endpoint"]);
 */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly code = ERROR_CODES.SLUICE_START;
  readonly path: readonly string[];

  constructor(message: string, path: readonly string[] = [], options?: { cause?: unknown }) {
    super(message, options);
    this.path = path;
  }
}

/** Checked by its code, so that errors of another copy of the package are recognised too. */
export function isStartError(error: unknown): error is StartError {
  return hasErrorCode(error, ERROR_CODES.SLUICE_START);
}
