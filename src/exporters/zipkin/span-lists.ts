import type { SpanBodies, SpanBody } from "#net/sending";
import { type OwnedRecordVisitor, walkOwnedRecords } from "#otlp/views";
import type { Batch } from "../../plugin.js";
import { hasIds, JsonSpanWriter, type SpanOwner } from "./json-spans.js";
import { protoSpans } from "./proto-spans.js";
import { type ConvertibleSpan, zipkinSpansOf } from "./to-zipkin.js";

/**
 * Approximate maximum size of a list. Every span repeats the tags of its resource, so a list is written only when it is
 * sent.
 */
const MAX_LIST_LENGTH = 2 * 1024 * 1024;

export function jsonListsOf(batch: Batch, defaultService: string | undefined): SpanBodies {
  const sorting = new ListSorting(batch.bytes, defaultService);
  walkOwnedRecords(batch.bytes, sorting);
  return sorting;
}

class ListSorting implements OwnedRecordVisitor, SpanBodies {
  readonly bodies: JsonList[] = [];
  readonly withoutIds: number[] = [];
  private readonly bytes: Uint8Array;
  private readonly defaultService: string | undefined;
  private place = 0;
  private owner: SpanOwner = { resourceStart: 0, resourceEnd: 0, scopeStart: 0, scopeEnd: 0 };

  constructor(bytes: Uint8Array, defaultService: string | undefined) {
    this.bytes = bytes;
    this.defaultService = defaultService;
  }

  resource(resourceStart: number, resourceEnd: number): void {
    this.owner = { ...this.owner, resourceStart, resourceEnd };
  }

  scope(scopeStart: number, scopeEnd: number): void {
    this.owner = { ...this.owner, scopeStart, scopeEnd };
  }

  record(start: number, end: number): void {
    const record = this.place++;
    if (!hasIds(this.bytes, start, end)) {
      this.withoutIds.push(record);
      return;
    }
    let list = this.bodies.at(-1);
    if (list === undefined || list.isFull) this.bodies.push((list = new JsonList(this.bytes, this.defaultService)));
    list.add(record, start, end, this.owner);
  }
}

class JsonList implements SpanBody {
  readonly records: number[] = [];
  private readonly bytes: Uint8Array;
  private readonly defaultService: string | undefined;
  private readonly ranges: number[] = [];
  private readonly owners: SpanOwner[] = [];
  private length = 0;

  constructor(bytes: Uint8Array, defaultService: string | undefined) {
    this.bytes = bytes;
    this.defaultService = defaultService;
  }

  get isFull(): boolean {
    return this.length > MAX_LIST_LENGTH;
  }

  add(record: number, start: number, end: number, owner: SpanOwner): void {
    this.records.push(record);
    this.ranges.push(start, end);
    this.owners.push(owner);
    this.length += end - start + owner.resourceEnd - owner.resourceStart + owner.scopeEnd - owner.scopeStart;
  }

  encode(): Uint8Array {
    const writer = new JsonSpanWriter(this.bytes, this.defaultService);
    for (let i = 0; i < this.owners.length; i++)
      writer.add(this.ranges[2 * i]!, this.ranges[2 * i + 1]!, this.owners[i]!);
    return writer.finish();
  }
}

export function protoListsOf(batch: Batch, defaultService: string | undefined): SpanBodies {
  const lists: { readonly records: number[]; readonly spans: ConvertibleSpan[]; length: number }[] = [];
  const withoutIds: number[] = [];
  const meanLength = Math.ceil(batch.byteLength / Math.max(batch.count, 1));
  let place = 0;
  for (const span of zipkinSpansOf(batch, defaultService)) {
    const record = place++;
    if (!span.hasIds) {
      withoutIds.push(record);
      continue;
    }
    let list = lists.at(-1);
    if (list === undefined || list.length > MAX_LIST_LENGTH) lists.push((list = { records: [], spans: [], length: 0 }));
    list.spans.push(span);
    list.records.push(record);
    list.length += span.sharedLength + meanLength;
  }
  return {
    bodies: lists.map(({ records, spans }) => ({
      records,
      encode: () => protoSpans(spans.map((span) => span.convert())),
    })),
    withoutIds,
  };
}
