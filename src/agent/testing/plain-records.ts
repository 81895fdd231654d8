import { Batch } from "#otlp";
import type { Value } from "#otlp/bytes";
import { batchFromJson } from "#otlp/json";
import { editRecords, readRecords } from "#otlp/views";

/** The fields of a record that tests usually check. */
export interface PlainRecord {
  readonly name: string;
  /** Only of a log record. */
  readonly body?: Value;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly resource: Readonly<Record<string, Value>>;
}

/** A log record to create: its body, or an object with more fields. */
export type TestLogInput =
  | string
  | {
      /** Name of the event. */
      readonly name?: string;
      readonly body?: Value;
      /** Default: 9, INFO. */
      readonly severityNumber?: number;
      readonly attributes?: Readonly<Record<string, Value>>;
    };

/** A batch of log records, all of one resource. */
export function logs(...records: readonly TestLogInput[]): Batch {
  if (records.length === 0) return Batch.empty("logs");
  const logRecords = records.map((input) => {
    const { name, severityNumber = 9 } = checked(input);
    return { timeUnixNano: "1", severityNumber, ...(name !== undefined && { eventName: name }) };
  });
  const blank = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
  let index = 0;
  return editRecords(blank, (record) => {
    const input = records[index++]!;
    const { body, attributes = {} } = checked(input);
    if (record.signal === "logs" && body !== undefined) record.body = body;
    for (const [key, value] of Object.entries(attributes)) record.attributes.set(key, value);
  });
}

const KEYS = ["name", "body", "severityNumber", "attributes"];

/** An unknown key would be ignored silently, and the test would not test what it says. */
function checked(input: TestLogInput): Exclude<TestLogInput, string> {
  if (typeof input === "string") return { body: input };
  const unknown = Object.keys(input).find((key) => !KEYS.includes(key));
  if (unknown === undefined) return input;
  throw new TypeError(`logs() knows no "${unknown}", only ${KEYS.join(", ")}; write the rest with batchFromJson`);
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
