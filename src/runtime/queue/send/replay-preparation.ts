import { ERROR_CODES, isGenericCode, toRefusal } from "#contract/errors";
import type { AttemptError, Entry } from "#contract/operations";
import type { OutletSettings } from "#contract/operators";
import type { Batch } from "#otlp";
import type { PrepareReplayed } from "../dead-letters/exporter-control.js";
import { MAX_ERROR_MESSAGE } from "../entry/queue-errors.js";

const REPLAY_REFUSED = ERROR_CODES.SLUICE_REPLAY_REFUSED;

/**
 * Runs a pipeline's replay steps before every send of a replayed entry. Only the sent batch changes. The stored payload
 * stays the same, so that a later config can treat it better. If a step refuses, fails or leaves out records, the entry
 * becomes a dead letter again, so no record is lost. An entry of a pipeline that does not end at this exporter (for
 * example, a dead letter replayed to another exporter) passes the steps of its own pipeline and then those of all
 * pipelines that end here, so the backend gets nothing that its own pipelines would have masked.
 */
export function createReplayPreparation(
  prepareReplay: OutletSettings["prepareReplay"],
  ending: OutletSettings["pipelines"] = [],
): PrepareReplayed {
  if (prepareReplay === undefined) return (_entry, batch) => ({ batch });
  const pipelinesOf = ({ pipeline, signal }: Pick<Entry, "pipeline" | "signal">) => {
    const own = ending.filter((each) => each.signal === signal).map(({ id }) => id);
    return own.includes(pipeline) ? [pipeline] : [pipeline, ...own];
  };
  return (entry, batch, onlyCheck) => {
    if (entry.goesAsItIs) return { batch };
    try {
      const prepared = pipelinesOf(entry).reduce((each, pipeline) => prepareReplay(each, pipeline, onlyCheck), batch);
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
