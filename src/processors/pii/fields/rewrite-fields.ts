import { setImmediate } from "node:timers/promises";
import { after, REQUEST, Rewriter, skip, varint } from "#otlp/bytes";
import { TAG_LIMIT } from "#otlp/tags";
import { Batch } from "../../../plugin.js";
import { TooCostlyError, work } from "../detect/text/work.js";
import {
  ATTRIBUTE,
  type AttributeOwner,
  BODY,
  DESCEND,
  type ExtraPlace,
  plansFor,
  REMOVE,
  type RewritePlan,
  SKIP,
  type TextField,
} from "./rewrite-plans.js";
import type { UnseenFields } from "./unseen-fields.js";
import { type Cleanness, NOT_CLEAN } from "./unseen-walk.js";

export interface WalkSettings {
  /** Work units allowed for each byte of the batch; no limit if missing. */
  readonly unitsPerByte?: number;
  readonly extraPlaces?: readonly ExtraPlace[];
  /** Fields that the visitor has found clean before are skipped. */
  readonly unseen?: UnseenFields | undefined;
}

/**
 * Visits every field of a batch that holds users' data, in the order of the bytes, and changes it through the rewriter.
 * Positions refer to `rewriter.bytes`. `at` is the position of a field's tag, `lengthAt` the position of its length,
 * and [start, end) its body.
 *
 * A visitor method returns whether the field is clean (see `Cleanness`). With `unseen`, a clean field is not visited
 * again.
 */
export interface FieldVisitor {
  open(owner: AttributeOwner): void;
  /** Visits a KeyValue. If the visitor changes it, the visitor also closes the message [start, end). */
  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): Cleanness;
  /** Visits the AnyValue that is a log record's body. If the visitor changes it, the visitor also closes it. */
  body(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): Cleanness;
  text(rewriter: Rewriter, field: TextField, lengthAt: number, start: number, end: number): Cleanness;
  /** The owner's message ends at `end`. The visitor may add more attributes there, each with this tag. */
  close(rewriter: Rewriter, owner: AttributeOwner, end: number, attributesTag: number): void;
}

/** Visits every field, and returns the changed batch, or the same batch if there were no changes. */
export function rewriteFields(batch: Batch, visitor: FieldVisitor, settings?: WalkSettings): Batch {
  const walk = new FieldWalk(batch, visitor, settings);
  walk.run(Number.POSITIVE_INFINITY);
  return walk.finish();
}

/**
 * Does the same for a batch that may be large: if it takes long, other work gets its turn in between, and the batch
 * comes later. Until then the visitor sees no other batch.
 */
export function rewriteFieldsInTurns(
  batch: Batch,
  visitor: FieldVisitor,
  settings?: WalkSettings,
): Batch | Promise<Batch> {
  const walk = new FieldWalk(batch, visitor, settings);
  return walk.run(UNITS_PER_TURN) ? walk.finish() : finishInTurns(walk);
}

async function finishInTurns(walk: FieldWalk): Promise<Batch> {
  do await setImmediate();
  while (!walk.run(UNITS_PER_TURN));
  return walk.finish();
}

/** Takes some milliseconds. */
const UNITS_PER_TURN = 2_000_000;

/** A message around the present field. */
interface FieldFrame {
  plan: RewritePlan;
  start: number;
  end: number;
  /** Start of its body in the output, and the number of bytes of its length. */
  outStart: number;
  lengthRoom: number;
}

/**
 * One pass over the fields of a batch that can pause between two fields. The walk counts its own work and the visitor's
 * as `work`. A batch that takes more than its size explains was built to be expensive, so the walk gives it up.
 */
class FieldWalk {
  private readonly batch: Batch;
  private readonly visitor: FieldVisitor;
  private readonly rewriter: Rewriter;
  private readonly frames: FieldFrame[] = [];
  private readonly maxWork: number;
  private readonly unseen: UnseenFields | undefined;
  private cleanness: Cleanness = NOT_CLEAN;
  private depth = 0;
  private at = 0;
  private spent = 0;

  constructor(
    batch: Batch,
    visitor: FieldVisitor,
    { unitsPerByte = Number.POSITIVE_INFINITY, extraPlaces = [], unseen }: WalkSettings = {},
  ) {
    this.batch = batch;
    this.visitor = visitor;
    const plan = plansFor(extraPlaces).get(REQUEST[batch.signal])!;
    const bytes = unseen?.start(batch, plan);
    if (bytes !== undefined) this.unseen = unseen;
    this.rewriter = new Rewriter(bytes ?? batch.bytes, (batch.byteLength >> 5) + 512); // most treatments make values shorter
    this.maxWork = UNITS_PER_BATCH + unitsPerByte * batch.byteLength;
    this.frames[0] = { plan, start: 0, end: batch.byteLength, outStart: 0, lengthRoom: 0 };
  }

  /** Continues until this much work is done. Returns true at the end of the batch. */
  run(units: number): boolean {
    work.spent = this.spent;
    const pauseAt = Math.min(work.spent + units, this.maxWork);
    const isDone = this.unseen === undefined ? this.runAll(pauseAt) : this.runUnseen(this.unseen, pauseAt);
    if (!isDone && work.spent > this.maxWork) throw new TooCostlyError();
    this.spent = work.spent;
    return isDone;
  }

  /** Visits fields that were not seen before, and skips messages without any. */
  private runUnseen(unseen: UnseenFields, pauseAt: number): boolean {
    do {
      const at = unseen.next(this.cleanness);
      if (at < 0) {
        while (this.depth > 0) this.leave();
        this.closeOwner(this.frames[0]!);
        return true;
      }
      while (at >= this.frames[this.depth]!.end) this.leave();
      while (this.depth < unseen.depth) {
        const depth = this.depth + 1;
        this.enter(unseen.planAt(depth), unseen.startAt(depth), unseen.endAt(depth), unseen.lengthRoomAt(depth));
      }
      work.spent += (at - this.at) >> 3;
      this.at = this.visit(this.frames[this.depth]!.plan, at);
    } while (work.spent <= pauseAt);
    return false;
  }

  private runAll(pauseAt: number): boolean {
    const b = this.rewriter.bytes;
    let frame = this.frames[this.depth]!;
    let p = this.at;
    do {
      if (p >= frame.end) {
        p = frame.end;
        if (this.depth === 0) {
          this.closeOwner(frame);
          return true;
        }
        frame = this.leave();
        continue;
      }
      const at = p;
      let tag = b[p++]!;
      if (tag > 127) {
        tag = varint(b, at);
        p = after;
      }
      const { plan } = frame;
      const action = tag < TAG_LIMIT ? plan.actions[tag]! : plan.unknownAction;
      if (action === SKIP || action === REMOVE) {
        p = skip(b, p, tag);
        if (action === REMOVE) this.rewriter.remove(at, p);
      } else if (action === DESCEND) {
        const lengthAt = p;
        const size = varint(b, p);
        p = after;
        frame = this.enter(plan.children[tag]!, p, p + size, p - lengthAt);
      } else p = this.visit(plan, at);
    } while (work.spent <= pauseAt);
    this.at = p;
    return false;
  }

  /** Visits the field at `at` of a message, and returns the position after it. */
  private visit(plan: RewritePlan, at: number): number {
    const { rewriter, visitor } = this;
    const b = rewriter.bytes;
    let lengthAt = at + 1;
    let tag = b[at]!;
    if (tag > 127) {
      tag = varint(b, at);
      lengthAt = after;
    }
    let size = b[lengthAt]!;
    let start = lengthAt + 1;
    if (size > 127) {
      size = varint(b, lengthAt);
      start = after;
    }
    const end = start + size;
    const action = plan.actions[tag]!;
    if (action === ATTRIBUTE) this.cleanness = visitor.attribute(rewriter, at, lengthAt, start, end);
    else if (action === BODY) this.cleanness = visitor.body(rewriter, at, lengthAt, start, end);
    else this.cleanness = visitor.text(rewriter, plan.texts[tag]!, lengthAt, start, end);
    work.spent += UNITS_PER_FIELD + size;
    return end;
  }

  /** Returns the batch with the visitor's changes, or the same batch if there were none. */
  finish(): Batch {
    const { batch, rewriter } = this;
    return rewriter.changed ? Batch.trusted(batch.signal, rewriter.finish(), batch.count) : batch;
  }

  private enter(plan: RewritePlan, start: number, end: number, lengthRoom: number): FieldFrame {
    const { rewriter } = this;
    const depth = ++this.depth;
    if (depth === this.frames.length) this.frames.push({ plan, start, end, outStart: 0, lengthRoom });
    const frame = this.frames[depth]!;
    frame.plan = plan;
    frame.start = start;
    frame.end = end;
    frame.outStart = rewriter.outputPosition(start);
    frame.lengthRoom = lengthRoom;
    if (plan.owner !== undefined) this.visitor.open(plan.owner);
    return frame;
  }

  /** Closes the present message, and returns the one around it. */
  private leave(): FieldFrame {
    const frame = this.frames[this.depth]!;
    this.closeOwner(frame);
    this.rewriter.closeMessage(frame.start, frame.end, frame.outStart, frame.lengthRoom);
    return this.frames[--this.depth]!;
  }

  private closeOwner({ plan, end }: FieldFrame): void {
    if (plan.owner !== undefined) this.visitor.close(this.rewriter, plan.owner, end, plan.attributesTag);
  }
}

/** Work units that even a small batch may use. */
const UNITS_PER_BATCH = 4_000_000;
const UNITS_PER_FIELD = 10;
