import { MESSAGES } from "../bytes/messages.js";
import {
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENT_NAME_TAG,
  SPAN_EVENT_TIME_TAG,
  SPAN_EVENTS_TAG,
  SPAN_FLAGS_TAG,
  SPAN_ID_TAG,
  SPAN_KIND_TAG,
  SPAN_LINK_ATTRIBUTES_TAG,
  SPAN_LINK_SPAN_ID_TAG,
  SPAN_LINK_TRACE_ID_TAG,
  SPAN_LINK_TRACE_STATE_TAG,
  SPAN_LINKS_TAG,
  SPAN_NAME_TAG,
  SPAN_PARENT_ID_TAG,
  SPAN_START_TIME_TAG,
  SPAN_STATUS_TAG,
  SPAN_TRACE_ID_TAG,
  SPAN_TRACE_STATE_TAG,
} from "../bytes/tags.generated.js";
import { DroppableView } from "./message-view.js";
import { hex, type RecordOwners, RecordView } from "./record-view.js";

interface SpanStatus {
  /** 0 unset, 1 ok, 2 error. */
  readonly code: number;
  readonly message: string;
}

/** A span. Its fields are read on demand and written when set. */
export class SpanView extends RecordView {
  readonly signal = "traces";
  protected readonly attributesTag = SPAN_ATTRIBUTES_TAG;

  constructor(bytes: Uint8Array, start: number, end: number, owners: RecordOwners) {
    super(MESSAGES["Span"]!, bytes, start, end, owners);
  }

  protected override viewOf(bytes: Uint8Array, start: number, end: number): this {
    return new SpanView(bytes, start, end, this.owners) as this;
  }

  get traceId(): string {
    return hex(this.read(SPAN_TRACE_ID_TAG));
  }

  set traceId(value: string) {
    this.write(SPAN_TRACE_ID_TAG, value);
  }

  get spanId(): string {
    return hex(this.read(SPAN_ID_TAG));
  }

  set spanId(value: string) {
    this.write(SPAN_ID_TAG, value);
  }

  get traceState(): string {
    return this.text(SPAN_TRACE_STATE_TAG);
  }

  set traceState(value: string) {
    this.write(SPAN_TRACE_STATE_TAG, value);
  }

  /** Empty for a root span. */
  get parentSpanId(): string {
    return hex(this.read(SPAN_PARENT_ID_TAG));
  }

  set parentSpanId(value: string) {
    this.write(SPAN_PARENT_ID_TAG, value);
  }

  get name(): string {
    return this.text(SPAN_NAME_TAG);
  }

  set name(value: string) {
    this.write(SPAN_NAME_TAG, value);
  }

  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer; 0 unspecified. */
  get kind(): number {
    return this.number(SPAN_KIND_TAG);
  }

  set kind(value: number) {
    this.write(SPAN_KIND_TAG, value);
  }

  get startTimeUnixNano(): bigint {
    return this.time(SPAN_START_TIME_TAG);
  }

  set startTimeUnixNano(value: bigint) {
    this.write(SPAN_START_TIME_TAG, value);
  }

  get endTimeUnixNano(): bigint {
    return this.time(SPAN_END_TIME_TAG);
  }

  set endTimeUnixNano(value: bigint) {
    this.write(SPAN_END_TIME_TAG, value);
  }

  get status(): SpanStatus {
    const status = (this.read(SPAN_STATUS_TAG) ?? {}) as Partial<SpanStatus>;
    return { code: status.code ?? 0, message: status.message ?? "" };
  }

  set status(value: SpanStatus) {
    this.write(SPAN_STATUS_TAG, { ...(this.read(SPAN_STATUS_TAG) as object | undefined), ...value });
  }

  get flags(): number {
    return this.number(SPAN_FLAGS_TAG);
  }

  set flags(value: number) {
    this.write(SPAN_FLAGS_TAG, value);
  }

  get events(): readonly SpanEventView[] {
    return this.views(SPAN_EVENTS_TAG, (bytes, start, end) => new SpanEventView(bytes, start, end));
  }

  get links(): readonly SpanLinkView[] {
    return this.views(SPAN_LINKS_TAG, (bytes, start, end) => new SpanLinkView(bytes, start, end));
  }
}

export class SpanEventView extends DroppableView {
  protected readonly attributesTag = SPAN_EVENT_ATTRIBUTES_TAG;

  constructor(bytes: Uint8Array, start: number, end: number) {
    super(MESSAGES["Event"]!, bytes, start, end);
  }

  get timeUnixNano(): bigint {
    return (this.read(SPAN_EVENT_TIME_TAG) as bigint | undefined) ?? 0n;
  }

  set timeUnixNano(value: bigint) {
    this.write(SPAN_EVENT_TIME_TAG, value);
  }

  get name(): string {
    return (this.read(SPAN_EVENT_NAME_TAG) as string | undefined) ?? "";
  }

  set name(value: string) {
    this.write(SPAN_EVENT_NAME_TAG, value);
  }
}

class SpanLinkView extends DroppableView {
  protected readonly attributesTag = SPAN_LINK_ATTRIBUTES_TAG;

  constructor(bytes: Uint8Array, start: number, end: number) {
    super(MESSAGES["Link"]!, bytes, start, end);
  }

  get traceId(): string {
    return hex(this.read(SPAN_LINK_TRACE_ID_TAG));
  }

  set traceId(value: string) {
    this.write(SPAN_LINK_TRACE_ID_TAG, value);
  }

  get spanId(): string {
    return hex(this.read(SPAN_LINK_SPAN_ID_TAG));
  }

  set spanId(value: string) {
    this.write(SPAN_LINK_SPAN_ID_TAG, value);
  }

  get traceState(): string {
    return (this.read(SPAN_LINK_TRACE_STATE_TAG) as string | undefined) ?? "";
  }

  set traceState(value: string) {
    this.write(SPAN_LINK_TRACE_STATE_TAG, value);
  }
}
