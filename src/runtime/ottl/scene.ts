import { decodeMessage } from "../telemetry/decode.js";
import { encodeMessage } from "../telemetry/encode.js";
import { MESSAGES } from "../telemetry/messages.js";
import type { Tree } from "../telemetry/tree.js";
import type { RecordWalk } from "../telemetry/walk.js";
import { WireWriter } from "../telemetry/writer.js";
import type { ContextName } from "./context.js";
import { Level } from "./level.js";
import {
  Addition,
  type DataPlace,
  dataMessage,
  FrameData,
  FramePlace,
  NestedData,
  NestedPlace,
  OwnerPlace,
  type Place,
  RecordPlace,
} from "./places.js";
import type { OttlMap } from "./value.js";

/**
 * What a condition or statement looks at: the present record of a walk and the messages around it. One scene serves a
 * whole walk; `begin` moves it to the next record, `finish` hands the changes to the walk. The messages around are
 * looked up only when a path leads into them, and stay found as long as their frame does.
 */
export class Scene {
  readonly context: ContextName;
  /** The context's own message; of a resource or scope context the container of it. */
  readonly record: Level;
  readonly resource: Place;
  readonly scope: Place;
  readonly resourceContainer: Place;
  readonly scopeContainer: Place;
  readonly metric: Place;
  readonly metricData: DataPlace;
  readonly span: Place;
  walk: RecordWalk | undefined;
  /** Counts the records: tells whether something was found for the present one. */
  visits = 0;
  /** Index of the record among its siblings. */
  index = 0n;
  /** Bodies of metrics that statements have added and that are still to be visited. */
  readonly added: Uint8Array[] = [];
  private stored: OttlMap | undefined;
  private rewritten = false;
  private readonly nested: NestedPlace[] = [];
  private readonly pointFrame: { serial: number };
  private indexSerial = -1;

  constructor(context: ContextName) {
    this.context = context;
    this.record = new Level(MESSAGES[RECORD_MESSAGE[context]]!);
    const own = new RecordPlace(this.record);
    const isResource = context === "resource";
    const isScope = context === "scope";
    this.resourceContainer = isResource ? own : new FramePlace(this, 0, "ResourceLogs");
    this.scopeContainer = isScope ? own : new FramePlace(this, 1, "ScopeLogs");
    this.resource = isResource ? this.nest(new NestedPlace(this, "Resource")) : new OwnerPlace(this, 0, "Resource");
    this.scope = isScope ? this.nest(new NestedPlace(this, "Scope")) : new OwnerPlace(this, 1, "Scope");
    this.metric = context === "metric" ? own : new FramePlace(this, 2, "Metric");
    this.span = context === "span" ? own : new FramePlace(this, 2, "Span");
    this.metricData = context === "metric" ? this.nest(new NestedData(this)) : new FrameData(this);
    this.pointFrame = { serial: -1 };
  }

  begin(walk: RecordWalk, start: number, end: number): void {
    this.walk = walk;
    this.visits++;
    this.stored = undefined;
    this.rewritten = false;
    if (this.context === "datapoint") this.meetPoint(walk);
    else if (this.context === "spanevent") this.countEvent(walk);
    const { record } = this;
    record.bytes = walk.bytes;
    record.start = start;
    record.end = end;
    record.edits = undefined;
  }

  /** Hands the changes of the record to the walk; those around it have gone there already. */
  finish(): void {
    this.foldNested();
    if (this.record.edits === undefined && !this.rewritten) return;
    this.record.encodeInto(this.walk!.beginRecord());
    this.walk!.endRecord();
  }

  /** Values that statements leave for later statements on the same record. */
  get cache(): OttlMap {
    this.stored ??= new Map();
    return this.stored;
  }

  set cache(map: OttlMap) {
    this.stored = map;
  }

  /** The record with all changes as a tree. */
  recordTree(): Tree {
    const writer = new WireWriter(this.record.end - this.record.start + 64);
    this.foldNested();
    this.record.encodeInto(writer);
    return decodeMessage(this.record.message, writer.written());
  }

  /** Puts another message in the place of the record. */
  replaceRecord(tree: Tree): void {
    const writer = new WireWriter(1024);
    encodeMessage(this.record.message, tree, writer);
    this.record.place(writer.written(), 0, writer.length);
    this.rewritten = true;
    this.visits++;
  }

  /** Adds a metric to the scope of the present one; whoever executes the statements visits it next. */
  addMetric(tree: Tree): void {
    const writer = new WireWriter(1024);
    encodeMessage(MESSAGES["Metric"]!, tree, writer);
    this.added.push(writer.written());
  }

  /** Moves on to an added metric. What `finishAdded` finds of it goes to the end of the scope. */
  beginAdded(body: Uint8Array): void {
    this.begin(this.walk!, 0, 0);
    this.record.place(body, 0, body.length);
  }

  finishAdded(): void {
    this.foldNested();
    const writer = new WireWriter(this.record.end - this.record.start + 256);
    writer.byte(METRIC_TAG);
    writer.begin(this.record.end - this.record.start);
    this.record.encodeInto(writer);
    writer.end();
    this.walk!.editFrame(1, new Addition(writer.written()));
  }

  private foldNested(): void {
    for (const place of this.nested) place.fold();
  }

  private nest<P extends NestedPlace>(place: P): P {
    this.nested.push(place);
    return place;
  }

  private meetPoint(walk: RecordWalk): void {
    const serial = walk.serials[3]!;
    if (this.pointFrame.serial === serial) return;
    this.pointFrame.serial = serial;
    this.record.is(dataMessage(walk.frames[3]!.tag).byNumber[1]!.message!);
  }

  private countEvent(walk: RecordWalk): void {
    const serial = walk.serials[2]!;
    this.index = serial === this.indexSerial ? this.index + 1n : 0n;
    this.indexSerial = serial;
  }
}

const RECORD_MESSAGE: Readonly<Record<ContextName, string>> = {
  resource: "ResourceLogs", // the containers of all signals have the same fields, but for their records
  scope: "ScopeLogs",
  log: "LogRecord",
  span: "Span",
  spanevent: "Event",
  metric: "Metric",
  datapoint: "NumberDataPoint",
};
const METRIC_TAG = 18;
