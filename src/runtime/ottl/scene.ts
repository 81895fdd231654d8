import { decodeMessage } from "../telemetry/decode.js";
import { encodeMessage } from "../telemetry/encode.js";
import { MESSAGES } from "../telemetry/messages.js";
import { METRIC_DATA_TAGS } from "../telemetry/signal.js";
import type { Tree } from "../telemetry/tree.js";
import type { FrameEdit, RecordWalk } from "../telemetry/walk.js";
import { after, BYTES, skip, varint } from "../telemetry/wire.js";
import { WireWriter } from "../telemetry/writer.js";
import type { ContextName } from "./context.js";
import { Level } from "./level.js";
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

function dataMessage(tag: number) {
  return MESSAGES["Metric"]!.byNumber[tag >>> 3]!.message!;
}

/** Finds a message for the present record. */
export interface Place {
  here(): Level;
}

class RecordPlace implements Place {
  private readonly level: Level;

  constructor(level: Level) {
    this.level = level;
  }

  here(): Level {
    return this.level;
  }
}

/** A message around the records itself. */
class FramePlace implements Place, FrameEdit {
  protected readonly scene: Scene;
  protected readonly depth: number;
  protected readonly level: Level;
  private serial = -1;

  constructor(scene: Scene, depth: number, message: string) {
    this.scene = scene;
    this.depth = depth;
    this.level = new Level(MESSAGES[message]!, () => scene.walk!.editFrame(depth, this));
  }

  here(): Level {
    const walk = this.scene.walk!;
    const serial = walk.serials[this.depth]!;
    if (this.serial !== serial) {
      this.serial = serial;
      const { start, end } = walk.frames[this.depth]!;
      this.locate(walk.bytes, start, end);
    }
    return this.level;
  }

  apply(out: WireWriter, start: number): void {
    const scratch = new WireWriter(out.length - start + 256);
    this.level.encodeInto(scratch, out.bytes, start, out.length);
    out.length = start;
    out.copy(scratch.bytes, 0, scratch.length);
  }

  protected locate(bytes: Uint8Array, start: number, end: number): void {
    this.level.place(bytes, start, end);
  }
}

const OWNER = 1;
const OWNER_TAG = 10;

/** A resource or scope: field 1 of the frame around its records. */
class OwnerPlace extends FramePlace {
  override apply(out: WireWriter, start: number): void {
    const scratch = new WireWriter(this.level.end - this.level.start + 256);
    scratch.byte(OWNER_TAG);
    scratch.begin(this.level.end - this.level.start);
    this.level.encodeInto(scratch);
    scratch.end();
    const [from, to] = fieldRange(out.bytes, start, out.length, OWNER);
    out.replace(from, to, scratch.written());
  }

  protected override locate(bytes: Uint8Array, start: number, end: number): void {
    const [from, to] = fieldRange(bytes, start, end, OWNER);
    if (from === to) return this.level.place(bytes, start, start);
    varint(bytes, from);
    varint(bytes, after);
    this.level.place(bytes, after, to);
  }
}

/** Where the field lies, tag and all; empty at the beginning if it does not. */
function fieldRange(bytes: Uint8Array, start: number, end: number, number: number): [from: number, to: number] {
  for (let p = start; p < end; ) {
    const at = p;
    const tag = varint(bytes, p);
    p = skip(bytes, after, tag);
    if (tag >>> 3 === number) return [at, p];
  }
  return [start, start];
}

/** A message in the record. Its changes become the record's with `fold`. */
class NestedPlace implements Place {
  protected readonly scene: Scene;
  protected readonly level: Level;
  protected number = OWNER;
  private visit = -1;

  constructor(scene: Scene, message: string) {
    this.scene = scene;
    this.level = new Level(MESSAGES[message]!);
  }

  here(): Level {
    if (this.visit !== this.scene.visits) {
      this.visit = this.scene.visits;
      this.locate(this.scene.record);
    }
    return this.level;
  }

  fold(): void {
    const { level } = this;
    if (this.visit !== this.scene.visits || level.edits === undefined) return;
    const writer = new WireWriter(level.end - level.start + 256);
    writer.varint((this.number << 3) | BYTES);
    writer.begin(level.end - level.start);
    level.encodeInto(writer);
    writer.end();
    this.scene.record.edit().fields.set(this.number, writer.written());
  }

  protected locate(record: Level): void {
    const at = record.find((this.number << 3) | BYTES);
    if (at < 0) return this.level.place(record.bytes, record.start, record.start);
    const size = varint(record.bytes, at);
    this.level.place(record.bytes, after, after + size);
  }
}

/** A metric's data: what its points lie in. */
export interface DataPlace extends Place {
  /** Its tag in the metric; 0 when the metric has none. */
  tag(): number;
}

class FrameData extends FramePlace implements DataPlace {
  constructor(scene: Scene) {
    super(scene, 3, "Gauge");
  }

  tag(): number {
    return this.scene.walk!.frames[3]!.tag;
  }

  protected override locate(bytes: Uint8Array, start: number, end: number): void {
    this.level.is(dataMessage(this.tag()));
    super.locate(bytes, start, end);
  }
}

class NestedData extends NestedPlace implements DataPlace {
  private found = 0;

  constructor(scene: Scene) {
    super(scene, "Gauge");
  }

  tag(): number {
    this.here();
    return this.found;
  }

  protected override locate(record: Level): void {
    this.found = METRIC_DATA_TAGS.find((tag) => record.find(tag) >= 0) ?? 0;
    if (this.found === 0) return this.level.place(record.bytes, record.start, record.start);
    this.number = this.found >>> 3;
    this.level.is(dataMessage(this.found));
    super.locate(record);
  }
}

class Addition implements FrameEdit {
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  apply(out: WireWriter): void {
    out.copy(this.bytes, 0, this.bytes.length);
  }
}
