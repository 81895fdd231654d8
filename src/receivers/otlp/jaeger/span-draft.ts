import { WireWriter } from "#otlp/bytes";
import { joinNanos, MalformedError, nanosHigh, nanosLow } from "#otlp/signals";
import { SPAN_EVENT_ATTRIBUTES_TAG, SPAN_EVENT_NAME_TAG, SPAN_EVENT_TIME_TAG, SPAN_EVENTS_TAG } from "#otlp/tags";
import { SPECIAL, TagList } from "./tag-list.js";

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const MAX_REFERENCES = 10_000;

/**
 * A span being read, in a form common to all of Jaeger's formats, before it is written as OTLP. One instance serves all
 * spans of a request, so no objects are created per span.
 *
 * Ids are copied into `ids` because thrift sends them in parts; an id that was not sent has length 0. Times are seconds
 * and nanoseconds.
 */
export class SpanDraft {
  readonly tags = new TagList();
  /** The events, already encoded. */
  readonly events = new WireWriter(256);
  nameStart = 0;
  nameEnd = 0;
  isSampled = false;
  startSeconds = 0;
  startNanos = 0;
  durationSeconds = 0;
  durationNanos = 0;
  /** The span's own process if it differs from the batch's. Only protobuf has this. */
  process: string | undefined;
  ids: Buffer = Buffer.alloc(256);
  /** Sizes in `ids` of the trace id, the span id and the parent id outside the references, which only thrift has. */
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

  /** Makes room for another reference and returns its place in `ids`. */
  addReference(type: number): number {
    const at = this.referenceCount++;
    if (at === MAX_REFERENCES) throw new MalformedError("a span has too many references", -1);
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

  /** Returns the list for a log's fields; finish it with `addEvent`. */
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

/** Positions in `ids`. */
export const TRACE_AT = 0;
export const SPAN_AT: number = TRACE_AT + TRACE_ID_BYTES;
export const PARENT_AT: number = SPAN_AT + SPAN_ID_BYTES;
const REFERENCES_AT = PARENT_AT + SPAN_ID_BYTES;

/** A time outside OTLP's range becomes the nearest one inside it. Zero means no time. */
export function writeTime(out: WireWriter, field: number, seconds: number, nanos: number): void {
  joinNanos(seconds, nanos);
  if (nanosLow === 0 && nanosHigh === 0) return;
  out.byte(field);
  out.fixed64OfHalves(nanosLow, nanosHigh);
}
