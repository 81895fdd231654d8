import { vi } from "vitest";
import { CONDITION_LIMIT_MS } from "./limits.js";

/**
 * Resolves with what `check` gives when its expectations hold, and fails with them when they never do. `expect.poll` says the same of one
 * value; it cannot be used where tests of a file run beside each other, for it would not know whose it is.
 */
export function until<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(check, { timeout: CONDITION_LIMIT_MS, interval: 10 });
}
