import type { Problem } from "#config/text";
import { ERROR_CODES } from "#contract/errors";
import { ProblemsError } from "#host/errors";

/** A config that cannot be run. `problems` and the message have all of its problems; the message has one per line. */
export class SluiceConfigError extends ProblemsError {
  override readonly name = "SluiceConfigError";
  readonly code = ERROR_CODES.SLUICE_CONFIG;

  constructor(problems: readonly Problem[], options?: { cause?: unknown }) {
    super("the config has problems:", problems, options);
  }
}
