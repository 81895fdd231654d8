import { WireWriter } from "#otlp/bytes";
import { joinNanos, nanosHigh, nanosLow } from "#otlp/signals";
import { SPAN_EVENT_ATTRIBUTES_TAG, SPAN_EVENT_NAME_TAG, SPAN_EVENT_TIME_TAG, SPAN_EVENTS_TAG } from "#otlp/tags";
import { SPECIAL, TagList } from "./tag-list.js";

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/**
 * What Jaeger's formats have in common: a span as it is being read, before it is written as one of OTLP. There is one for all spans of a
 * request, so that none makes objects.
 *
 * Ids are copied into `ids`, as thrift has them in pieces; one that was not sent has no length. Times are seconds and nanoseconds.
 */
export class SpanDraft {
  readonly tags = new TagList();
  /** The events, written already. */
  readonly events = new WireWriter(256);
  nameStart = 0;
  nameEnd = 0;
  isSampled = false;
  startSeconds = 0;
  startNanos = 0;
  durationSeconds = 0;
  durationNanos = 0;
  /** Where the spans of its own process go: of protobuf alone, where it differs from that of the batch. */
  process: string | undefined;
  ids: Buffer = Buffer.alloc(256);
  /** In `ids`: the trace, the span and the parent that stands beside the references, which thrift alone has. */
  traceSize = 0;
  spanSize = 0;
  parentSize = 0;
  referenceCount = 0;
  readonly referenceTraceSizes: number[] = [];
  readonly referenceSpanSizes: number[] = [];
  readonly referenceTypes: number[] = [];
  private readonly fields = new TagList();

  clear(bytes: Uint8Array): void {
    this.tags.clear(bytes);
    this.events.clear();
    this.nameStart = this.nameEnd = 0;
    this.isSampled = false;
    this.startSeconds = this.startNanos = this.durationSeconds = this.durationNanos = 0;
    this.process = undefined;
    this.traceSize = this.spanSize = this.parentSize = this.referenceCount = 0;
  }

  /** Makes room for another reference: gives its place. */
  addReference(type: number): number {
    const at = this.referenceCount++;
    const end = this.referenceSpanAt(at) + SPAN_ID_BYTES;
    if (end > this.ids.length) this.ids = Buffer.concat([this.ids, Buffer.alloc(this.ids.length)]);
    this.referenceTypes[at] = type;
    this.referenceTraceSizes[at] = this.referenceSpanSizes[at] = 0;
    return at;
  }

  referenceTraceAt(reference: number): number {
    return REFERENCES_AT + reference * (TRACE_ID_BYTES + SPAN_ID_BYTES);
  }

  referenceSpanAt(reference: number): number {
    return this.referenceTraceAt(reference) + TRACE_ID_BYTES;
  }

  /** The list for the fields of a log, which are then ended with `addEvent`. */
  beginEvent(bytes: Uint8Array): TagList {
    this.fields.clear(bytes);
    return this.fields;
  }

  addEvent(seconds: number, nanos: number): void {
    const { events: out, fields } = this;
    out.byte(SPAN_EVENTS_TAG);
    out.begin(128);
    writeTime(out, SPAN_EVENT_TIME_TAG, seconds, nanos);
    const name = fields.takeText(SPECIAL.event) ?? "";
    if (name !== "") {
      out.byte(SPAN_EVENT_NAME_TAG);
      out.text(name);
    }
    fields.write(out, SPAN_EVENT_ATTRIBUTES_TAG);
    out.end();
  }
}

/** Places in `ids`. */
export const TRACE_AT = 0;
export const SPAN_AT: number = TRACE_AT + TRACE_ID_BYTES;
export const PARENT_AT: number = SPAN_AT + SPAN_ID_BYTES;
const REFERENCES_AT = PARENT_AT + SPAN_ID_BYTES;

/** Times that OTLP cannot say are the nearest that it can; zero is none. */
export function writeTime(out: WireWriter, field: number, seconds: number, nanos: number): void {
  joinNanos(seconds, nanos);
  if (nanosLow === 0 && nanosHigh === 0) return;
  out.byte(field);
  out.fixed64OfHalves(nanosLow, nanosHigh);
}
