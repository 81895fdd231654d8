import { MESSAGES } from "../bytes/messages.js";
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
  protected readonly attributesField = 9;

  constructor(bytes: Uint8Array, start: number, end: number, owners: RecordOwners) {
    super(MESSAGES["Span"]!, bytes, start, end, owners);
  }

  protected override viewOf(bytes: Uint8Array, start: number, end: number): this {
    return new SpanView(bytes, start, end, this.owners) as this;
  }

  get traceId(): string {
    return hex(this.read(1));
  }

  set traceId(value: string) {
    this.write(1, value);
  }

  get spanId(): string {
    return hex(this.read(2));
  }

  set spanId(value: string) {
    this.write(2, value);
  }

  get traceState(): string {
    return this.text(3);
  }

  set traceState(value: string) {
    this.write(3, value);
  }

  /** Empty for a root span. */
  get parentSpanId(): string {
    return hex(this.read(4));
  }

  set parentSpanId(value: string) {
    this.write(4, value);
  }

  get name(): string {
    return this.text(5);
  }

  set name(value: string) {
    this.write(5, value);
  }

  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer; 0 unspecified. */
  get kind(): number {
    return this.number(6);
  }

  set kind(value: number) {
    this.write(6, value);
  }

  get startTimeUnixNano(): bigint {
    return this.time(7);
  }

  set startTimeUnixNano(value: bigint) {
    this.write(7, value);
  }

  get endTimeUnixNano(): bigint {
    return this.time(8);
  }

  set endTimeUnixNano(value: bigint) {
    this.write(8, value);
  }

  get status(): SpanStatus {
    const status = (this.read(15) ?? {}) as Partial<SpanStatus>;
    return { code: status.code ?? 0, message: status.message ?? "" };
  }

  set status(value: SpanStatus) {
    this.write(15, { ...(this.read(15) as object | undefined), ...value });
  }

  get flags(): number {
    return this.number(16);
  }

  set flags(value: number) {
    this.write(16, value);
  }

  get events(): readonly SpanEventView[] {
    return this.views(11, (bytes, start, end) => new SpanEventView(bytes, start, end));
  }

  get links(): readonly SpanLinkView[] {
    return this.views(13, (bytes, start, end) => new SpanLinkView(bytes, start, end));
  }
}

export class SpanEventView extends DroppableView {
  protected readonly attributesField = 3;

  constructor(bytes: Uint8Array, start: number, end: number) {
    super(MESSAGES["Event"]!, bytes, start, end);
  }

  get timeUnixNano(): bigint {
    return (this.read(1) as bigint | undefined) ?? 0n;
  }

  set timeUnixNano(value: bigint) {
    this.write(1, value);
  }

  get name(): string {
    return (this.read(2) as string | undefined) ?? "";
  }

  set name(value: string) {
    this.write(2, value);
  }
}

class SpanLinkView extends DroppableView {
  protected readonly attributesField = 4;

  constructor(bytes: Uint8Array, start: number, end: number) {
    super(MESSAGES["Link"]!, bytes, start, end);
  }

  get traceId(): string {
    return hex(this.read(1));
  }

  set traceId(value: string) {
    this.write(1, value);
  }

  get spanId(): string {
    return hex(this.read(2));
  }

  set spanId(value: string) {
    this.write(2, value);
  }

  get traceState(): string {
    return (this.read(3) as string | undefined) ?? "";
  }

  set traceState(value: string) {
    this.write(3, value);
  }
}
