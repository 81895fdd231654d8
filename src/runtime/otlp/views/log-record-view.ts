import { MESSAGES } from "../bytes/messages.js";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_EVENT_NAME_TAG,
  LOG_FLAGS_TAG,
  LOG_OBSERVED_TIME_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_SEVERITY_TEXT_TAG,
  LOG_SPAN_ID_TAG,
  LOG_TIME_TAG,
  LOG_TRACE_ID_TAG,
} from "../bytes/tags.generated.js";
import { readValue, type Value, writeValue } from "../bytes/value.js";
import { WireWriter } from "../bytes/writer.js";
import { EncodedMessage } from "./message-view.js";
import { hex, type RecordOwners, RecordView } from "./record-view.js";

/** A log record. Its fields are read on demand and written when set. */
export class LogRecordView extends RecordView {
  readonly signal = "logs";
  protected readonly attributesTag = LOG_ATTRIBUTES_TAG;

  constructor(bytes: Uint8Array, start: number, end: number, owners: RecordOwners) {
    super(MESSAGES["LogRecord"]!, bytes, start, end, owners);
  }

  protected override viewOf(bytes: Uint8Array, start: number, end: number): this {
    return new LogRecordView(bytes, start, end, this.owners) as this;
  }

  get timeUnixNano(): bigint {
    return this.time(LOG_TIME_TAG);
  }

  set timeUnixNano(value: bigint) {
    this.write(LOG_TIME_TAG, value);
  }

  get observedTimeUnixNano(): bigint {
    return this.time(LOG_OBSERVED_TIME_TAG);
  }

  set observedTimeUnixNano(value: bigint) {
    this.write(LOG_OBSERVED_TIME_TAG, value);
  }

  /** 1 to 24; 0 if unspecified. */
  get severityNumber(): number {
    return this.number(LOG_SEVERITY_NUMBER_TAG);
  }

  set severityNumber(value: number) {
    this.write(LOG_SEVERITY_NUMBER_TAG, value);
  }

  get severityText(): string {
    return this.text(LOG_SEVERITY_TEXT_TAG);
  }

  set severityText(value: string) {
    this.write(LOG_SEVERITY_TEXT_TAG, value);
  }

  get body(): Value {
    const pending = this.fieldChanges.get(LOG_BODY_TAG >>> 3);
    if (pending instanceof EncodedMessage) return readValue(pending.bytes, 0, pending.bytes.length);
    const range = this.ranges(LOG_BODY_TAG)[0];
    return range === undefined ? null : readValue(this.bytes, ...range);
  }

  set body(value: Value) {
    const writer = new WireWriter(128);
    writeValue(writer, value);
    this.write(LOG_BODY_TAG, new EncodedMessage(writer.written()));
  }

  get traceId(): string {
    return hex(this.read(LOG_TRACE_ID_TAG));
  }

  set traceId(value: string) {
    this.write(LOG_TRACE_ID_TAG, value);
  }

  get spanId(): string {
    return hex(this.read(LOG_SPAN_ID_TAG));
  }

  set spanId(value: string) {
    this.write(LOG_SPAN_ID_TAG, value);
  }

  get flags(): number {
    return this.number(LOG_FLAGS_TAG);
  }

  set flags(value: number) {
    this.write(LOG_FLAGS_TAG, value);
  }

  get eventName(): string {
    return this.text(LOG_EVENT_NAME_TAG);
  }

  set eventName(value: string) {
    this.write(LOG_EVENT_NAME_TAG, value);
  }

  /** The event name field, or else the attribute event.name. */
  get name(): string {
    if (this.eventName !== "") return this.eventName;
    const attribute = this.attributes.get("event.name");
    return typeof attribute === "string" ? attribute : "";
  }

  set name(value: string) {
    if (this.eventName === "" && this.attributes.has("event.name")) this.attributes.set("event.name", value);
    else this.eventName = value;
  }
}
