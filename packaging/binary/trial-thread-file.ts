/** In place of src/runtime/ottl/trials/trial-thread-file.ts: here the code is an asset of the executable. */
import { getAsset } from "node:sea";
import type { TrialThread } from "../../src/runtime/ottl/trials/trial-thread-file.js";

export function trialThread(): TrialThread {
  return { code: getAsset("trial-thread.cjs", "utf8"), eval: true };
}
