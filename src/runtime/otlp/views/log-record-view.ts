import { MESSAGES } from "../bytes/messages.js";
import { readValue, type Value, writeValue } from "../bytes/value.js";
import { WireWriter } from "../bytes/writer.js";
import { EncodedMessage } from "./message-view.js";
import { hex, type RecordOwners, RecordView } from "./record-view.js";

/** A log record. Its fields are read on demand and written when set. */
export class LogRecordView extends RecordView {
  readonly signal = "logs";
  protected readonly attributesField = 6;

  constructor(bytes: Uint8Array, start: number, end: number, owners: RecordOwners) {
    super(MESSAGES["LogRecord"]!, bytes, start, end, owners);
  }

  protected override viewOf(bytes: Uint8Array, start: number, end: number): this {
    return new LogRecordView(bytes, start, end, this.owners) as this;
  }

  get timeUnixNano(): bigint {
    return this.time(1);
  }

  set timeUnixNano(value: bigint) {
    this.write(1, value);
  }

  get observedTimeUnixNano(): bigint {
    return this.time(11);
  }

  set observedTimeUnixNano(value: bigint) {
    this.write(11, value);
  }

  /** 1 to 24; 0 if unspecified. */
  get severityNumber(): number {
    return this.number(2);
  }

  set severityNumber(value: number) {
    this.write(2, value);
  }

  get severityText(): string {
    return this.text(3);
  }

  set severityText(value: string) {
    this.write(3, value);
  }

  get body(): Value {
    const pending = this.fieldChanges.get(5);
    if (pending instanceof EncodedMessage) return readValue(pending.bytes, 0, pending.bytes.length);
    const range = this.ranges(5)[0];
    return range === undefined ? null : readValue(this.bytes, ...range);
  }

  set body(value: Value) {
    const writer = new WireWriter(128);
    writeValue(writer, value);
    this.write(5, new EncodedMessage(writer.written()));
  }

  get traceId(): string {
    return hex(this.read(9));
  }

  set traceId(value: string) {
    this.write(9, value);
  }

  get spanId(): string {
    return hex(this.read(10));
  }

  set spanId(value: string) {
    this.write(10, value);
  }

  get flags(): number {
    return this.number(8);
  }

  set flags(value: number) {
    this.write(8, value);
  }

  get eventName(): string {
    return this.text(12);
  }

  set eventName(value: string) {
    this.write(12, value);
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
