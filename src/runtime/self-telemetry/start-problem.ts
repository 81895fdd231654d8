import type { Place, Problem } from "../config/problem.js";
import type { ResolvedConfig } from "../config/spec.js";
import { isStartError, type StartError } from "../contract/component.js";

/** A `StartError` of the agent's own telemetry with its place in the config, as the command line shows problems. */
export interface PlacedStartError extends StartError {
  readonly problems: readonly Problem[];
}

/** The error with its place if it is a `StartError`; any other as it is. */
export function withConfigPlace(error: unknown, config: ResolvedConfig): unknown {
  if (!isStartError(error)) return error;
  const { path, message } = error;
  const place = nearestPlace(config, path.map(listIndex));
  const problem: Problem = { severity: "error", code: "start_failed", place, path: path.join("."), message };
  return Object.assign(error, { problems: [problem] });
}

/** The place of the key, or of the nearest key around it that is written. */
function nearestPlace(config: ResolvedConfig, path: readonly (string | number)[]): Place | undefined {
  for (let length = path.length; length > 0; length--) {
    const place = config.placeOf(path.slice(0, length));
    if (place) return place;
  }
  return undefined;
}

function listIndex(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key;
}
