import { createRequire } from "node:module";

/** The code of a thread: a path, or with `eval` the text itself. */
export interface TrialThread {
  readonly code: string;
  readonly eval: boolean;
}

/** The thread for trials is a file of the package. */
export function trialThread(): TrialThread {
  return { code: createRequire(import.meta.url).resolve("#trial-thread"), eval: false };
}
