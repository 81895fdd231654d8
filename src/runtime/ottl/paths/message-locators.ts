import {
  after,
  dataPointMessage,
  fieldRange,
  LENGTH_DELIMITED,
  MESSAGES,
  metricDataMessage,
  varint,
  WireWriter,
} from "#otlp/bytes";
import { METRIC_DATA_TAGS } from "#otlp/metric-tags";
import { OWNER_TAG } from "#otlp/tags";
import type { FrameEdit } from "#otlp/views";
import { EditableMessage } from "./editable-message.js";
import type { RecordContext } from "./record-context.js";

/** Finds a message of a `RecordContext` for the current record. Its changes reach the batch through the walk. */
interface MessageLocator {
  current(): EditableMessage;
}

class RecordLocator implements MessageLocator {
  private readonly message: EditableMessage;

  constructor(message: EditableMessage) {
    this.message = message;
  }

  current(): EditableMessage {
    return this.message;
  }
}

/** A message around the records. It costs nothing unless a path leads into it: most walks need one or none of them. */
class FrameLocator implements MessageLocator, FrameEdit {
  protected readonly ctx: RecordContext;
  protected readonly depth: number;
  private readonly messageName: string;
  private located: EditableMessage | undefined;
  private serial = -1;

  constructor(ctx: RecordContext, depth: number, messageName: string) {
    this.ctx = ctx;
    this.depth = depth;
    this.messageName = messageName;
  }

  current(): EditableMessage {
    const walk = this.ctx.walk!;
    const serial = walk.serials[this.depth]!;
    if (this.serial !== serial) {
      this.serial = serial;
      const { start, end } = walk.frames[this.depth]!;
      this.locate(walk.bytes, start, end);
    }
    return this.message;
  }

  protected get message(): EditableMessage {
    this.located ??= new EditableMessage(MESSAGES[this.messageName]!, () => this.ctx.walk!.editFrame(this.depth, this));
    return this.located;
  }

  apply(out: WireWriter, start: number): void {
    const scratch = new WireWriter(out.length - start + 256);
    this.message.encodeInto(scratch, out.bytes, start, out.length);
    out.length = start;
    out.copy(scratch.bytes, 0, scratch.length);
  }

  protected locate(bytes: Uint8Array, start: number, end: number): void {
    this.message.moveTo(bytes, start, end);
  }
}

const OWNER_FIELD = OWNER_TAG >>> 3;

/** A resource or scope: field 1 of the frame around its records. */
class OwnerLocator extends FrameLocator {
  override apply(out: WireWriter, start: number): void {
    const scratch = new WireWriter(this.message.end - this.message.start + 256);
    scratch.byte(OWNER_TAG);
    scratch.begin(this.message.end - this.message.start);
    this.message.encodeInto(scratch);
    scratch.end();
    const [from, to] = fieldRange(out.bytes, start, out.length, OWNER_FIELD);
    out.replace(from, to, scratch.written());
  }

  protected override locate(bytes: Uint8Array, start: number, end: number): void {
    const [from, to] = fieldRange(bytes, start, end, OWNER_FIELD);
    if (from === to) return this.message.moveTo(bytes, start, start);
    varint(bytes, from);
    varint(bytes, after);
    this.message.moveTo(bytes, after, to);
  }
}

/** A message in the record. `applyEdits` makes its changes part of the record. */
class NestedLocator implements MessageLocator {
  protected readonly ctx: RecordContext;
  protected readonly message: EditableMessage;
  protected number = OWNER_FIELD;
  private recordSerial = -1;

  constructor(ctx: RecordContext, message: string) {
    this.ctx = ctx;
    this.message = new EditableMessage(MESSAGES[message]!);
  }

  current(): EditableMessage {
    if (this.recordSerial !== this.ctx.recordSerial) {
      this.recordSerial = this.ctx.recordSerial;
      this.locate(this.ctx.record);
    }
    return this.message;
  }

  applyEdits(): void {
    const { message } = this;
    if (this.recordSerial !== this.ctx.recordSerial || message.edits === undefined) return;
    const writer = new WireWriter(message.end - message.start + 256);
    writer.varint((this.number << 3) | LENGTH_DELIMITED);
    writer.begin(message.end - message.start);
    message.encodeInto(writer);
    writer.end();
    this.ctx.record.edit().fields.set(this.number, writer.written());
  }

  protected locate(record: EditableMessage): void {
    const at = record.find((this.number << 3) | LENGTH_DELIMITED);
    if (at < 0) return this.message.moveTo(record.bytes, record.start, record.start);
    const size = varint(record.bytes, at);
    this.message.moveTo(record.bytes, after, after + size);
  }
}

/** A metric's data, which contains its points. */
interface MetricDataLocator extends MessageLocator {
  /** Its tag in the metric; 0 if the metric has none. */
  tag(): number;
}

class FrameDataLocator extends FrameLocator implements MetricDataLocator {
  constructor(ctx: RecordContext) {
    super(ctx, 3, "Gauge");
  }

  tag(): number {
    return this.ctx.walk!.frames[3]!.tag;
  }

  protected override locate(bytes: Uint8Array, start: number, end: number): void {
    this.message.setType(metricDataMessage(this.tag()));
    super.locate(bytes, start, end);
  }
}

/** The data point that a walk over exemplars is in. */
class FramePointLocator extends FrameLocator {
  constructor(ctx: RecordContext) {
    super(ctx, 4, "NumberDataPoint");
  }

  protected override locate(bytes: Uint8Array, start: number, end: number): void {
    this.message.setType(dataPointMessage(this.ctx.walk!.frames[3]!.tag));
    super.locate(bytes, start, end);
  }
}

class NestedDataLocator extends NestedLocator implements MetricDataLocator {
  private dataTag = 0;

  constructor(ctx: RecordContext) {
    super(ctx, "Gauge");
  }

  tag(): number {
    this.current();
    return this.dataTag;
  }

  protected override locate(record: EditableMessage): void {
    this.dataTag = METRIC_DATA_TAGS.find((tag) => record.find(tag) >= 0) ?? 0;
    if (this.dataTag === 0) return this.message.moveTo(record.bytes, record.start, record.start);
    this.number = this.dataTag >>> 3;
    this.message.setType(metricDataMessage(this.dataTag));
    super.locate(record);
  }
}

export class AppendToFrame implements FrameEdit {
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  apply(out: WireWriter): void {
    out.copy(this.bytes, 0, this.bytes.length);
  }
}

/** All messages that paths lead into, except for the context's own. */
export class MessagesAround {
  readonly resource: MessageLocator;
  readonly scope: MessageLocator;
  readonly resourceContainer: MessageLocator;
  readonly scopeContainer: MessageLocator;
  readonly metric: MessageLocator;
  readonly metricData: MetricDataLocator;
  /** The data point around an exemplar. */
  readonly point: MessageLocator;
  readonly span: MessageLocator;
  private readonly nested: NestedLocator[] = [];

  constructor(ctx: RecordContext) {
    const { context } = ctx;
    const own = new RecordLocator(ctx.record);
    const isResource = context === "resource";
    const isScope = context === "scope";
    this.resourceContainer = isResource ? own : new FrameLocator(ctx, 0, "ResourceLogs");
    this.scopeContainer = isScope ? own : new FrameLocator(ctx, 1, "ScopeLogs");
    this.resource = isResource
      ? this.addNested(new NestedLocator(ctx, "Resource"))
      : new OwnerLocator(ctx, 0, "Resource");
    this.scope = isScope ? this.addNested(new NestedLocator(ctx, "Scope")) : new OwnerLocator(ctx, 1, "Scope");
    this.metric = context === "metric" ? own : new FrameLocator(ctx, 2, "Metric");
    this.span = context === "span" ? own : new FrameLocator(ctx, 2, "Span");
    this.metricData = context === "metric" ? this.addNested(new NestedDataLocator(ctx)) : new FrameDataLocator(ctx);
    this.point = context === "datapoint" ? own : new FramePointLocator(ctx);
  }

  applyNestedEdits(): void {
    for (const place of this.nested) place.applyEdits();
  }

  private addNested<P extends NestedLocator>(place: P): P {
    this.nested.push(place);
    return place;
  }
}
