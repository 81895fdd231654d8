import { type AnyRecordView, editRecords, type RecordVerdict } from "../telemetry/edit.js";
import type { Processor } from "./component.js";
import { eachBatch } from "./each-batch.js";

/**
 * A processor from a function of one record: read it, change it, or return "drop". The batch goes on as it was if no
 * record was changed; a throw refuses the whole batch.
 */
export function eachRecord(edit: (record: AnyRecordView) => RecordVerdict): Processor {
  return eachBatch((batch) => {
    const edited = editRecords(batch, edit);
    return edited.count === 0 && batch.count > 0 ? null : edited;
  });
}
