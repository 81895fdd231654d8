import { Batch } from "../telemetry/batch.js";
import { editRecords, readRecords } from "../telemetry/edit.js";
import { batchFromJson } from "../telemetry/json.js";
import type { Value } from "../telemetry/views/value.js";

/** What tests mostly look at of a record. */
export interface PlainRecord {
  readonly name: string;
  /** Of a log record. */
  readonly body?: Value;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly resource: Readonly<Record<string, Value>>;
}

/** A log record to be made: its body, or more of it. */
export type LogInput = string | { readonly body?: Value; readonly attributes?: Readonly<Record<string, Value>> };

/** A batch of log records, all of one resource. */
export function logs(...records: readonly LogInput[]): Batch {
  if (records.length === 0) return Batch.empty("logs");
  const logRecords = records.map(() => ({ timeUnixNano: "1", severityNumber: 9 }));
  const blank = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
  let index = 0;
  return editRecords(blank, (record) => {
    const input = records[index++]!;
    const { body, attributes = {} } = typeof input === "string" ? { body: input } : input;
    if (record.signal === "logs" && body !== undefined) record.body = body;
    for (const [key, value] of Object.entries(attributes)) record.attributes.set(key, value);
  });
}

/** The records of a batch as plain objects. */
export function plainRecords(batch: Batch): PlainRecord[] {
  const found: PlainRecord[] = [];
  readRecords(batch, (record) => {
    const { name, attributes, resource } = record;
    const body = record.signal === "logs" ? { body: record.body } : {};
    found.push({
      name,
      ...body,
      attributes: { ...attributes.toObject() },
      resource: { ...resource.attributes.toObject() },
    });
  });
  return found;
}
