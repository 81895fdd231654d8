import { attributeValue, eachBody, encodedKey, findAttribute, hasKey, message, WireWriter } from "#otlp/bytes";
import { plainValueText } from "#otlp/json";
import {
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
} from "#otlp/tags";
import {
  JAEGER_BATCH_PROCESS_TAG,
  JAEGER_BATCH_SPANS_TAG,
  JAEGER_BATCH_TAG,
  JAEGER_PROCESS_SERVICE_TAG,
  JAEGER_PROCESS_TAGS_TAG,
  NO_JAEGER_SERVICE,
} from "#traces";
import { writeAttributeTag } from "./tag-writer.js";
import { hasIds, scopeTagsOf, writeSpan } from "./write-span.js";

/** Approximate maximum size of a message. Jaeger accepts 4 MiB by default. */
const MAX_MESSAGE_LENGTH = 2 * 1024 * 1024;

/**
 * A request to Jaeger: spans of one resource, given by their indexes in the batch. They are written only when the
 * request is sent, because every span repeats the tags of its scope.
 */
export class PostSpans {
  readonly records: number[] = [];
  /** Start and end of each span and of its scope. */
  private readonly ranges: number[] = [];
  private readonly bytes: Uint8Array;
  private readonly resourceStart: number;
  private readonly resourceEnd: number;
  private readonly leftOut: Uint8Array | undefined;
  private spansLength = 0;

  /** `leftOut` is the encoded key of a resource attribute that is not sent. */
  constructor(bytes: Uint8Array, resourceStart: number, resourceEnd: number, leftOut?: Uint8Array) {
    this.bytes = bytes;
    this.resourceStart = resourceStart;
    this.resourceEnd = resourceEnd;
    this.leftOut = leftOut;
  }

  /** Approximate length of the message. */
  get length(): number {
    return this.spansLength + this.resourceEnd - this.resourceStart + SPAN_OVERHEAD;
  }

  get isFull(): boolean {
    return this.spansLength > MAX_MESSAGE_LENGTH;
  }

  add(record: number, start: number, end: number, scopeStart: number, scopeEnd: number): void {
    this.records.push(record);
    this.ranges.push(start, end, scopeStart, scopeEnd);
    this.spansLength += end - start + scopeEnd - scopeStart + SPAN_OVERHEAD;
  }

  /** Encodes a jaeger.api_v2.PostSpansRequest. */
  message(): Uint8Array {
    const { bytes, ranges } = this;
    const out = new WireWriter(this.length);
    out.byte(JAEGER_BATCH_TAG);
    out.begin(this.spansLength);
    let scope = -1;
    let scopeTags: Uint8Array = new Uint8Array(0);
    for (let i = 0; i < ranges.length; i += 4) {
      if (ranges[i + 2] !== scope) {
        scope = ranges[i + 2]!;
        scopeTags = scopeTagsOf(bytes, scope, ranges[i + 3]!);
      }
      out.byte(JAEGER_BATCH_SPANS_TAG);
      out.begin(ranges[i + 1]! - ranges[i]! + SPAN_OVERHEAD);
      writeSpan(out, bytes, ranges[i]!, ranges[i + 1]!, scopeTags);
      out.end();
    }
    out.byte(JAEGER_BATCH_PROCESS_TAG);
    out.begin(this.resourceEnd - this.resourceStart);
    writeProcess(out, bytes, this.resourceStart, this.resourceEnd, this.leftOut);
    out.end();
    out.end();
    return out.written();
  }
}

/** Approximate size of the tags for a span's kind, status and scope. */
const SPAN_OVERHEAD = 128;

const SERVICE_KEY = encodedKey("service.name");

/** Returns the spans of a batch grouped by resource into requests, and the indexes of spans without ids. */
export function postSpansOf(
  bytes: Uint8Array,
  leftOut?: Uint8Array,
): { readonly requests: PostSpans[]; readonly withoutIds: number[] } {
  const requests: PostSpans[] = [];
  const withoutIds: number[] = [];
  const open = new Map<string, PostSpans>();
  let place = 0;
  eachBody(bytes, 0, bytes.length, RESOURCE_CONTAINER_TAG, (start, end) => {
    const [resourceStart, resourceEnd] = message(bytes, start, end, OWNER_TAG);
    const key = Buffer.from(bytes.buffer, bytes.byteOffset + resourceStart, resourceEnd - resourceStart).toString(
      "latin1",
    );
    eachBody(bytes, start, end, SCOPE_CONTAINER_TAG, (scopedStart, scopedEnd) => {
      const [scopeStart, scopeEnd] = message(bytes, scopedStart, scopedEnd, OWNER_TAG);
      eachBody(bytes, scopedStart, scopedEnd, SCOPE_ITEM_TAG, (spanStart, spanEnd) => {
        const record = place++;
        if (!hasIds(bytes, spanStart, spanEnd)) {
          withoutIds.push(record);
          return;
        }
        let request = open.get(key);
        if (request === undefined || request.isFull) {
          request = new PostSpans(bytes, resourceStart, resourceEnd, leftOut);
          open.set(key, request);
          requests.push(request);
        }
        request.add(record, spanStart, spanEnd, scopeStart, scopeEnd);
      });
    });
  });
  return { requests, withoutIds };
}

function writeProcess(out: WireWriter, b: Uint8Array, start: number, end: number, leftOut?: Uint8Array): void {
  const at = findAttribute(b, start, end, RESOURCE_ATTRIBUTES_TAG, SERVICE_KEY);
  const name = at < 0 ? null : attributeValue(b, at);
  out.byte(JAEGER_PROCESS_SERVICE_TAG);
  out.text(name === null || name === "" ? NO_JAEGER_SERVICE : plainValueText(name));
  eachBody(b, start, end, RESOURCE_ATTRIBUTES_TAG, (keyValueStart, keyValueEnd) => {
    const isSent = leftOut === undefined || !hasKey(b, keyValueStart, keyValueEnd, leftOut);
    if (isSent && !hasKey(b, keyValueStart, keyValueEnd, SERVICE_KEY))
      writeAttributeTag(out, JAEGER_PROCESS_TAGS_TAG, b, keyValueStart, keyValueEnd);
  });
}
