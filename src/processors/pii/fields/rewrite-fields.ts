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

/** How the fields of a batch are gone over. */
export interface WalkSettings {
  /** What it may cost; without it, anything. */
  readonly unitsPerByte?: number;
  readonly extraPlaces?: readonly ExtraPlace[];
  /** What the visitor has seen to be clean before, and need not see again. */
  readonly unseen?: UnseenFields | undefined;
}

/**
 * Sees every field of a batch that holds users' data, in the order of the bytes, and changes it through the rewriter.
 * Positions are those of `rewriter.bytes`. `at` is a field's tag, `lengthAt` the length behind it, [start, end) the body.
 *
 * What is given back says that the field is clean: nothing was done, nothing was counted, and nothing would be for the same field
 * anywhere, or for any other number under the key of an attribute. With `unseen` fields it is not shown again.
 */
export interface FieldVisitor {
  open(owner: AttributeOwner): void;
  /** A KeyValue. Changes close the message [start, end) themselves. */
  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): boolean;
  /** The AnyValue that is a log record's body. Changes close it themselves. */
  body(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): boolean;
  text(rewriter: Rewriter, field: TextField, lengthAt: number, start: number, end: number): boolean;
  /** The owner's message ends at `end`: more attributes can be put there, each with this tag. */
  close(rewriter: Rewriter, owner: AttributeOwner, end: number, attributesTag: number): void;
}

/** Shows every field to the visitor; gives back the batch with its changes, the very same batch if there were none. */
export function rewriteFields(batch: Batch, visitor: FieldVisitor, settings?: WalkSettings): Batch {
  const walk = new FieldWalk(batch, visitor, settings);
  walk.run(Number.POSITIVE_INFINITY);
  return walk.finish();
}

/**
 * The same for a batch that may be large: when it takes long, others get their turn in between, and the batch comes later.
 * Until then the visitor sees no other batch.
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

/** Some milliseconds. */
const UNITS_PER_TURN = 2_000_000;

/** A message on the way to the present field. */
interface FieldFrame {
  plan: RewritePlan;
  start: number;
  end: number;
  /** Where its body began in the output, and the bytes that its length has. */
  outStart: number;
  lengthRoom: number;
}

/**
 * One pass over the fields of a batch that can stop between two of them and go on later. It counts what it and the visitor
 * do as `work`: a batch that takes more than its size explains was made to, and is given up.
 */
class FieldWalk {
  private readonly batch: Batch;
  private readonly visitor: FieldVisitor;
  private readonly rewriter: Rewriter;
  private readonly frames: FieldFrame[] = [];
  private readonly maxWork: number;
  private readonly unseen: UnseenFields | undefined;
  private wasClean = false;
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

  /** Goes on until so much work is done; true at the end of the batch. */
  run(units: number): boolean {
    work.spent = this.spent;
    const pauseAt = Math.min(work.spent + units, this.maxWork);
    const isDone = this.unseen === undefined ? this.runAll(pauseAt) : this.runUnseen(this.unseen, pauseAt);
    if (!isDone && work.spent > this.maxWork) throw new TooCostlyError();
    this.spent = work.spent;
    return isDone;
  }

  /** Shows the visitor what it has not seen; messages without any of that are not gone into. */
  private runUnseen(unseen: UnseenFields, pauseAt: number): boolean {
    do {
      const at = unseen.next(this.wasClean);
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

  /** Shows the visitor the field at `at` of a message; gives the position behind it. */
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
    if (action === ATTRIBUTE) this.wasClean = visitor.attribute(rewriter, at, lengthAt, start, end);
    else if (action === BODY) this.wasClean = visitor.body(rewriter, at, lengthAt, start, end);
    else this.wasClean = visitor.text(rewriter, plan.texts[tag]!, lengthAt, start, end);
    work.spent += UNITS_PER_FIELD + size;
    return end;
  }

  /** The batch with the visitor's changes, or the very same one. */
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

  /** Closes the present message; gives the one around it. */
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

/** What a small batch may cost. */
const UNITS_PER_BATCH = 4_000_000;
const UNITS_PER_FIELD = 10;
