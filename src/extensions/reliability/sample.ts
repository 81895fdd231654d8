import { type AnyRecordView, type Batch, readRecords } from "../../plugin.js";

export interface Sample {
  readonly names: readonly string[];
  readonly traceIds: readonly string[];
  readonly schemaUrls: readonly string[];
}

const MOST = { names: 8, traceIds: 4, schemaUrls: 4 };
const MOST_RECORDS = 1000;
const MOST_TEXT = 200;

/** A little of what is inside a batch, for people who look for it: bounded however large the batch is. Never throws. */
export function sampleOf(batch: Batch): Sample {
  const names = new Collection(MOST.names);
  const traceIds = new Collection(MOST.traceIds);
  const schemaUrls = new Collection(MOST.schemaUrls);
  let seen = 0;
  const look = (record: AnyRecordView) => {
    if (++seen > MOST_RECORDS) throw ENOUGH;
    names.add(record.name);
    if (record.signal !== "metrics") traceIds.add(record.traceId);
    schemaUrls.add(record.scope.schemaUrl || record.resource.schemaUrl);
  };
  try {
    readRecords(batch, look);
  } catch {
    // Enough was seen, or the rest cannot be read: what was found stays.
  }
  return { names: names.all, traceIds: traceIds.all, schemaUrls: schemaUrls.all };
}

const ENOUGH = new Error("enough was seen");

class Collection {
  readonly all: string[] = [];
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  add(text: string): void {
    const short = text.slice(0, MOST_TEXT);
    if (short !== "" && this.all.length < this.most && !this.all.includes(short)) this.all.push(short);
  }
}
