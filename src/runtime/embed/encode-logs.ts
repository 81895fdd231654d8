import type { Batch } from "../telemetry/batch.js";
import { WireWriter } from "../telemetry/writer.js";
import { LogFrame } from "./log-frame.js";
import { type LogInput, writeLogRecord } from "./log-record.js";

const LOG_RECORD = 18;

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
    all.byte(LOG_RECORD);
    all.lengthDelimited(one.written());
  }
  return new LogFrame(resource).around(all.written(), records.length);
}
