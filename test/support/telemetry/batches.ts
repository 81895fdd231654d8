import { type Batch, batchFromJson, readRecords } from "../../../src/plugin.js";

/** A batch of log records whose bodies are these texts. */
export function logs(...bodies: string[]): Batch {
  const logRecords = bodies.map((body) => ({ timeUnixNano: "1", severityNumber: 9, body: { stringValue: body } }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

/** The bodies of a batch of log records, in order. */
export function bodies(batch: Batch): string[] {
  const found: string[] = [];
  readRecords(batch, (record) => {
    if (record.signal === "logs") found.push(String(record.body));
  });
  return found;
}
