import { parentPort } from "node:worker_threads";
import { isMalformed } from "#otlp/signals";
import { type OttlTrial, tryOttl } from "../compile/playground.js";
import { isOttlError } from "../values/error.js";

/** The answer to a trial: its results as JSON, or why there are none. */
export type TrialAnswer =
  | { readonly json: string }
  | { readonly error: string; readonly kind: "malformed" | "ottl" | "internal" };

/** The main module of the thread in which `OttlTrials` runs trials, one at a time. */
parentPort?.on("message", (trial: OttlTrial) => {
  void answerOf(trial).then((answer) => parentPort!.postMessage(answer));
});

async function answerOf(trial: OttlTrial): Promise<TrialAnswer> {
  try {
    return { json: JSON.stringify({ results: await tryOttl(trial) }) };
  } catch (error) {
    const kind = isMalformed(error) ? "malformed" : isOttlError(error) ? "ottl" : "internal";
    return { error: (error as Error).message, kind };
  }
}
