import type { Problem } from "#config";
import { ERROR_CODES } from "#contract/errors";
import { ProblemsError } from "#host";

/** A config that cannot be run. All that is wrong with it is in `problems`, and in the message, a line each. */
export class SluiceConfigError extends ProblemsError {
  override readonly name = "SluiceConfigError";
  readonly code = ERROR_CODES.SLUICE_CONFIG;

  constructor(problems: readonly Problem[], options?: { cause?: unknown }) {
    super("the config has problems:", problems, options);
  }
}
