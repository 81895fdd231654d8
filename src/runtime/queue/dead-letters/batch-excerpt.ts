import type { Batch } from "#otlp";
import { type AnyRecordView, readRecords } from "#otlp/views";

interface BatchExcerpt {
  readonly names: readonly string[];
  readonly traceIds: readonly string[];
  readonly schemaUrls: readonly string[];
  readonly eventVersions: readonly string[];
}

const MAX_VALUES = { names: 8, traceIds: 4, schemaUrls: 4, eventVersions: 4 };
const MAX_RECORDS_READ = 1000;
const MAX_TEXT_LENGTH = 200;

/** Extracts a few values of a batch that help people to find it, bounded however large the batch is. Never throws. */
export function excerptOf(batch: Batch): BatchExcerpt {
  const names = new BoundedTexts(MAX_VALUES.names);
  const traceIds = new BoundedTexts(MAX_VALUES.traceIds);
  const schemaUrls = new BoundedTexts(MAX_VALUES.schemaUrls);
  const eventVersions = new BoundedTexts(MAX_VALUES.eventVersions);
  let seen = 0;
  const readRecord = (record: AnyRecordView) => {
    if (++seen > MAX_RECORDS_READ) throw STOP_READING;
    names.add(record.name);
    if (record.signal !== "metrics") traceIds.add(record.traceId);
    schemaUrls.add(record.scope.schemaUrl || record.resource.schemaUrl);
    eventVersions.add(String(record.attributes.get("event.version") ?? ""));
  };
  try {
    readRecords(batch, readRecord);
  } catch {
    // Enough was read, or the rest is unreadable. The values found so far are kept.
  }
  return {
    names: names.values,
    traceIds: traceIds.values,
    schemaUrls: schemaUrls.values,
    eventVersions: eventVersions.values,
  };
}

const STOP_READING = new Error("enough was seen");

class BoundedTexts {
  readonly values: string[] = [];
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  add(text: string): void {
    const short = text.slice(0, MAX_TEXT_LENGTH);
    if (short !== "" && this.values.length < this.max && !this.values.includes(short)) this.values.push(short);
  }
}
