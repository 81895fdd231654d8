import { MESSAGES } from "../telemetry/messages.js";
import { METRIC_DATA_TAGS } from "../telemetry/signal.js";
import type { FrameEdit } from "../telemetry/walk.js";
import { after, BYTES, skip, varint } from "../telemetry/wire.js";
import { WireWriter } from "../telemetry/writer.js";
import { Level } from "./level.js";
import type { Scene } from "./scene.js";

/** Where the messages of a scene lie, and how changes to them reach the batch. */

/** Finds a message for the present record. */
export interface Place {
  here(): Level;
}

export class RecordPlace implements Place {
  private readonly level: Level;

  constructor(level: Level) {
    this.level = level;
  }

  here(): Level {
    return this.level;
  }
}

/** A message around the records itself. */
export class FramePlace implements Place, FrameEdit {
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
export class OwnerPlace extends FramePlace {
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
export class NestedPlace implements Place {
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

export class FrameData extends FramePlace implements DataPlace {
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

export class NestedData extends NestedPlace implements DataPlace {
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

export class Addition implements FrameEdit {
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  apply(out: WireWriter): void {
    out.copy(this.bytes, 0, this.bytes.length);
  }
}

/** The message of a metric's data by its tag in the metric. */
export function dataMessage(tag: number) {
  return MESSAGES["Metric"]!.byNumber[tag >>> 3]!.message!;
}
