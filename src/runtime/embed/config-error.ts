import type { Problem } from "../config/text/problem.js";
import { ERROR_CODES } from "../contract/error-codes.js";

/** A config that cannot be run. All that is wrong with it is in `problems`, and in the message, a line each. */
export class SluiceConfigError extends Error {
  override readonly name = "SluiceConfigError";
  readonly code = ERROR_CODES.SLUICE_CONFIG;
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[], options?: { cause?: unknown }) {
    super(`the config has problems:\n${problems.map(problemLine).join("\n")}`, options);
    this.problems = problems;
  }
}

export function problemLine({ place, path, message, suggestion }: Problem): string {
  const where = [place && `${place.file}:${place.line}:${place.column}`, path].filter(Boolean).join(" ");
  const hint = suggestion === undefined ? "" : ` (${suggestion})`;
  return `${where === "" ? "" : `${where}: `}${message}${hint}`;
}
