import type { Batch } from "../telemetry/batch.js";
import { WireWriter } from "../telemetry/writer.js";
import { LogBatchBuilder } from "./log-frame.js";
import { type LogInput, writeLogRecord } from "./log-record.js";

const LOG_RECORD_TAG = 18;

/** A batch of these records, all of one resource. Throws when one of them cannot be written. */
export function encodeLogs(
  records: readonly LogInput[],
  resource: Readonly<Record<string, unknown>>,
  nowMs: number,
): Batch {
  const one = new WireWriter(1024);
  const all = new WireWriter(records.length * 256);
  for (const record of records) {
    one.length = 0;
    writeLogRecord(one, record, nowMs);
    all.byte(LOG_RECORD_TAG);
    all.lengthDelimited(one.written());
  }
  return new LogBatchBuilder(resource).build(all.written(), records.length);
}
