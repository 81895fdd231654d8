import type { Batch } from "../../../plugin.js";
import {
  type AttemptError,
  type Entry,
  ERROR_CODES,
  isGenericCode,
  type OutletSettings,
  toRefusal,
} from "../../../runtime/kit.js";
import { MAX_ERROR_MESSAGE } from "../entry/queue-errors.js";

/** What is sent of an entry that was replayed, or would be (`onlyCheck`), or why it is not fit to be sent. Never throws. */
export type PrepareReplayed = (
  entry: Pick<Entry, "pipeline" | "goesAsItIs">,
  batch: Batch,
  onlyCheck?: boolean,
) => PreparedBatch;

export type PreparedBatch =
  | { readonly batch: Batch; readonly error?: undefined }
  | { readonly batch?: undefined; readonly error: AttemptError };

const REPLAY_REFUSED = ERROR_CODES.SLUICE_REPLAY_REFUSED;

/**
 * Puts the steps that a pipeline has for replayed data in front of every send of it. Only what is sent changes; the stored
 * payload stays, so that a later config can treat it better. A step that refuses, fails or leaves records out makes the
 * entry a dead letter again: whatever it does, no record is lost by it.
 */
export function createReplayPreparation(prepareReplay: OutletSettings["prepareReplay"]): PrepareReplayed {
  if (prepareReplay === undefined) return (_entry, batch) => ({ batch });
  return ({ pipeline, goesAsItIs }, batch, onlyCheck) => {
    if (goesAsItIs) return { batch };
    try {
      const prepared = prepareReplay(batch, pipeline, onlyCheck);
      return prepared.count < batch.count ? { error: leftOutError(batch, prepared) } : { batch: prepared };
    } catch (error) {
      const refusal = toRefusal(error);
      return { error: replayRefusedError(refusal.message, refusal.code) };
    }
  };
}

function leftOutError(batch: Batch, prepared: Batch): AttemptError {
  const missing = batch.count - prepared.count;
  const which = prepared.count === 0 ? `all ${missing}` : `${missing} of ${batch.count}`;
  return replayRefusedError(
    `the replay steps of its pipeline left out ${which} records; nothing was sent`,
    REPLAY_REFUSED,
  );
}

function replayRefusedError(message: string, code: string): AttemptError {
  const name = isGenericCode(code) ? REPLAY_REFUSED : code;
  return {
    kind: "permanent",
    category: "schema",
    class: name,
    code: name,
    message: message.slice(0, MAX_ERROR_MESSAGE),
  };
}
