import { isUtf8 } from "node:buffer";
import { bodyEnd, nextBody, WireWriter } from "#otlp/bytes";
import { type DocumentJson, type PlainAttributes, plainAttributes, plainValueAt, plainValueText } from "#otlp/json";
import { RESOURCE_ATTRIBUTES_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { walkOwnedRecords } from "#otlp/views";

/** The resource and scope of records, where they lie in the bytes. */
export interface RecordOwner {
  readonly resource: PlainAttributes;
  readonly resourceStart: number;
  readonly resourceEnd: number;
  readonly scopeStart: number;
  readonly scopeEnd: number;
}

interface PageLimits {
  readonly maxRecords: number;
  /** Approximate limit for the length of the records with their resources. */
  readonly maxBytes: number;
}

/** Log records or spans that are sent together. */
export class RecordPage {
  readonly records: number[] = [];
  private readonly ranges: number[] = [];
  private readonly owners: RecordOwner[] = [];
  length = 0;

  add(record: number, start: number, end: number, owner: RecordOwner): void {
    this.records.push(record);
    this.ranges.push(start, end);
    this.owners.push(owner);
    this.length += end - start + owner.resourceEnd - owner.resourceStart;
  }

  each(visit: (start: number, end: number, owner: RecordOwner) => void): void {
    const { ranges, owners } = this;
    for (let i = 0; i < owners.length; i++) visit(ranges[2 * i]!, ranges[2 * i + 1]!, owners[i]!);
  }
}

/**
 * Divides the log records or spans of a batch into pages. Records with different keys are on different pages; a key is
 * chosen by resource.
 */
export function recordPages(
  b: Uint8Array,
  limits: PageLimits,
  keyOf: (resource: PlainAttributes) => string = () => "",
): { readonly key: string; readonly page: RecordPage }[] {
  const pages: { readonly key: string; readonly page: RecordPage }[] = [];
  const open = new Map<string, RecordPage>();
  let place = 0;
  let key = "";
  let owner: RecordOwner = { resource: {}, resourceStart: 0, resourceEnd: 0, scopeStart: 0, scopeEnd: 0 };
  walkOwnedRecords(b, {
    resource(resourceStart, resourceEnd) {
      const resource = plainAttributes(b, resourceStart, resourceEnd, RESOURCE_ATTRIBUTES_TAG);
      key = keyOf(resource);
      owner = { ...owner, resource, resourceStart, resourceEnd };
    },
    scope(scopeStart, scopeEnd) {
      owner = { ...owner, scopeStart, scopeEnd };
    },
    record(start, end) {
      let page = open.get(key);
      if (page === undefined || page.records.length >= limits.maxRecords || page.length > limits.maxBytes) {
        page = new RecordPage();
        open.set(key, page);
        pages.push({ key, page });
      }
      page.add(place++, start, end, owner);
    },
  });
  return pages;
}

/** Memory that all bodies reuse: allocating takes longer than writing. */
let scratch = new WireWriter(65_536);
const MAX_SCRATCH_BYTES = 8 * 1024 * 1024;

/** Returns what `write` writes, with invalid UTF-8 replaced by U+FFFD. */
export function writtenText(write: (out: WireWriter) => void): Uint8Array {
  const out = scratch;
  out.clear();
  write(out);
  const written = out.written();
  const body = Buffer.from(isUtf8(written) ? written : out.bytes.toString("utf8", 0, out.length));
  if (out.bytes.length > MAX_SCRATCH_BYTES) scratch = new WireWriter(65_536);
  return body;
}

/** Whether a key occurs twice, or there are too many to compare. `keys` has starts and ends. */
export function hasRepeatedKeys(b: Uint8Array, keys: readonly number[]): boolean {
  if (keys.length > 2 * MAX_COMPARED) return true;
  for (let i = 2; i < keys.length; i += 2)
    for (let j = 0; j < i; j += 2)
      if (
        keys[i + 1]! - keys[i]! === keys[j + 1]! - keys[j]! &&
        Buffer.compare(b.subarray(keys[i], keys[i + 1]), b.subarray(keys[j], keys[j + 1])) === 0
      )
        return true;
  return false;
}

/** Up to so many keys are compared with each other. */
const MAX_COMPARED = 32;

/** The bytes of an AnyValue that is a text; 0 for any other. */
export function textLength(b: Uint8Array, start: number, end: number): number {
  const textStart = nextBody(b, start, end, STRING_VALUE_TAG);
  return textStart < 0 ? 0 : bodyEnd - textStart;
}

/** Writes an AnyValue as a text in JSON, whatever it is. */
export function writeAsText(json: DocumentJson, b: Uint8Array, start: number, end: number): void {
  const textStart = nextBody(b, start, end, STRING_VALUE_TAG);
  if (textStart >= 0) return json.values.text(textStart, bodyEnd);
  json.raw(Buffer.from(JSON.stringify(plainValueText(plainValueAt(b, start, end)))));
}
