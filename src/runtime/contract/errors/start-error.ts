import { ERROR_CODES, hasErrorCode } from "./error-codes.js";

/**
 * Says that a component cannot start as configured: thrown by `start`, it becomes a problem with its place in the
 * config, and nothing is left running. `path` is the key in its config that is to blame, if one is.
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

/** Told by its code, so that one of another copy of the package counts too. */
export function isStartError(error: unknown): error is StartError {
  return hasErrorCode(error, ERROR_CODES.SLUICE_START);
}
