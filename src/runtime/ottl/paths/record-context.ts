import type { Origin } from "#contract";
import { dataPointMessage, decodeMessage, encodeMessage, MESSAGES, type Tree, WireWriter } from "#otlp/bytes";
import { SCOPE_ITEM_TAG } from "#otlp/tags";
import type { RecordWalk } from "#otlp/views";
import {
  batchTooLarge,
  DEFAULT_MAX_RECORD_SIZE,
  MAX_GROWN_RECORDS,
  recordTooLarge,
  recordWork,
} from "../values/limits.js";
import type { OttlMap } from "../values/value.js";
import type { ContextName } from "./context.js";
import { EditableMessage } from "./editable-message.js";
import { AppendToFrame, MessagesAround } from "./message-locators.js";

/**
 * The data that a condition or statement reads and edits: the current record of a walk and the messages around it. One
 * object serves a walk; `begin` moves it to the next record, `finish` passes the changes to the walk. The messages
 * around are looked up only when a path leads into them, and stay cached as long as their frame is current.
 */
export class RecordContext {
  readonly context: ContextName;
  /** The context's own message; for a resource or scope context, its container. */
  readonly record: EditableMessage;
  walk: RecordWalk | undefined;
  /** Where the batch came from, if known. */
  origin: Origin | undefined;
  /** Counts the records: tells whether a cached lookup belongs to the current one. */
  recordSerial = 0;
  /** Index of the record among its siblings. */
  eventIndex = 0n;
  /** Bodies of metrics that statements have added and that still have to be visited. */
  readonly addedMetrics: Uint8Array[] = [];
  /** Whether metrics were added while data points were visited: then there are more points than were counted. */
  addedPoints = false;
  private cacheMap: OttlMap | undefined;
  private isReplaced = false;
  private messagesAround: MessagesAround | undefined;
  private readonly pointFrame: { serial: number };
  private spanSerial = -1;

  private readonly maxRecordSize: number;

  constructor(context: ContextName, maxRecordSize = DEFAULT_MAX_RECORD_SIZE) {
    this.context = context;
    this.maxRecordSize = maxRecordSize;
    this.record = new EditableMessage(MESSAGES[RECORD_MESSAGE[context]]!, undefined, maxRecordSize);
    this.pointFrame = { serial: -1 };
  }

  /** The messages around the record, and in it. Most walks need none of them. */
  get around(): MessagesAround {
    this.messagesAround ??= new MessagesAround(this);
    return this.messagesAround;
  }

  begin(walk: RecordWalk, start: number, end: number): void {
    this.walk = walk;
    this.recordSerial++;
    recordWork.spent = 0;
    this.cacheMap = undefined;
    this.isReplaced = false;
    if (this.context === "datapoint") this.setPointType(walk);
    else if (this.context === "spanevent") this.updateEventIndex(walk);
    const { record } = this;
    record.bytes = walk.bytes;
    record.start = start;
    record.end = end;
    record.edits = undefined;
  }

  /**
   * Passes the changes of the record to the walk; those of the messages around it are already there. Throws an
   * `OttlError` if they make the record too large, which then stays as it came, and a `Refusal` if the changes of all
   * records make the batch too large.
   */
  finish(): void {
    this.applyNestedEdits();
    if (this.record.edits === undefined && !this.isReplaced) return;
    if (this.isTooLarge()) throw recordTooLarge(this.maxRecordSize);
    const { edits } = this.record;
    if (edits !== undefined && this.walk!.grownBy + edits.size > this.maxRecordSize * MAX_GROWN_RECORDS)
      throw batchTooLarge(this.maxRecordSize);
    this.record.encodeInto(this.walk!.beginRecord());
    this.walk!.endRecord();
  }

  private isTooLarge(): boolean {
    const { record, maxRecordSize } = this;
    const size = record.end - record.start;
    if (size + (record.edits?.size ?? 0) <= maxRecordSize) return false;
    const writer = new WireWriter(size + maxRecordSize);
    record.encodeInto(writer);
    return writer.length > maxRecordSize && writer.length > size;
  }

  /** Values that statements leave for later statements on the same record. */
  get cache(): OttlMap {
    this.cacheMap ??= new Map();
    return this.cacheMap;
  }

  set cache(map: OttlMap) {
    this.cacheMap = map;
  }

  /** The record with all changes as a tree. */
  recordTree(): Tree {
    const writer = new WireWriter(this.record.end - this.record.start + 64);
    this.applyNestedEdits();
    this.record.encodeInto(writer);
    return decodeMessage(this.record.type, writer.written());
  }

  /** Replaces the record by another message. */
  replaceRecord(tree: Tree): void {
    const writer = new WireWriter(1024);
    encodeMessage(this.record.type, tree, writer);
    this.record.moveTo(writer.written(), 0, writer.length);
    this.isReplaced = true;
    this.recordSerial++;
  }

  /** The metric of the current record: the record itself, or the metric of the point. */
  metricTree(): Tree {
    if (this.context === "metric") return this.recordTree();
    const message = this.around.metric.current();
    const writer = new WireWriter(message.end - message.start + 64);
    message.encodeInto(writer);
    return decodeMessage(message.type, writer.written());
  }

  /**
   * Adds a metric to the scope of the current one. A walk over metrics visits it next; a walk over data points only
   * sees the points that were there before.
   */
  addMetric(tree: Tree): void {
    const writer = new WireWriter(1024);
    encodeMessage(MESSAGES["Metric"]!, tree, writer);
    if (this.context === "metric") this.addedMetrics.push(writer.written());
    else {
      this.addedPoints = true;
      this.appendToScope(writer.written());
    }
  }

  /** Moves on to an added metric. `finishAdded` appends the result to the scope. */
  beginAdded(body: Uint8Array): void {
    this.begin(this.walk!, 0, 0);
    this.record.moveTo(body, 0, body.length);
  }

  finishAdded(): void {
    this.applyNestedEdits();
    const writer = new WireWriter(this.record.end - this.record.start + 256);
    this.record.encodeInto(writer);
    this.appendToScope(writer.written());
  }

  private appendToScope(metric: Uint8Array): void {
    const writer = new WireWriter(metric.length + 16);
    writer.byte(SCOPE_ITEM_TAG);
    writer.lengthDelimited(metric);
    this.walk!.editFrame(1, new AppendToFrame(writer.written()));
  }

  private applyNestedEdits(): void {
    this.messagesAround?.applyNestedEdits();
  }

  private setPointType(walk: RecordWalk): void {
    const serial = walk.serials[3]!;
    if (this.pointFrame.serial === serial) return;
    this.pointFrame.serial = serial;
    this.record.setType(dataPointMessage(walk.frames[3]!.tag));
  }

  private updateEventIndex(walk: RecordWalk): void {
    const serial = walk.serials[2]!;
    this.eventIndex = serial === this.spanSerial ? this.eventIndex + 1n : 0n;
    this.spanSerial = serial;
  }
}

const RECORD_MESSAGE: Readonly<Record<ContextName, string>> = {
  resource: "ResourceLogs", // the containers of all signals have the same fields, except for their records
  scope: "ScopeLogs",
  log: "LogRecord",
  span: "Span",
  spanevent: "Event",
  metric: "Metric",
  datapoint: "NumberDataPoint",
  exemplar: "Exemplar",
};
