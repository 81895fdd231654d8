import { encodeField } from "../bytes/encode.js";
import { MESSAGES, type Message } from "../bytes/messages.js";
import {
  METRIC_DESCRIPTION_TAG,
  METRIC_METADATA_TAG,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  TEMPORALITY_TAG,
} from "../bytes/metric-tags.generated.js";
import {
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  SCHEMA_URL_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
} from "../bytes/tags.generated.js";
import { decodeText } from "../bytes/texts.js";
import { after, bodyEnd, fieldAt, fieldRange, findField, nextBody, varint } from "../bytes/wire.js";
import { WireWriter } from "../bytes/writer.js";
import { MessageView } from "./message-view.js";
import type { Frame, FrameEdit } from "./record-walk.js";

/** A resource or scope: field 1 of the message that contains its records. A change applies to all of its records. */
abstract class ResourceOrScopeView extends MessageView implements FrameEdit {
  private readonly frame: Frame;
  private newSchemaUrl: string | undefined;
  /** Found once for all records: to search for it takes as long as there are records. */
  private foundSchemaUrl: string | undefined;

  constructor(message: Message, bytes: Uint8Array, frame: Frame) {
    super(message, bytes, ...ownerRange(bytes, frame));
    this.frame = frame;
  }

  override get changed(): boolean {
    return this.newSchemaUrl !== undefined || super.changed;
  }

  /** The schema its records follow; empty if none is named. */
  get schemaUrl(): string {
    if (this.newSchemaUrl !== undefined) return this.newSchemaUrl;
    this.foundSchemaUrl ??= this.findSchemaUrl();
    return this.foundSchemaUrl;
  }

  set schemaUrl(value: string) {
    this.newSchemaUrl = value;
  }

  private findSchemaUrl(): string {
    const at = findField(this.bytes, this.frame.start, this.frame.end, SCHEMA_URL_TAG);
    if (at < 0) return "";
    const size = varint(this.bytes, at);
    return decodeText(this.bytes, after, after + size);
  }

  apply(out: WireWriter, start: number): void {
    if (super.changed) this.applyOwner(out, start);
    if (this.newSchemaUrl !== undefined) this.applySchemaUrl(out, start, this.newSchemaUrl);
  }

  private applySchemaUrl(out: WireWriter, start: number, url: string): void {
    const scratch = new WireWriter();
    if (url !== "") {
      scratch.byte(SCHEMA_URL_TAG);
      scratch.text(url);
    }
    const [from, to] = fieldRange(out.bytes, start, out.length, SCHEMA_URL_TAG >>> 3);
    out.replace(from, to, scratch.written());
  }

  private applyOwner(out: WireWriter, start: number): void {
    const scratch = new WireWriter(this.end - this.start + 256);
    scratch.byte(OWNER_TAG);
    scratch.begin(this.end - this.start);
    this.encodeInto(scratch);
    scratch.end();
    const [from, to] = fieldRange(out.bytes, start, out.length, OWNER_TAG >>> 3);
    out.replace(from, to, scratch.written());
  }
}

/** The producer of the records, such as a service or a host. */
export class ResourceView extends ResourceOrScopeView {
  protected readonly attributesTag = RESOURCE_ATTRIBUTES_TAG;

  constructor(bytes: Uint8Array, frame: Frame) {
    super(MESSAGES["Resource"]!, bytes, frame);
  }
}

/** The instrumentation library that recorded them. */
export class ScopeView extends ResourceOrScopeView {
  protected readonly attributesTag = SCOPE_ATTRIBUTES_TAG;

  constructor(bytes: Uint8Array, frame: Frame) {
    super(MESSAGES["Scope"]!, bytes, frame);
  }

  get name(): string {
    return (this.read(SCOPE_NAME_TAG) as string | undefined) ?? "";
  }

  set name(value: string) {
    this.write(SCOPE_NAME_TAG, value);
  }

  get version(): string {
    return (this.read(SCOPE_VERSION_TAG) as string | undefined) ?? "";
  }

  set version(value: string) {
    this.write(SCOPE_VERSION_TAG, value);
  }
}

function ownerRange(bytes: Uint8Array, frame: Frame): [start: number, end: number] {
  const at = findField(bytes, frame.start, frame.end, OWNER_TAG);
  if (at < 0) return [frame.start, frame.start];
  const size = varint(bytes, at);
  return [after, after + size];
}

/** Fields of the message around records itself, set one by one. */
abstract class FrameView extends MessageView implements FrameEdit {
  apply(out: WireWriter, start: number): void {
    for (const [number, value] of this.fieldChanges) {
      const scratch = new WireWriter();
      if (value !== undefined) encodeField(this.field(number), value, scratch);
      const [from, to] = fieldRange(out.bytes, start, out.length, number);
      out.replace(from, to, scratch.written());
    }
    if (this.attributes.changed) this.applyAttributes(out, start);
  }

  private applyAttributes(out: WireWriter, start: number): void {
    const { attributesTag } = this;
    for (let p = start; (p = nextBody(out.bytes, p, out.length, attributesTag)) >= 0; ) {
      const from = fieldAt;
      const body = p;
      p = bodyEnd;
      if (!this.attributes.replaces(out.bytes, body, p)) continue;
      out.replace(from, p, EMPTY_BYTES);
      p = from;
    }
    this.attributes.writeChanges(out);
  }
}

const EMPTY_BYTES = new Uint8Array(0);

export type MetricType = "gauge" | "sum" | "histogram" | "exponentialHistogram" | "summary";

/** The metric of a data point. A change applies to all of its points. */
export class MetricView extends FrameView {
  protected readonly attributesTag = METRIC_METADATA_TAG;
  readonly type: MetricType;
  private readonly data: MetricDataView;

  constructor(bytes: Uint8Array, metric: Frame, data: Frame) {
    super(MESSAGES["Metric"]!, bytes, metric.start, metric.end);
    const field = MESSAGES["Metric"]!.byNumber[data.tag >>> 3]!;
    this.type = field.name as MetricType;
    this.data = new MetricDataView(field.message!, bytes, data);
  }

  get name(): string {
    return (this.read(METRIC_NAME_TAG) as string | undefined) ?? "";
  }

  set name(value: string) {
    this.write(METRIC_NAME_TAG, value);
  }

  get description(): string {
    return (this.read(METRIC_DESCRIPTION_TAG) as string | undefined) ?? "";
  }

  set description(value: string) {
    this.write(METRIC_DESCRIPTION_TAG, value);
  }

  get unit(): string {
    return (this.read(METRIC_UNIT_TAG) as string | undefined) ?? "";
  }

  set unit(value: string) {
    this.write(METRIC_UNIT_TAG, value);
  }

  /** 0 unspecified, 1 delta, 2 cumulative; undefined for gauges and summaries, which have none. */
  get aggregationTemporality(): number | undefined {
    return this.data.aggregationTemporality;
  }

  /** Set for sums; undefined for every other type. */
  get isMonotonic(): boolean | undefined {
    return this.data.isMonotonic;
  }
}

/** A metric's data, which says how to read its points. */
class MetricDataView extends MessageView {
  protected readonly attributesTag = 0;

  constructor(message: Message, bytes: Uint8Array, frame: Frame) {
    super(message, bytes, frame.start, frame.end);
  }

  get aggregationTemporality(): number | undefined {
    return !this.message.byName.has("aggregationTemporality")
      ? undefined
      : ((this.read(TEMPORALITY_TAG) as number | undefined) ?? 0);
  }

  get isMonotonic(): boolean | undefined {
    return !this.message.byName.has("isMonotonic")
      ? undefined
      : ((this.read(MONOTONIC_TAG) as boolean | undefined) ?? false);
  }
}
